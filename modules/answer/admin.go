package answer

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/tollgate-gateway/tollgate/backends/answer"
	"github.com/tollgate-gateway/tollgate/backends/answer/accounts"
	"github.com/tollgate-gateway/tollgate/backends/answer/web"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

func init() {
	caddy.RegisterModule(Admin{})
}

// Admin adds routes to Caddy's admin endpoint, for operators of the server:
//
//   - GET /admin/answer/traces?before=&limit=: lists the newest answers, without their texts.
//   - GET /admin/answer/traces/{id}: returns the outcome of a question and how it was reached: the question, each
//     stage, the passages found, the computed values, and the results of the checks. A client that accepts
//     text/html gets a page with the texts of the passages.
//   - GET /admin/answer/keys: lists the keys.
//   - POST /admin/answer/keys: creates a key from {"label", "account", "limit", "expires_seconds", "services"}, of
//     which only label is required. No later response contains the key.
//   - POST /admin/answer/keys/{id}/revoke: revokes a key.
//   - GET /admin/answer/corpus: counts the documents, passages and facts of the corpus.
//   - GET /admin/answer/corpus/documents?kind=&after=&limit=: lists the documents. With ?url= it describes one
//     document: its pages, tables and facts. DELETE /admin/answer/corpus/documents?url= removes a document.
//   - POST /admin/answer/corpus/ingest: ingests the documents of an application/jsonl body, one per line, or
//     files of this machine: {"paths", "issuer", "workers"}. The response has lines with the progress, and a last
//     line with the result.
//
// If one process has several answer APIs on different databases, keys and corpus can only be managed with the
// command tollgate answer.
type Admin struct{}

// CaddyModule returns the Caddy module information.
func (Admin) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "admin.api.answer", New: func() caddy.Module { return new(Admin) }}
}

// Routes implements caddy.AdminRouter.
func (Admin) Routes() []caddy.AdminRoute {
	return []caddy.AdminRoute{
		{Pattern: "/admin/answer/traces", Handler: withRetryAfter(listTraces)},
		{Pattern: "/admin/answer/traces/", Handler: withRetryAfter(showTrace)},
		{Pattern: "/admin/answer/keys", Handler: withRetryAfter(keys)},
		{Pattern: "/admin/answer/keys/", Handler: withRetryAfter(revoke)},
		{Pattern: "/admin/answer/corpus", Handler: withRetryAfter(stats)},
		{Pattern: "/admin/answer/corpus/documents", Handler: withRetryAfter(documents)},
		{Pattern: "/admin/answer/corpus/ingest", Handler: withRetryAfter(ingest)},
	}
}

// withRetryAfter wraps a handler. If the database is down or still being opened, the wrapped handler answers 503 with
// Retry-After.
func withRetryAfter(handler caddy.AdminHandlerFunc) caddy.AdminHandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		err := handler(w, r)
		if errors.Is(err, store.ErrUnavailable) {
			w.Header().Set("Retry-After", "1")
			return caddy.APIError{
				HTTPStatus: http.StatusServiceUnavailable, Err: err,
				Message: "the database is not available right now, try again shortly",
			}
		}
		return err
	}
}

// refuse returns the error with which the admin endpoint answers with a status and a message.
func refuse(status int, message string) error {
	return caddy.APIError{HTTPStatus: status, Err: errors.New(message)}
}

// checkMethod returns an error with the status 405 if the method of a request is not one of the allowed methods.
func checkMethod(r *http.Request, allowed ...string) error {
	if slices.Contains(allowed, r.Method) {
		return nil
	}
	return refuse(http.StatusMethodNotAllowed, "use "+strings.Join(allowed, " or "))
}

// writeJSON answers with a status and a value as JSON.
func writeJSON(w http.ResponseWriter, status int, answer any) error {
	text, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // an error means that the client has left
	return nil
}

// maxTraces is the default and the largest number of answers in a list.
const maxTraces = 100

// acceptsHTML reports whether the client accepts HTML. It also sets the response header Vary.
func acceptsHTML(w http.ResponseWriter, r *http.Request) bool {
	w.Header().Set("Vary", "Accept")
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}

// listTraces lists the newest answers.
func listTraces(w http.ResponseWriter, r *http.Request) error {
	if err := checkMethod(r, http.MethodGet); err != nil {
		return err
	}
	n, err := soleNode()
	if err != nil {
		return err
	}
	limit := maxTraces
	if text := r.URL.Query().Get("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > maxTraces {
			return refuse(http.StatusBadRequest, "limit must be a whole number from 1 to 100")
		}
	}
	list, err := n.server.Recent(r.Context(), r.URL.Query().Get("before"), limit)
	switch {
	case err != nil:
		return err
	case acceptsHTML(w, r):
		return web.Recent(w, n.server.Bar(r), list, len(list) == limit)
	}
	return writeJSON(w, http.StatusOK, map[string]any{"answers": list})
}

