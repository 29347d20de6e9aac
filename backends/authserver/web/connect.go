package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/brokers"
	"github.com/tollgate-gateway/tollgate/backends/authserver/connections"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// tokenHeader is the request header in which a script sends the form token of its page.
const tokenHeader = "X-CSRF-Token" //nolint:gosec // G101: a header

// connect redirects the user to a broker provider (a service whose tokens this server obtains for the user), to connect
// an account there.
func (c *call) connect() error {
	if c.session == nil {
		return c.ToLogin("/login")
	}
	if done, err := c.requireSecondFactor(c.needsFactor(), c.Here()); done {
		return err
	}
	location, err := c.Connections.Begin(c.Context(), connections.Start{
		User: c.session.User.ID, Provider: c.R.PathValue("provider"), Resource: c.Query.Text("resource"),
		ReturnURL: c.Query.Text("return_url"), Scope: c.Query.Text("scope"),
	})
	if err != nil {
		return err
	}
	return c.redirectTo(location)
}

// connected handles the redirect back from a broker provider.
func (c *call) connected() error {
	if c.session == nil {
		return c.ToLogin("/login")
	}
	location, err := c.Connections.Finish(c.Context(), connections.End{
		User: c.session.User.ID, Provider: c.R.PathValue("provider"), State: c.Query.Text("state"),
		Code: c.Query.Text("code"), Error: c.Query.Text("error"), Address: c.Address(c.R),
	})
	if err != nil {
		return err
	}
	return c.redirectTo(location)
}

// connection is the JSON form of a connection, without its credentials.
type connection struct {
	Provider    string   `json:"provider"`
	DisplayName string   `json:"display_name"`
	Scopes      []string `json:"scopes_granted"`
	CreatedAt   string   `json:"created_at"`
	UpdatedAt   string   `json:"updated_at"`
	ExpiresAt   *string  `json:"expires_at"` // of the access token, which is renewed; null if unknown
}

// serveScript runs a handler for requests of scripts and writes its errors as JSON. It answers 401 if no user is signed
// in.
func (c *call) serveScript(serve func() error) error {
	if c.session == nil {
		c.W.Header().Set("WWW-Authenticate", "Cookie")
		kernel.WriteError(c.W, apierror.New(http.StatusUnauthorized, "unauthorized", "nobody is signed in"))
		return nil
	}
	if err := serve(); err != nil {
		kernel.WriteError(c.W, err)
	}
	return nil
}

// connections lists the user's connections. The response has the form token in a header.
func (c *call) connections() error {
	return c.serveScript(func() error {
		stored, err := c.Connections.Of(c.Context(), c.session.User.ID)
		if err != nil {
			return err
		}
		list := make([]connection, 0, len(stored))
		for _, row := range stored {
			response := connection{
				Provider: row.Provider, CreatedAt: timestamp(row.CreatedAt), UpdatedAt: timestamp(row.UpdatedAt),
			}
			if p, err := c.Brokers.Find(c.Context(), row.Provider); err == nil {
				response.Provider, response.DisplayName = p.Slug, p.DisplayName
			}
			if !row.ExpiresAt.IsZero() {
				expires := timestamp(row.ExpiresAt)
				response.ExpiresAt = &expires
			}
			if response.Scopes, err = c.Connections.Granted(c.Context(), row); err != nil {
				return err
			}
			list = append(list, response)
		}
		h := c.W.Header()
		h.Set("Content-Type", "application/json")
		h.Set("Cache-Control", "no-store")
		h.Set(tokenHeader, c.Token())
		return json.NewEncoder(c.W).Encode(map[string]any{"connections": list})
	})
}

// timestamp returns a time in the format of the JSON responses.
func timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// disconnect removes one of the user's connections.
func (c *call) disconnect() error {
	return c.serveScript(func() error {
		if err := c.Script(c.R.Header.Get(tokenHeader)); err != nil {
			return err
		}
		p, err := c.Brokers.Find(c.Context(), c.R.PathValue("provider"))
		if err != nil {
			return notConnected(err)
		}
		if err := c.Connections.Disconnect(c.Context(), c.session.User.ID, p); err != nil {
			return err
		}
		c.Audit(c.Context(), kernel.Event{
			Action: "broker_grant.revoked", Actor: c.session.User.ID, Address: c.Address(c.R),
			Detail: []string{"provider", p.Slug},
		})
		c.W.WriteHeader(http.StatusNoContent)
		return nil
	})
}

// notConnected returns an error with status 404 if err means that the provider does not exist, and otherwise err.
func notConnected(err error) error {
	if errors.Is(err, brokers.ErrUnknown) {
		return apierror.New(http.StatusNotFound, "not_found", "there is no such connection")
	}
	return err
}
