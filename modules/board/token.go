package board

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/caddyauth"

	"github.com/tollgate-gateway/tollgate/backends/board"
	"github.com/tollgate-gateway/tollgate/backends/board/api"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/modules/budget"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

func init() {
	caddy.RegisterModule(Token{})
}

// Token checks the tokens (brd_pat_…) that the board issues, sent as `Authorization: Bearer brd_pat_…`. A revoked token
// is refused from the next request on. An invalid token is refused even where guests are admitted.
//
// Placeholders, besides {http.auth.user.id}, which is empty for guests:
//
//	{http.auth.user.name}      the member's name
//	{http.auth.user.token_id}  id of the token, not secret
//
// Errors: 401 unauthenticated with WWW-Authenticate: Bearer realm="board"; 429
// once the budget of bad tokens is spent.
type Token struct {
	// Guest admits requests without a token if the operation is open to guests.
	Guest bool `json:"guest,omitempty"`

	// BadToken is the charge for an invalid token, which limits guessing. It is charged to a budget of the client's
	// address. Default: no charge.
	BadToken *Charge `json:"bad_token,omitempty"`

	app     *tollgate.App
	service *board.Server
	api     *api.API
}

// Charge is a number of units taken from a budget.
type Charge struct {
	// Name is the name of the budget. A directive budget with the same name and window shares its count.
	Name string `json:"name,omitempty"`

	// Units is the number of units to take.
	Units int64 `json:"units,omitempty"`

	// Limit and Window are the limit and the window of the budget.
	Limit  int64          `json:"limit,omitempty"`
	Window caddy.Duration `json:"window,omitempty"`
}

// CaddyModule returns the Caddy module information.
func (Token) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.authentication.providers.board_token",
		New: func() caddy.Module { return new(Token) },
	}
}

// Provision gets the board on the database of the configuration.
func (t *Token) Provision(ctx caddy.Context) error {
	var err error
	var boardNode *node
	if t.app, boardNode, err = open(ctx); err != nil {
		return err
	}
	t.service = boardNode.service.With(kernel.Options{})
	t.api = t.service.API()
	return nil
}

// Validate checks the charge.
func (t *Token) Validate() error {
	c := t.BadToken
	switch {
	case c == nil:
	case c.Name == "":
		return errors.New("bad_token: the name of the budget is missing")
	case c.Units < 1 || c.Limit < c.Units:
		return fmt.Errorf("bad_token: %d of %d units is not possible", c.Units, c.Limit)
	case time.Duration(c.Window) < time.Second || time.Duration(c.Window) > 31*24*time.Hour:
		return fmt.Errorf("bad_token: window %s is not within 1s..31d", time.Duration(c.Window))
	}
	return nil
}

// Authenticate implements caddyauth.Authenticator.
func (t *Token) Authenticate(w http.ResponseWriter, r *http.Request) (caddyauth.User, bool, error) {
	defer t.app.Acquire()()
	actor, err := t.identify(w, r)
	if err != nil {
		return caddyauth.User{}, false, err
	}
	caddyhttp.SetVar(r.Context(), actorVar, actor)
	if actor.User == nil {
		return caddyauth.User{}, true, nil
	}
	return caddyauth.User{ID: strconv.FormatInt(actor.User.ID, 10), Metadata: map[string]string{
		"name": actor.User.Name, "token_id": strconv.FormatInt(actor.Token.ID, 10),
	}}, true, nil
}

// identify returns the sender of a request: the owner of its token, or the guest if a request without a token is
// admitted. It returns an error with status 401 if the token is missing or invalid, or with status 429 if the client
// has sent too many invalid tokens.
func (t *Token) identify(w http.ResponseWriter, r *http.Request) (*rights.Actor, error) {
	if err := t.service.Ready(r.Context()); err != nil {
		return nil, err
	}
	values := r.Header["Authorization"]
	if len(values) == 0 {
		if !t.Guest || t.api.NeedsToken(r) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="board"`)
			return nil, apierror.New(http.StatusUnauthorized, "unauthenticated",
				"this needs a token: send it as Authorization: Bearer brd_pat_…")
		}
		return t.service.Rights.Guest(r.Context())
	}
	scheme, text, _ := strings.Cut(strings.TrimSpace(values[0]), " ")
	if !strings.EqualFold(scheme, "Bearer") || len(values) > 1 {
		text = "" // is refused like any invalid token
	}
	actor, err := t.service.Accounts.Authenticate(r.Context(), strings.TrimSpace(text))
	if e, ok := apierror.From(err); ok && e.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="board", error="invalid_token"`)
		return nil, t.charge(w, r, err)
	}
	return actor, err
}

// charge takes the charge for an invalid token from the budget. It returns cause, or an error with status 429 once
// the budget is spent.
func (t *Token) charge(w http.ResponseWriter, r *http.Request, cause error) error {
	c := t.BadToken
	store := t.app.Counters()
	if c == nil || store == nil {
		return cause
	}
	result, err := store.Take(r.Context(), budget.AddressKey(r.Context(), c.Name, time.Duration(c.Window)), c.Units,
		c.Limit, time.Duration(c.Window))
	if err != nil || result.Allowed {
		return cause // the token stays refused even if nothing can be counted
	}
	w.Header().Del("WWW-Authenticate")
	return &apierror.Error{
		Status: http.StatusTooManyRequests, Code: "rate_limited", RetryAfter: result.RetryAfter,
		Message: "too many requests with invalid tokens",
	}
}

// Interface guards
var (
	_ caddy.Provisioner       = (*Token)(nil)
	_ caddy.Validator         = (*Token)(nil)
	_ caddyauth.Authenticator = (*Token)(nil)
)
