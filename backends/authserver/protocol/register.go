package protocol

import (
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// register serves the registration endpoint (RFC 7591).
func (p *Protocol) register(w http.ResponseWriter, r *http.Request) error {
	w.Header()["Cache-Control"] = noStore
	if p.Registrations != nil && !p.Registrations.Allow(kernel.Network(p.Address(r))) {
		return kernel.TooMany()
	}
	document, err := kernel.ReadBody(w, r, "application/json")
	if err != nil {
		return asMetadata(err)
	}
	c, secret, token, err := p.Clients.Register(r.Context(), document)
	if err != nil {
		return err
	}
	p.Count("clients_registered_total", c.Source)
	p.Audit(r.Context(), kernel.Event{
		Action: "client.registered", Client: c.ID, Address: p.Address(r),
		Detail: []string{"source", c.Source, "name", c.Name},
	})
	return p.writeClient(w, http.StatusCreated, c, secret, token)
}

// asMetadata converts the error for a malformed body to invalid_client_metadata (RFC 7591).
func asMetadata(err error) error {
	if e, ok := apierror.From(err); ok && e.Status == http.StatusBadRequest {
		return kernel.Refuse(clients.InvalidMetadata, "%s", e.Message)
	}
	return err
}

// writeClient sends the registration of a client (RFC 7591 section 3.2.1). The secret is the client's new secret, or ""
// if it has none or keeps the old one. The token is the client's registration access token.
func (p *Protocol) writeClient(w http.ResponseWriter, status int, c *clients.Client, secret, token string) error {
	text, err := json.Marshal(c.Document(secret, token, p.Issuer+RegisterPath+"/"+url.PathEscape(c.ID)))
	if err != nil {
		return err
	}
	return write(w, status, text)
}

// managedClient authenticates a request to the client configuration endpoint (RFC 7592) and returns the client.
func (p *Protocol) managedClient(w http.ResponseWriter, r *http.Request) (*clients.Client, error) {
	w.Header()["Cache-Control"] = noStore
	c, err := p.Clients.Manages(r.Context(), r.PathValue("client_id"), Bearer(r))
	if e, ok := apierror.From(err); ok && e.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
	}
	return c, err
}

// registered serves a read request to the client configuration endpoint (RFC 7592 section 2.1).
func (p *Protocol) registered(w http.ResponseWriter, r *http.Request) error {
	c, err := p.managedClient(w, r)
	if err != nil {
		return err
	}
	return p.writeClient(w, http.StatusOK, c, "", Bearer(r))
}

// replace changes the registration of a client (RFC 7592 section 2.2).
func (p *Protocol) replace(w http.ResponseWriter, r *http.Request) error {
	c, err := p.managedClient(w, r)
	if err != nil {
		return err
	}
	document, err := kernel.ReadBody(w, r, "application/json")
	if err != nil {
		return asMetadata(err)
	}
	var body struct {
		ID string `json:"client_id"`
	}
	if json.Unmarshal(document, &body) != nil || body.ID != c.ID {
		return kernel.Refuse(clients.InvalidMetadata, "client_id is required and must be equal to the client_id in the URL")
	}
	c, secret, err := p.Clients.Replace(r.Context(), c.ID, document)
	if err != nil {
		return err
	}
	p.Audit(r.Context(), kernel.Event{Action: "client.updated", Actor: c.ID, Client: c.ID, Address: p.Address(r)})
	return p.writeClient(w, http.StatusOK, c, secret, Bearer(r))
}

// unregister deletes a client at the client's request (RFC 7592 section 2.3).
func (p *Protocol) unregister(w http.ResponseWriter, r *http.Request) error {
	c, err := p.managedClient(w, r)
	if err != nil {
		return err
	}
	if _, err := p.Tokens.RevokeClient(r.Context(), c.ID); err != nil {
		return err
	}
	if err := p.Clients.Delete(r.Context(), c.ID); err != nil {
		return err
	}
	p.Audit(r.Context(), kernel.Event{Action: "client.deleted", Actor: c.ID, Client: c.ID, Address: p.Address(r)})
	w.WriteHeader(http.StatusNoContent)
	return nil
}
