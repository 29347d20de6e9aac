package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/accounts"
)

const (
	quotaLimit  = 60
	quotaWindow = time.Minute
)

// quota serves GET /v1/quota, at most 60 times per minute and key.
func (a *API) quota(w http.ResponseWriter, r *http.Request, caller *accounts.Caller, _ string) {
	if !a.withinPace(w, r, caller, "quota") {
		return
	}
	q, err := a.options.Accounts.Quota(r.Context(), caller)
	if err != nil {
		a.unavailable(w, err)
		return
	}
	a.write(w, http.StatusOK, "", struct {
		Used       int64     `json:"used"`
		Pending    int64     `json:"pending"`
		TotalLimit int64     `json:"totalLimit"`
		IsExceeded bool      `json:"isExceeded"`
		Start      time.Time `json:"start"`
		End        time.Time `json:"end"`
	}{q.Used, q.Pending, q.Limit, q.Exceeded(), q.Start.UTC(), q.End.UTC()})
}

// withinPace counts a request against the limit of 60 per minute that a key has on a route. If it returns false,
// it has answered that the limit is reached or that the counters cannot be used.
func (a *API) withinPace(w http.ResponseWriter, r *http.Request, caller *accounts.Caller, route string) bool {
	counter := "answer/" + route + "/" + strconv.FormatInt(caller.Key, 10)
	taken, err := a.options.Counters.Take(r.Context(), counter, 1, quotaLimit, quotaWindow)
	if err != nil {
		a.unavailable(w, err)
		return false
	}
	if !taken.Allowed {
		w.Header().Set("Retry-After", strconv.FormatInt(int64(taken.RetryAfter/time.Second)+1, 10))
		a.refuse(w, http.StatusTooManyRequests, accounts.RateLimited)
	}
	return taken.Allowed
}

// answer serves GET /v1/answers/{id}. An answer whose body is not stored, a fault or a pending one, is sent
// with its id and status alone.
func (a *API) answer(w http.ResponseWriter, r *http.Request, caller *accounts.Caller, id string) {
	ans, err := a.stored(r.Context(), caller.Account, id)
	switch {
	case errors.Is(err, accounts.ErrNoAnswer):
		a.refuse(w, http.StatusNotFound, "NotFound")
		return
	case err != nil:
		a.unavailable(w, err)
		return
	case ans.Status == accounts.Pending:
		a.write(w, http.StatusOK, "", map[string]string{"id": id, "status": ans.Status})
		return
	case ans.Body == "":
		a.write(w, http.StatusOK, ans.Reason, map[string]string{"id": id, "status": ans.Status})
		return
	}
	var res result
	if err := json.Unmarshal([]byte(ans.Body), &res); err != nil {
		a.unavailable(w, err)
		return
	}
	res.Status = ans.Status
	a.write(w, http.StatusOK, ans.Reason, res)
}

// source serves GET /v1/sources/{id}, the text of a document without a public address, as Markdown.
func (a *API) source(w http.ResponseWriter, r *http.Request, _ *accounts.Caller, id string) {
	source, ok, err := a.options.Source(r.Context(), id)
	switch {
	case err != nil:
		a.unavailable(w, err)
	case !ok:
		a.refuse(w, http.StatusNotFound, "NotFound")
	default:
		text := "# " + strings.ReplaceAll(source.Title, "\n", " ") + "\n\n" + source.Text
		w.Header().Set("Content-Type", "text/markdown; charset=utf-8")
		w.Header().Set("Content-Length", strconv.Itoa(len(text)))
		_, _ = w.Write([]byte(text)) // an error means that the client has left
	}
}
