// Package admin serves the administration API: JSON routes for all objects of the server. Requests need the
// administrator's API key.
package admin

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/account"
	"github.com/tollgate-gateway/tollgate/backends/authserver/audit"
	"github.com/tollgate-gateway/tollgate/backends/authserver/brokers"
	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/connections"
	"github.com/tollgate-gateway/tollgate/backends/authserver/consent"
	"github.com/tollgate-gateway/tollgate/backends/authserver/encryption"
	"github.com/tollgate-gateway/tollgate/backends/authserver/factors"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/keys"
	"github.com/tollgate-gateway/tollgate/backends/authserver/protocol"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/backends/authserver/tokens"
	"github.com/tollgate-gateway/tollgate/backends/authserver/upstreams"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/backends/authserver/xaa"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/look"
	"github.com/tollgate-gateway/tollgate/internal/loopback"
	"github.com/tollgate-gateway/tollgate/internal/ratelimit"
	"github.com/tollgate-gateway/tollgate/internal/rest"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// Options are the settings of the API.
type Options struct {
	Clients *clients.Clients
	Catalog *resources.Catalog
	Users   *users.Users
	Factors *factors.Factors
	// Accounts invites users.
	Accounts *account.Accounts
	Consents *consent.Consents
	Keys     *keys.Keys
	Tokens   *tokens.Tokens
	Feed     *audit.Feed
	// XAA manages the identity providers and policies of enterprise-managed authorization. It is nil if that is not
	// enabled.
	XAA *xaa.XAA
	// Brokers are the broker providers. Clients obtain the tokens of these providers by exchange. Connections are the
	// users' accounts at the providers.
	Brokers     *brokers.Brokers
	Connections *connections.Connections
	// SignsIn stores the users' connected accounts at Upstreams. Upstreams includes the provider of the section oidc.
	SignsIn   *upstreams.Upstreams
	Upstreams []*upstreams.Upstream
	// Mail describes the mail server.
	Mail Mail

	// APIKey is admin.api_key. If it is empty, the API accepts direct requests of programs on this machine; see
	// loopback.Direct.
	APIKey string
	// Limiter limits the requests of each address. If it is nil, there is no limit.
	Limiter *ratelimit.Limiter
	// Bar returns the bar at the top of the pages for a request. Default: a bar without additions.
	Bar func(*http.Request) look.Bar
	// Lookback is the default period of a query of the audit feed, up to now. MaxLookback is the longest permitted
	// period.
	Lookback, MaxLookback time.Duration
	// Version is the version of the program, and Begun the time of its start. Both are part of the API's status.
	Version string
	Begun   time.Time
	// Config returns the configuration in effect, without secrets.
	Config func() (map[string]string, error)
	// Notices returns the problems that an operator should know about.
	Notices func(ctx context.Context) ([]Notice, error)
	// Reseal encrypts with the current key all secrets that are not encrypted with it yet. It is nil without data
	// encryption.
	Reseal func(ctx context.Context) (encryption.Resealed, error)
}

// API serves the administration API.
type API struct {
	*kernel.Server
	Options
	key    [sha256.Size]byte // the digest of APIKey
	origin http.CrossOriginProtection
	// refusals limits the audit events about requests without the key. It is needed since Limiter may be nil.
	refusals *ratelimit.Limiter
}

// New returns the API.
func New(s *kernel.Server, o Options) *API {
	return &API{
		Server: s, Options: o, key: sha256.Sum256([]byte(o.APIKey)),
		refusals: ratelimit.New(ratelimit.PerSecond(1, 100), s.Now),
	}
}

// actor is the actor in the audit feed for all changes through the API.
const actor = "admin"

const (
	defaultLimit = 50      // rows of a page
	maxLimit     = 1000    // rows of a page
	maxOffset    = 100_000 // rows before a page
	maxSearch    = 200     // bytes of the query parameter q
)

// call is a request that is being served.
type call struct {
	*rest.Call
	api *API
}

// Path returns the value of a path wildcard, in the form that storable returns.
func (c *call) Path(name string) string { return storable(c.Call.Path(name)) }

// Text returns a query parameter, in the form that storable returns.
func (c *call) Text(name string) string { return storable(c.Call.Text(name)) }

// storable returns a text in a form that a row can contain, since PostgreSQL accepts neither invalid UTF-8 nor NUL. A
// text that had to be changed matches no row.
func storable(s string) string { return text.Storable(strings.ToValidUTF8(s, "\uFFFD")) }