// showTrace shows the trace with the id in the path. It searches all answer APIs of the process.
func showTrace(w http.ResponseWriter, r *http.Request) error {
	if err := checkMethod(r, http.MethodGet); err != nil {
		return err
	}
	id := strings.TrimPrefix(r.URL.Path, "/admin/answer/traces/")
	show := func(s *answer.Server) error {
		found, err := s.Trace(r.Context(), id)
		if err != nil {
			return err
		}
		return writeJSON(w, http.StatusOK, found)
	}
	if acceptsHTML(w, r) {
		show = func(s *answer.Server) error { return s.TracePage(w, r, id) }
	}
	var failed error
	// The nodes are collected first, because a reload waits while the pool is iterated.
	for _, node := range slices.Collect(tollgate.Shared[*node](nodes)) {
		err := show(node.server)
		if err == nil {
			return nil
		}
		if !errors.Is(err, accounts.ErrNoAnswer) {
			failed = err
		}
	}
	if failed != nil {
		return failed
	}
	return refuse(http.StatusNotFound, "there is no such answer, or it is older than 30 days")
}

// soleNode returns the answer API of the process, for requests that are not about one question. During a reload, the
// API of the previous configuration exists too and is ignored. If several APIs share one database, soleNode returns any
// of them, because they share keys and documents. It returns an error for the client if there is no API, or if the APIs
// use different databases.
func soleNode() (*node, error) {
	list := slices.Collect(tollgate.Shared[*node](nodes))
	if len(list) == 0 {
		return nil, refuse(http.StatusNotFound, "the configuration has no answer API")
	}
	app := tollgate.Active() // a node that the running configuration uses has this app as its newest app
	active := slices.DeleteFunc(slices.Clone(list), func(n *node) bool { return n.newest.App() != app })
	if len(active) == 0 { // the new configuration has no answer API
		active = list
	}
	if slices.ContainsFunc(active, func(n *node) bool { return n.db != active[0].db }) {
		return nil, refuse(http.StatusConflict,
			"the configuration has answer APIs on several databases: use the command tollgate answer")
	}
	return active[0], nil
}

// maxKeyBody bounds the body of a request for a new key, in bytes.
const maxKeyBody = 64 << 10

// keys lists the keys (GET) or creates a key (POST).
func keys(w http.ResponseWriter, r *http.Request) error {
	if err := checkMethod(r, http.MethodGet, http.MethodPost); err != nil {
		return err
	}
	n, err := soleNode()
	if err != nil {
		return err
	}
	if r.Method == http.MethodPost {
		return createKey(w, r, n.server)
	}
	list, err := n.server.Accounts.Keys(r.Context())
	if err != nil {
		return err
	}
	response := make([]shownKey, len(list))
	for i, key := range list {
		response[i] = shown(key)
	}
	return writeJSON(w, http.StatusOK, map[string]any{"keys": response})
}

// createKey creates the key that the body of a request describes.
func createKey(w http.ResponseWriter, r *http.Request, server *answer.Server) error {
	var body struct {
		Label    string   `json:"label"`
		Account  string   `json:"account"`
		Limit    *int64   `json:"limit"`
		Expires  int64    `json:"expires_seconds"`
		Services []string `json:"services"`
	}
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxKeyBody))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&body)
	if err == nil {
		if _, tokenErr := decoder.Token(); !errors.Is(tokenErr, io.EOF) {
			err = errors.New("there is more data after the object")
		}
	}
	if err != nil {
		return refuse(http.StatusBadRequest,
			"the body must be a JSON object with label and, optionally, account, limit, expires_seconds and services: "+
				err.Error())
	}
	newKey := accounts.NewKey{Account: body.Account, Label: body.Label, Limit: body.Limit, Services: body.Services}
	if body.Label == "" || body.Expires < 0 || body.Expires > int64(100*365*24*time.Hour/time.Second) {
		return refuse(http.StatusBadRequest, "label is required, and expires_seconds must be from 0 to 3153600000 (100 years)")
	}
	if body.Expires > 0 {
		newKey.Expires = time.Now().Add(time.Duration(body.Expires) * time.Second)
	}
	key, created, err := server.Accounts.Create(r.Context(), newKey)
	if invalid, ok := errors.AsType[accounts.InvalidError](err); ok {
		return refuse(http.StatusBadRequest, invalid.Error())
	}
	if err != nil {
		return err
	}
	response := shown(created)
	response.Key = key
	return writeJSON(w, http.StatusCreated, response)
}

// revoke revokes the key with the id in the path.
func revoke(w http.ResponseWriter, r *http.Request) error {
	if err := checkMethod(r, http.MethodPost); err != nil {
		return err
	}
	text, ok := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/admin/answer/keys/"), "/revoke")
	id, err := strconv.ParseInt(text, 10, 64)
	if !ok || err != nil {
		return refuse(http.StatusNotFound, "there is nothing at this path")
	}
	n, err := soleNode()
	if err != nil {
		return err
	}
	revoked, err := n.server.Accounts.Revoke(r.Context(), id, "")
	if err != nil {
		return err
	}
	if !revoked {
		return refuse(http.StatusNotFound, "there is no key with this id, or it is already revoked")
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// Interface guard
var _ caddy.AdminRouter = (*Admin)(nil)
