package openid

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/keys"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

const (
	maxState = 2048     // bytes
	maxHint  = 16 << 10 // bytes
)

// Logout is a client's request to sign a user out (RP-Initiated Logout 1.0).
type Logout struct {
	// Subject is the user in the ID token that the client sent as id_token_hint. It is empty without such a token.
	Subject string
	// Client is the name of the client, or empty if the client is unknown.
	Client string
	// To is the URI to which the browser is redirected afterwards, or empty.
	To string
}

// ParseLogout checks the parameters of a request. An error must be shown to the user; the browser must not be
// redirected.
func (s *OpenID) ParseLogout(ctx context.Context, values url.Values) (*Logout, error) {
	for name, sent := range values {
		if len(sent) > 1 {
			return nil, refuse("the request has the parameter " + name + " twice")
		}
	}
	l := new(Logout)
	id := values.Get("client_id")
	if hint := values.Get("id_token_hint"); hint != "" {
		idToken, err := s.hinted(ctx, hint)
		if err != nil {
			return nil, err
		}
		if idToken != nil {
			if id != "" && id != idToken.Audience {
				return nil, refuse("the ID token of the request is one of another application")
			}
			id, l.Subject = idToken.Audience, idToken.Subject
		}
	}
	target := values.Get("post_logout_redirect_uri")
	if id == "" {
		if target != "" {
			return nil, refuse("the request does not say which application it is from")
		}
		return l, nil
	}
	client, err := s.Clients.Find(ctx, id)
	if errors.Is(err, clients.ErrUnknown) || err == nil && !client.Active() {
		return nil, refuse("no application is registered under the client_id of the request")
	}
	if err != nil {
		return nil, err
	}
	l.Client = client.Name
	if target != "" {
		l.To, err = logoutRedirect(client, target, values)
	}
	return l, err
}

// logoutRedirect returns the URI to which the browser is redirected: target with the parameter state of the request.
// The client must have registered target.
func logoutRedirect(client *clients.Client, target string, values url.Values) (string, error) {
	if !slices.ContainsFunc(client.Metadata.Logout, func(uri string) bool { return clients.SameRedirect(uri, target) }) {
		return "", refuse("the post_logout_redirect_uri of the request is not one that the application has registered")
	}
	if !values.Has("state") {
		return target, nil
	}
	state := values.Get("state")
	if len(state) > maxState {
		return "", refuse("state is too long")
	}
	separator := "?"
	if strings.Contains(target, "?") {
		separator = "&"
	}
	return target + separator + "state=" + url.QueryEscape(state), nil
}

// hinted returns the claims of an ID token that this server issued, even if the token has expired. It returns nil if
// this server did not issue the token or the signing key no longer exists.
func (s *OpenID) hinted(ctx context.Context, text string) (*idClaims, error) {
	if len(text) > maxHint {
		return nil, refuse("id_token_hint is too long")
	}
	raw, err := s.Keys.Verify(ctx, keys.Plain, text)
	if errors.Is(err, keys.ErrToken) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c := new(idClaims)
	if err := json.Unmarshal(raw, c); err != nil || c.Issuer != s.Issuer {
		return nil, nil // not an ID token of this server
	}
	return c, nil
}

// Hinted returns the subject and the client of an ID token that this server issued. For any other text both are empty.
func (s *OpenID) Hinted(ctx context.Context, token string) (subject, client string, err error) {
	c, err := s.hinted(ctx, token)
	if c == nil || err != nil {
		return "", "", err
	}
	return c.Subject, c.Audience, nil
}

// refuse returns invalid_request with a message that the page shows to the user.
func refuse(message string) error {
	return apierror.New(http.StatusBadRequest, kernel.InvalidRequest, "%s", message)
}
