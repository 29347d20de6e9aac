// Package admin is the administration API: JSON for whoever holds the key, about all
// that the server knows.
package admin

import (
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
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/backends/authserver/xaa"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/look"
	"github.com/tollgate-gateway/tollgate/internal/loopback"
	"github.com/tollgate-gateway/tollgate/internal/rest"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// Options of the API. The rooms are required.
type Options struct {
	Clients *clients.Clients
	Catalog *resources.Catalog
	Users   *users.Users
	Factors *factors.Factors
	// Accounts invites people.
	Accounts *account.Accounts
	Consents *consent.Consents
	Keys     *keys.Keys
	Tokens   *tokens.Tokens
	Feed     *audit.Feed
	// XAA has identity providers and policies; nil: there is none.
	XAA *xaa.XAA
	// Brokers are the providers whose tokens are handed on, and Connections what people have
	// connected.
	Brokers     *brokers.Brokers
	Connections *connections.Connections

	// APIKey is admin.api_key. Without one, programs on this machine that ask directly are let in, see loopback.Direct.
	APIKey string
	// Limiter bounds how much an address may send; nil: nothing does.
	Limiter *kernel.Limiter
	// Bar returns what the bar at the top of the pages shows to who asks. Default: nothing more.
	Bar func(*http.Request) look.Bar
	// Lookback is how far back the audit feed goes where nothing is said, and MaxLookback
	// how far it may be asked to.
	Lookback, MaxLookback time.Duration
	// Version and Begun are told.
	Version string
	Begun   time.Time
	// Config is the configuration in effect, without secrets.
	Config func() (map[string]string, error)
	// Notices are what an operator should know.
	Notices func(ctx context.Context) ([]Notice, error)
	// Reseal seals anew what is not sealed with the present key; nil: nothing is sealed.
	Reseal func(ctx context.Context) (encryption.Resealed, error)
}

// API serves it.
type API struct {
	*kernel.Server
	Options
	key    [sha256.Size]byte
	origin http.CrossOriginProtection
	// refusals bounds how many rows of the audit feed somebody without the key makes, whom
	// nothing else may bound.
	refusals *kernel.Limiter
}

// New makes the API.
func New(s *kernel.Server, o Options) *API {
	return &API{Server: s, Options: o, key: sha256.Sum256([]byte(o.APIKey)), refusals: kernel.NewLimiter(1, 100, s.Now)}
}

// by is who does what is done here.
const by = "admin"

const (
	defaultLimit = 50
	maxLimit     = 1000
	maxOffset    = 100_000
	maxSearch    = 200
)

// call is a request on its way.
type call struct {
	*rest.Call
	api *API
}

// Path is the value of a wildcard, as a database may be asked for it.
func (c *call) Path(name string) string { return stored(c.Call.Path(name)) }

// Text is a query parameter, as a database may be asked for it.
func (c *call) Text(name string) string { return stored(c.Call.Text(name)) }

// stored is a text that a row may have: PostgreSQL takes only such, and what was sent as
// another one finds nothing.
func stored(sent string) string { return text.Storable(strings.ToValidUTF8(sent, "\uFFFD")) }

// page is limit and offset.
func (c *call) page() (limit, offset int, err error) {
	if limit, err = c.Int("limit", defaultLimit, 1, maxLimit); err == nil {
		offset, err = c.Int("offset", 0, 0, maxOffset)
	}
	return limit, offset, err
}

// rows is the page of a list that has places: also behind the row of a cursor, which costs
// the same wherever that is, and in an order that may be chosen.
func (c *call) rows(order string) (p kernel.Page, err error) {
	if p.Limit, p.Offset, err = c.page(); err != nil {
		return p, err
	}
	if order, err = c.Choice("order", order, oldest, newest); err != nil {
		return p, err
	}
	p.Newest = order == newest
	if text := c.Text("cursor"); text != "" {
		var ok bool
		if p.After, ok = kernel.ParsePlace(text); !ok || p.Offset > 0 {
			return p, apierror.New(http.StatusBadRequest, "invalid_value", "cursor must be next of the page before, unchanged, without offset")
		}
	}
	p.Limit++ // tells whether there are more
	return p, nil
}

// The orders of a list.
const oldest, newest = "oldest", "newest"

// countMost is how many rows of a list are counted.
const countMost = 10_000

// answer is a page of rows as they are told: with next where there are more, and with how
// many there are on all pages where that is asked for.
func answer[T interface{ Place() kernel.Place }, U any](c *call, name string, found []T, p kernel.Page, tell func(T) U, count func(most int) (int, error)) (map[string]any, error) {
	found, more := store.Cut(found, p.Limit-1)
	rows := make([]U, len(found))
	for i, one := range found {
		rows[i] = tell(one)
	}
	told := list(name, rows, p.Limit-1, p.Offset, more)
	if more {
		told["next"] = found[len(found)-1].Place().String()
	}
	counted, err := c.Choice("count", "false", "true")
	if err != nil || counted == "false" {
		return told, err
	}
	total := len(found)
	if more || p.Offset > 0 || p.After != (kernel.Place{}) {
		if total, err = count(countMost + 1); err != nil {
			return nil, err
		}
	}
	told["total"], told["total_capped"] = min(total, countMost), total > countMost
	return told, nil
}

// search is q, which names hold a part of.
func (c *call) search() (string, error) {
	text := c.Text("q")
	if len(text) > maxSearch {
		return "", apierror.New(http.StatusBadRequest, "invalid_value", "q has at most %d bytes", maxSearch)
	}
	return text, nil
}

// address is where the request comes from.
func (c *call) address() string { return c.api.Address(c.R) }

// note writes down what was done.
func (c *call) note(action, client string, detail ...string) {
	c.api.Audit(c.R.Context(), kernel.Event{Action: action, Actor: by, Client: client, Address: c.address(), Detail: detail})
}

// list is a page with its place.
func list[T any](name string, page []T, limit, offset int, more bool) map[string]any {
	if page == nil {
		page = []T{}
	}
	return map[string]any{name: page, "limit": limit, "offset": offset, "has_more": more}
}

// route is a row: what serves it answers with a value that becomes JSON, or with nil for
// 204.
func (a *API) route(method, path string, serve func(c *call) (any, error)) kernel.Route {
	return kernel.Route{Method: method, Path: "/admin" + path, Serve: func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Cache-Control", "no-store")
		if err := a.admit(w, r); err != nil {
			return err
		}
		r = r.WithContext(kernel.From(r.Context(), a.Address(r)))
		c := &call{&rest.Call{W: w, R: r, Status: http.StatusOK}, a}
		answer, err := serve(c)
		if err != nil {
			return err
		}
		if answer == nil {
			w.WriteHeader(http.StatusNoContent)
			return nil
		}
		text, err := json.Marshal(answer)
		if err != nil {
			return err
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(c.Status)
		_, _ = w.Write(text) // nobody to tell when the client is gone
		return nil
	}}
}

// admit lets in who has the key.
func (a *API) admit(w http.ResponseWriter, r *http.Request) error {
	if a.Limiter != nil && !a.Limiter.Allow(kernel.Network(a.Address(r))) {
		return kernel.TooMany()
	}
	if a.APIKey == "" { // then it is a developer's machine, whose browser may be on any site
		switch {
		case !loopback.Direct(r, a.Address(r)):
			return apierror.New(http.StatusForbidden, "forbidden", "without admin.api_key the administration is for programs on this machine that ask it directly, by localhost or an IP address: set the key to reach it through a proxy or from elsewhere")
		case a.origin.Check(r) != nil:
			return apierror.New(http.StatusForbidden, "forbidden", "pages of other sites are not let in")
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

// WriteError answers with problem details (RFC 9457).
func WriteError(w http.ResponseWriter, err error) {
	e, ok := apierror.From(err)
	if !ok {
		e = known(err)
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
		panic(err) // texts and a number
	}
	w.WriteHeader(e.Status)
	_, _ = w.Write(text) // nobody to tell when the client is gone
}

// known are the errors of the rooms.
func known(err error) *apierror.Error {
	for _, one := range [...]struct {
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
		if errors.Is(err, one.is) {
			return apierror.New(one.status, "", "%s", one.is.Error())
		}
	}
	if kernel.Down(err) {
		return apierror.New(http.StatusServiceUnavailable, "", "the server cannot answer right now, try again shortly")
	}
	return apierror.New(http.StatusInternalServerError, "", "internal error")
}

func notFound(what string) error {
	return apierror.New(http.StatusNotFound, "not_found", "there is no such %s", what)
}

// stamp is a time as it is told.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// words is a list that is never null.
func words(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
