package authorize

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/secret"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

const (
	// pushedPrefix is the prefix of the request_uri of a pushed request (RFC 9126 section 2.2).
	pushedPrefix = "urn:ietf:params:oauth:request_uri:"
	// PushedLife is how long a pushed request can be used. It can be used once.
	PushedLife = 90 * time.Second
)

// Push stores an authorization request that a client sends directly, and returns its request_uri (RFC 9126). The checks
// are those for a request through a browser.
func (s *Authorize) Push(ctx context.Context, client *clients.Client, values url.Values) (uri string, err error) {
	if id := values["client_id"]; len(id) > 1 || len(id) == 1 && id[0] != client.ID {
		return "", kernel.Refuse(kernel.InvalidRequest, "client_id differs from that of the authenticated client")
	}
	values.Set("client_id", client.ID)
	if values.Has("request_uri") {
		return "", kernel.Refuse(kernel.InvalidRequest, "a pushed request must not contain request_uri")
	}
	r, err := s.Parse(ctx, values)
	if err != nil {
		return "", err
	}
	name := secret.New() // the database has only its hash
	return pushedPrefix + name, s.Write(store.ReadCommitted(ctx), func(c store.Conn) error {
		_, err := c.Exec("INSERT INTO authserver_pushed (digest, client_id, request, expires_at) VALUES (?, ?, ?, ?)",
			secret.Hash(name), client.ID, effectiveParameters(values, r).Encode(), s.Now().Add(PushedLife).UnixMicro())
		return err
	})
}

// parameters are the known parameters of an authorization request.
var parameters = []string{
	"response_type", "client_id", "redirect_uri", "scope", "state", "resource", "response_mode", "code_challenge",
	"code_challenge_method", "nonce", "login_hint", "id_token_hint",
	"dpop_jkt", "prompt", "max_age", "acr_values", "ui_locales",
}

// effectiveParameters returns those parameters of a valid request that have an effect. Other parameters are not stored,
// since anybody can register a public client and send many of them.
func effectiveParameters(values url.Values, r *Request) url.Values {
	effective := make(url.Values, len(parameters))
	for _, name := range parameters {
		if sent, ok := values[name]; ok {
			effective[name] = sent
		}
	}
	if r.Hint == "" {
		effective.Del("login_hint")
	}
	if r.Locales == "" {
		effective.Del("ui_locales")
	}
	if r.Subject == "" {
		effective.Del("id_token_hint")
	}
	return effective
}

// takePushed returns the parameters of the pushed request to which request_uri refers, and deletes that request. These
// parameters replace all others. Without a request_uri of this server, takePushed returns values unchanged.
func (s *Authorize) takePushed(ctx context.Context, values url.Values) (url.Values, error) {
	uris := values["request_uri"]
	if len(uris) != 1 || !strings.HasPrefix(uris[0], pushedPrefix) {
		return values, nil
	}
	var request string
	err := s.Write(store.ReadCommitted(ctx), func(c store.Conn) error {
		digest, client := secret.Hash(strings.TrimPrefix(uris[0], pushedPrefix)), requestValues{values}.single("client_id")
		err := c.Row("SELECT request FROM authserver_pushed WHERE digest = ? AND client_id = ? AND expires_at > ?"+
			c.Lock(), digest, client, s.Micros()).Scan(&request)
		if err != nil {
			return err
		}
		_, err = c.Exec("DELETE FROM authserver_pushed WHERE digest = ?", digest)
		return err
	})
	if err != nil {
		return nil, kernel.IfNoRows(err,
			pageError("this sign-in has expired or was begun before; go back to the application and begin there"))
	}
	return url.ParseQuery(request)
}

// Sweep removes pushed requests that have expired, and returns their number.
func (s *Authorize) Sweep(ctx context.Context) (int, error) {
	n, err := s.DB.Purge(ctx, 1000, "DELETE FROM authserver_pushed WHERE digest IN (SELECT digest FROM authserver_pushed WHERE expires_at <= ? LIMIT ?)", s.Micros())
	return int(n), err
}