// limitOffset returns the query parameters limit and offset.
func (c *call) limitOffset() (limit, offset int, err error) {
	if limit, err = c.Int("limit", defaultLimit, 1, maxLimit); err != nil {
		return 0, 0, err
	}
	offset, err = c.Int("offset", 0, 0, maxOffset)
	return limit, offset, err
}

// cursorPage returns the requested page of a list that supports cursors: its limit, its offset or cursor, and its
// order. Without the query parameter order, the order is defaultOrder. A cursor costs the same at any position in the
// list. The limit is one more than requested, so that cursorResponse can detect further rows.
func (c *call) cursorPage(defaultOrder string) (p kernel.Page, err error) {
	if p.Limit, p.Offset, err = c.limitOffset(); err != nil {
		return p, err
	}
	order, err := c.Choice("order", defaultOrder, oldest, newest)
	if err != nil {
		return p, err
	}
	p.Newest = order == newest
	if cursor := c.Text("cursor"); cursor != "" {
		place, ok := kernel.ParsePlace(cursor)
		if !ok || p.Offset > 0 {
			return p, apierror.New(http.StatusBadRequest, "invalid_value",
				"cursor must be the unchanged value of next from the previous page, without offset")
		}
		p.After = place
	}
	p.Limit++
	return p, nil
}

// The values of the parameter order.
const oldest, newest = "oldest", "newest"

// maxTotal is the number up to which the rows of a list are counted.
const maxTotal = 10_000

// cursorResponse returns the response for a page of a list that supports cursors. The response is an object, in which
// the member with the given name contains the rows, each converted by convert. The rows were read with the limit that
// cursorPage returned, which is one more than the page may have. If that additional row exists, cursorResponse
// removes it and adds the member next, the cursor of the next page. If the request asks for the total number of rows,
// the response contains that number too. For this purpose cursorResponse calls count, which returns the number of all
// rows of the list, up to a limit.
func cursorResponse[T interface{ Place() kernel.Place }, U any](
	c *call, name string, rows []T, p kernel.Page, convert func(T) U, count func(limit int) (int, error),
) (map[string]any, error) {
	rows, hasMore := store.Cut(rows, p.Limit-1)
	response := pageResponse(name, converted(rows, convert), p.Limit-1, p.Offset, hasMore)
	if hasMore {
		response["next"] = rows[len(rows)-1].Place().String()
	}
	wantTotal, err := c.Choice("count", "false", "true")
	if err != nil || wantTotal == "false" {
		return response, err
	}
	total := len(rows)
	isWholeList := !hasMore && p.Offset == 0 && p.After == (kernel.Place{})
	if !isWholeList {
		if total, err = count(maxTotal + 1); err != nil {
			return nil, err
		}
	}
	response["total"], response["total_capped"] = min(total, maxTotal), total > maxTotal
	return response, nil
}

// converted returns the results of convert for all rows.
func converted[T, U any](rows []T, convert func(T) U) []U {
	list := make([]U, len(rows))
	for i, row := range rows {
		list[i] = convert(row)
	}
	return list
}

// search returns the query parameter q.
func (c *call) search() (string, error) {
	text := c.Text("q")
	if len(text) > maxSearch {
		return "", apierror.New(http.StatusBadRequest, "invalid_value", "q must have at most %d bytes", maxSearch)
	}
	return text, nil
}

// address returns the client address of the request.
func (c *call) address() string { return c.api.Address(c.R) }

// note adds an action to the audit feed. The client is the client_id of the client that the action concerns, or "". The
// detail is a list of alternating names and values.
func (c *call) note(action, client string, detail ...string) {
	c.api.Audit(c.R.Context(), kernel.Event{
		Action: action, Actor: actor, Client: client, Address: c.address(),
		Detail: detail,
	})
}

// slicePage returns the response for the requested page of a list, given all rows of the list. It converts the rows of
// the page with convert. The parameter err is the error of reading the list; slicePage returns it if it is not nil.
func slicePage[T, U any](c *call, name string, list []T, err error, convert func(T) U) (any, error) {
	limit, offset, paramErr := c.limitOffset()
	if err = cmp.Or(paramErr, err); err != nil {
		return nil, err
	}
	rows, hasMore := store.Cut(list[min(offset, len(list)):], limit)
	return pageResponse(name, converted(rows, convert), limit, offset, hasMore), nil
}

// decodeChange decodes the body of a request that changes an object. It returns a function that checks the header
// If-Match; see checkIfMatch.
func decodeChange[T any](c *call, body any, tag func(object T) string) (func(object T) error, error) {
	if err := c.Decode(body); err != nil {
		return nil, err
	}
	return checkIfMatch(c, tag)
}

