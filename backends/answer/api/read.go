package api

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/accounts"
)

// A key may read the quota at most readLimit times in readWindow. The same limit applies separately to the companies.
const (
	readLimit  = 60
	readWindow = time.Minute
)

// quota serves GET /v1/quota: the state of the quota of the caller's account.
func (a *API) quota(w http.ResponseWriter, r *http.Request, caller *accounts.Caller, _ string) {
	if !a.withinLimit(w, r, caller, "quota") {
		return
	}
	q, err := a.options.Accounts.Quota(r.Context(), caller)
	if a.failed(w, err) {
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

// withinLimit counts a request against the limit that a key has for a group of routes, "quota" or "companies". If it
// returns false, it has answered that the limit is reached or that the counters cannot be used.
func (a *API) withinLimit(w http.ResponseWriter, r *http.Request, caller *accounts.Caller, group string) bool {
	counter := "answer/" + group + "/" + strconv.FormatInt(caller.Key, 10)
	decision, err := a.options.Counters.Take(r.Context(), counter, 1, readLimit, readWindow)
	if err != nil {
		a.unavailable(w, err)
		return false
	}
	if !decision.Allowed {
		w.Header().Set("Retry-After", strconv.FormatInt(int64(decision.RetryAfter/time.Second)+1, 10))
		a.refuse(w, http.StatusTooManyRequests, accounts.RateLimited)
	}
	return decision.Allowed
}

// answer serves GET /v1/answers/{id}. If no body is stored, because the answer is pending or a fault has ended it,
// the result has only the id and the status.
func (a *API) answer(w http.ResponseWriter, r *http.Request, caller *accounts.Caller, id string) {
	ans, err := a.stored(r.Context(), caller.Account, id)
	if a.failed(w, err) {
		return
	}
	if ans.Status == accounts.Pending || ans.Body == "" { // the reason of a pending answer is empty
		a.write(w, http.StatusOK, ans.Reason, map[string]string{"id": id, "status": ans.Status})
		return
	}
	var res result
	if a.failed(w, json.Unmarshal([]byte(ans.Body), &res)) {
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
