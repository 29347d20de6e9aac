package auth

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/cms/accounts"
	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/backends/cms/settings"
	"github.com/tollgate-gateway/tollgate/internal/jwt"
	"github.com/tollgate-gateway/tollgate/internal/secret"
)

// Class is the class name of the routes of /auth.
const Class = "Auth"

// The methods of Class.
const (
	Login  = "login"
	Logout = "logout"
	Access = "access" // a new token for a refresh token
)

// Call is a call of one of the methods login, logout and access.
type Call struct {
	*handler.Call
	Request  *http.Request
	Identity Identity
}

// secure reports whether the client used HTTPS.
func (c *Call) secure() bool { return strings.HasPrefix(c.BaseURL, "https:") }

// SignIn answers POST /auth. It checks the name and the password. Then it begins a session in mode session, returns a
// token in mode jwt, and only confirms the password in mode none.
func (a *Auth) SignIn(ctx context.Context, c *Call) (any, error) {
	current := a.settings.Current()
	if current.Mode() == settings.JWT && current.JWTSecret == "" {
		return nil, errNoSecret
	}
	if origin := c.Header.Get("Origin"); origin != "" && current.Mode() == settings.Session &&
		!a.fromAllowedOrigin(c.Request, current) {
		return nil, errForeign
	}
	name, password, err := credentials(c)
	if err != nil {
		return nil, err
	}
	user, epoch, err := a.Check(ctx, name, password, c.Address)
	if err != nil {
		return nil, err
	}
	switch current.Mode() {
	case settings.Session:
		var previous string
		if cookie, err := c.Request.Cookie(CookieName); err == nil {
			previous = cookie.Value
		}
		value, err := a.Begin(ctx, user, epoch, previous, "")
		if err != nil {
			return nil, err
		}
		return "logged in: " + user.Name, c.SetHeader("Set-Cookie", a.cookie(value, c.secure()))
	case settings.JWT:
		t := claims{UserID: user.ID, Subject: user.Name, Epoch: epoch}
		var refresh string
		if current.JWTRefresh {
			t.Family = secret.New()
			err := a.Write(ctx, func(conn kernel.Conn) (err error) {
				refresh, err = a.addRefresh(conn, t.Family, t.UserID, t.Epoch)
				return err
			})
			if err != nil {
				return nil, err
			}
		}
		return a.tokenAnswer(ctx, current, issuer(a.Host(c.Request)), t, current.Lifetime(), refresh)
	}
	return "authorization is disabled", nil
}

// Check returns the user with the given name and password, and the user's epoch, a number that changes with each new
// password. After five failures for the same name and client address, it returns a 429 error for up to 15 minutes,
// without checking the password. A wrong name or password is a 401 error.
func (a *Auth) Check(ctx context.Context, name, password, address string) (user *kernel.User, epoch int64, err error) {
	failures := logins.Of(strings.ToLower(strings.TrimSpace(name)), address)
	var wait time.Duration
	err = a.Write(ctx, func(c kernel.Conn) error {
		wait, err = failures.Try(c, a.Now())
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	if wait > 0 {
		a.logged("limited")
		return nil, 0, &handler.Error{
			Code: http.StatusTooManyRequests, Message: "too many failed logins, try again later",
			Header: http.Header{"Retry-After": {strconv.Itoa(int(math.Ceil(wait.Seconds())))}},
		}
	}
	user, epoch, err = a.accounts.Login(ctx, name, password)
	switch {
	case errors.Is(err, accounts.ErrLogin):
		a.logged("bad")
		return nil, 0, handler.Errorf(http.StatusUnauthorized, "Login not successful")
	case err != nil:
		// The password was not checked, so the attempt does not count. An error of GiveBack is less important than err.
		_ = a.Write(ctx, failures.GiveBack)
		return nil, 0, err
	}
	a.logged("good")
	return user, epoch, a.Write(ctx, failures.Forget)
}

// credentials returns the name and the password from the Authorization header (HTTP Basic, RFC 7617) or, without this
// header, from the body.
func credentials(c *Call) (name, password string, err error) {
	if name, password, ok := c.Request.BasicAuth(); ok {
		return name, password, nil
	}
	var values [2]string
	for i, member := range []string{"username", "password"} {
		if values[i], err = text(c.Body, member); err != nil {
			return "", "", err
		}
	}
	return values[0], values[1], nil
}

// text returns a required member of the body, which must be a string.
func text(body map[string]any, member string) (string, error) {
	switch value := body[member].(type) {
	case string:
		return value, nil
	case nil:
		return "", handler.Errorf(http.StatusBadRequest, "Required parameter '%s' is missing", member)
	default:
		return "", handler.Errorf(http.StatusBadRequest, "'%s' is not a string", member)
	}
}

// tokenAnswer returns the answer to a login or a renewal: a signed token with the claims t and the given lifetime, and
// the refresh token, which may be empty. host is the issuer and the audience of the token.
func (a *Auth) tokenAnswer(
	ctx context.Context, current *settings.Settings, host string, t claims, lifetime time.Duration, refresh string,
) (any, error) {
	now := a.Now()
	t.Issuer, t.Audience, t.ID = host, host, secret.New()
	t.Issued, t.Before, t.Expires = now.Unix(), now.Unix(), now.Add(lifetime).Unix()
	token, err := sign(ctx, current, t)
	if err != nil {
		return nil, fmt.Errorf("signing a token: %w", err)
	}
	return struct {
		JWT     string `json:"jwt"`
		Expires int64  `json:"expires"`
		Refresh string `json:"refresh,omitempty"`
	}{token, t.Expires, refresh}, nil
}

// Renew answers POST /auth/access: it exchanges a refresh token for a new token and a new refresh token.
func (a *Auth) Renew(ctx context.Context, c *Call) (any, error) {
	current := a.settings.Current()
	switch {
	case current.Mode() != settings.JWT || !current.JWTRefresh:
		return nil, handler.Errorf(http.StatusNotFound, "refresh tokens are not enabled")
	case current.JWTSecret == "":
		return nil, errNoSecret
	}
	refresh, err := text(c.Body, "refresh")
	if err != nil {
		return nil, err
	}
	next, t, err := a.useRefresh(ctx, refresh)
	if err == nil {
		var user *kernel.User
		if user, err = a.holder(ctx, &t); err == nil {
			t.Subject = user.Name // the user may have been renamed since the login
		}
	}
	if _, invalid := errors.AsType[jwt.Error](err); invalid {
		return nil, handler.Errorf(http.StatusUnauthorized, "invalid token")
	}
	if err != nil {
		return nil, err
	}
	return a.tokenAnswer(ctx, current, issuer(a.Host(c.Request)), t, accessLifetime, next)
}

// SignOut answers DELETE /auth: it ends the session or revokes the token of the caller.
func (a *Auth) SignOut(ctx context.Context, c *Call) (any, error) {
	switch id := c.Identity; {
	case id.Session != nil:
		if err := a.End(ctx, id.Session.secret); err != nil {
			return nil, err
		}
		if err := c.SetHeader("Set-Cookie", a.cookie("", c.secure())); err != nil {
			return nil, err
		}
	case id.token != nil:
		if err := a.revoke(ctx, id.token); err != nil {
			return nil, err
		}
	}
	return "logged out: " + c.Identity.User.Name, nil
}