// pageResponse returns the response for a page of a list. In the response, the member with the given name contains
// the rows of the page. If hasMore is set, another page follows.
func pageResponse[T any](name string, rows []T, limit, offset int, hasMore bool) map[string]any {
	if rows == nil {
		rows = []T{} // nil would be null in JSON
	}
	return map[string]any{name: rows, "limit": limit, "offset": offset, "has_more": hasMore}
}

// serve returns the HTTP route for a row of the table of routes.
func (a *API) serve(row route) kernel.Route {
	serve := func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Cache-Control", "no-store") // responses may contain secrets
		if a.Limiter != nil && !a.Limiter.Allow(kernel.Network(a.Address(r))) {
			return kernel.TooMany()
		}
		if !row.Guest { // a guest route needs no key
			if err := a.admit(w, r); err != nil {
				return err
			}
		}
		r = r.WithContext(kernel.From(r.Context(), a.Address(r)))
		c := &call{row.Call(w, r, nil), a}
		answer, err := row.serve(c)
		if err != nil {
			return err
		}
		return c.Write(answer)
	}
	return kernel.Route{Method: row.Method, Path: prefix + row.Path, Serve: serve}
}

// admit returns an error for a request that does not have the API key. If no key is configured, it admits direct
// requests of programs on this machine, but not of websites in a browser on this machine.
func (a *API) admit(w http.ResponseWriter, r *http.Request) error {
	if a.APIKey == "" {
		switch {
		case !loopback.Direct(r, a.Address(r)):
			return apierror.New(http.StatusForbidden, "forbidden",
				"without admin.api_key, only programs on this machine can use the administration API, directly at localhost or an IP address; to reach it through a proxy or from another machine, set admin.api_key")
		case a.origin.Check(r) != nil:
			return apierror.New(http.StatusForbidden, "forbidden", "requests from pages of other websites are refused")
		}
		return nil
	}
	sent := sha256.Sum256([]byte(protocol.Bearer(r)))
	if subtle.ConstantTimeCompare(sent[:], a.key[:]) == 1 {
		return nil
	}
	if address := a.Address(r); a.refusals.Allow(kernel.Network(address)) {
		a.Audit(r.Context(), kernel.Event{Action: "admin.auth_failed", Address: address, Detail: []string{"path", r.Pattern}})
	}
	w.Header().Set("WWW-Authenticate", "Bearer")
	return apierror.New(http.StatusUnauthorized, "unauthorized", "send the administration key as Authorization: Bearer …")
}

// WriteError writes an error as problem details (RFC 9457).
func WriteError(w http.ResponseWriter, err error) {
	e, ok := apierror.From(err)
	if !ok {
		e = knownError(err)
	}
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	if e.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64((e.RetryAfter+time.Second-1)/time.Second), 10))
	}
	text, err := json.Marshal(struct {
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
	}{"about:blank", http.StatusText(e.Status), e.Status, e.Message})
	if err != nil {
		panic(err) // texts and a number can be encoded
	}
	w.WriteHeader(e.Status)
	_, _ = w.Write(text) // an error means that the client is gone
}

// knownError converts an error of another package to the error for the response. An unknown error becomes an internal
// error without details.
func knownError(err error) *apierror.Error {
	for _, mapping := range [...]struct {
		is     error
		status int
	}{
		{clients.ErrUnknown, http.StatusNotFound},
		{resources.ErrUnknown, http.StatusNotFound},
		{resources.ErrExists, http.StatusConflict},
		{brokers.ErrUnknown, http.StatusNotFound},
		{brokers.ErrExists, http.StatusConflict},
		{brokers.ErrInUse, http.StatusConflict},
		{xaa.ErrUnknown, http.StatusNotFound},
		{xaa.ErrExists, http.StatusConflict},
		{clients.ErrRevoked, http.StatusConflict},
		{clients.ErrNoSecret, http.StatusConflict},
		{clients.ErrNoDocument, http.StatusConflict},
	} {
		if errors.Is(err, mapping.is) {
			return apierror.New(mapping.status, "", "%s", mapping.is.Error())
		}
	}
	if kernel.Down(err) {
		return apierror.New(http.StatusServiceUnavailable, "", "the server cannot answer right now, try again shortly")
	}
	return apierror.New(http.StatusInternalServerError, "", "internal error")
}

// notFound returns the error with status 404 for a kind of object, such as "token".
func notFound(object string) error {
	return apierror.New(http.StatusNotFound, "not_found", "there is no such %s", object)
}

// stamp returns a time in the format of responses.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// words returns the list, or an empty list for nil, so that JSON has [] instead of null.
func words(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
