package admin

import (
	"net/http"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/authserver/claims"
	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/rest"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// clientRoutes returns the routes of clients.
func (a *API) clientRoutes() []route {
	return group("Clients", []route{
		{rest.Route{
			Method: get, Path: "/clients", Summary: "List clients",
			Query: listParams(oldest, searchParam, choice("status", clients.Active, clients.Suspended, clients.Revoked),
				choice("source", clients.Admin, clients.DCR, clients.Document), choice("agent", "true", "false")),
			Answer: "Clients",
		}, a.clients},
		{rest.Route{
			Method: post, Path: "/clients", Summary: "Create a client",
			Description: "Only this response contains the secret.", Body: "NewClient", Answer: "CreatedClient",
			Status: http.StatusCreated, Errors: conflicts,
		}, a.createClient},
		{rest.Route{
			Method: get, Path: "/clients/{id}", Summary: "Read a client", Answer: "Client", Versioned: true,
		}, a.client},
		{rest.Route{
			Method: patch, Path: "/clients/{id}", Summary: "Change a client", Body: "ClientChange", Answer: "Client",
			Versioned: true, Errors: conflicts,
		}, a.patchClient},
		{rest.Route{
			Method: del, Path: "/clients/{id}", Summary: "Delete a client",
			Description: "Refused with 409 while it has valid tokens, unless force is true.",
			Query:       []rest.Param{{Name: "force", Schema: `{"type":"boolean","default":false}`}}, Versioned: true,
			Errors: conflicts,
		}, a.deleteClient},
		{rest.Route{
			Method: patch, Path: "/clients/{id}/suspend", Summary: "Suspend a client", Answer: "ClientStatus",
			Versioned: true, Errors: conflicts,
		}, a.changeClientStatus(clients.Suspended, "client.suspended")},
		{rest.Route{
			Method: patch, Path: "/clients/{id}/reactivate", Summary: "Reactivate a client", Answer: "ClientStatus",
			Versioned: true, Errors: conflicts,
		}, a.changeClientStatus(clients.Active, "client.reactivated")},
		{rest.Route{
			Method: patch, Path: "/clients/{id}/revoke", Summary: "Revoke a client and its tokens permanently",
			Answer: "ClientStatus", Versioned: true, Errors: conflicts,
		}, a.changeClientStatus(clients.Revoked, "client.revoked")},
		{rest.Route{
			Method: post, Path: "/clients/{id}/rotate-secret", Summary: "Replace the secret of a client",
			Answer: "ClientSecret", Errors: conflicts,
		}, a.rotateSecret},
		{rest.Route{
			Method: post, Path: "/clients/{id}/refresh", Summary: "Fetch the metadata document of a client",
			Answer: "Client", Errors: refused,
		}, a.refreshClient},
	})
}

// clientMembers are the members that all requests and responses about a client have under the same names.
type clientMembers struct {
	Redirects  []string `json:"redirect_uris"`
	Grants     []string `json:"grant_types"`
	Responses  []string `json:"response_types"`
	AuthMethod string   `json:"token_endpoint_auth_method"`
	Scope      string   `json:"scope"`
	Agent      bool     `json:"agent"`
	AgentText  string   `json:"agent_description"`
	FirstParty bool     `json:"first_party"`
}

// client is the response about a client.
type client struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	clientMembers

	// The following members are only in the response about a single client.
	JWKS                 clients.RawJSON `json:"jwks,omitempty"`
	JWKSURI              string          `json:"jwks_uri,omitempty"`
	Logout               []string        `json:"post_logout_redirect_uris,omitempty"`
	BackchannelLogoutURI string          `json:"backchannel_logout_uri,omitempty"`
	Claims               []claims.Rule   `json:"claim_rules,omitempty"`

	Status     string `json:"status"`
	Source     string `json:"registration_source"`
	URL        string `json:"cimd_url,omitempty"`         // the URL of the metadata document
	FreshUntil string `json:"cimd_fresh_until,omitempty"` // see clients.Client.FreshUntil
	IssuedAt   string `json:"issued_at"`
	UpdatedAt  string `json:"updated_at"`
}

// createdClient is the response about a new client.
type createdClient struct {
	Name string `json:"client_name"`
	clientMembers
	ID       string `json:"client_id"`
	Secret   string `json:"client_secret,omitempty"` // only shown in this response
	Status   string `json:"status"`
	Source   string `json:"registration_source"`
	IssuedAt string `json:"issued_at"`
}

// clientResponse returns a client with the members that all responses about clients have.
func clientResponse(c *clients.Client) client {
	response := client{
		ID: c.ID, Name: c.Name, clientMembers: clientMembers{
			Redirects: words(c.Redirects), Grants: words(c.Grants), Responses: words(c.Responses),
			AuthMethod: c.AuthMethod, Scope: strings.Join(c.Scope, " "), Agent: c.Agent, AgentText: c.AgentText,
			FirstParty: c.FirstParty(),
		},
		Status: c.Status, Source: c.Source, IssuedAt: stamp(c.IssuedAt), UpdatedAt: stamp(c.UpdatedAt),
	}
	if c.Source == clients.Document {
		response.URL, response.FreshUntil = c.ID, stamp(c.FreshUntil)
	}
	return response
}

// clients serves GET /admin/clients.
func (a *API) clients(c *call) (any, error) {
	p, err := c.cursorPage(oldest)
	if err != nil {
		return nil, err
	}
	var f clients.Filter
	if f.Status, err = c.Choice("status", "", clients.Active, clients.Suspended, clients.Revoked); err != nil {
		return nil, err
	}
	if f.Source, err = c.Choice("source", "", clients.Admin, clients.DCR, clients.Document); err != nil {
		return nil, err
	}
	if f.Agent, err = c.Choice("agent", "", "true", "false"); err != nil {
		return nil, err
	}
	if f.Text, err = c.search(); err != nil {
		return nil, err
	}
	ctx := c.R.Context()
	found, err := a.Clients.List(ctx, f, p)
	if err != nil {
		return nil, err
	}
	return cursorResponse(c, "clients", found, p, clientResponse, func(limit int) (int, error) {
		return a.Clients.Total(ctx, f, limit)
	})
}

// client serves GET /admin/clients/{id}.
func (a *API) client(c *call) (any, error) {
	found, err := a.Clients.Find(c.R.Context(), c.Path("id"))
	return objectResponse(c, found, err, fullClientResponse, clientTag)
}

// fullClientResponse returns a client with the members that only the response about a single client has.
func fullClientResponse(c *clients.Client) client {
	response := clientResponse(c)
	response.JWKS, response.JWKSURI, response.Logout, response.BackchannelLogoutURI = c.Metadata.JWKS, c.Metadata.JWKSURI,
		c.Metadata.Logout, c.Metadata.BackchannelLogout
	response.Claims = c.ClaimRules()
	return response
}

// minSecret is the minimum number of characters of a secret that a request sets.
const minSecret = 16

// createClient serves POST /admin/clients.
func (a *API) createClient(c *call) (any, error) {
	var body struct {
		clientMembers
		ID                   string          `json:"client_id"`
		Secret               string          `json:"client_secret"`
		Name                 string          `json:"client_name"`
		JWKS                 clients.RawJSON `json:"jwks"`
		JWKSURI              string          `json:"jwks_uri"`
		Logout               []string        `json:"post_logout_redirect_uris"`
		BackchannelLogoutURI string          `json:"backchannel_logout_uri"`
		Claims               []claims.Rule   `json:"claim_rules"`
	}
	if err := c.Decode(&body); err != nil {
		return nil, err
	}
	if len(body.Secret) > 0 && len(body.Secret) < minSecret {
		return nil, apierror.New(http.StatusBadRequest, clients.InvalidMetadata,
			"client_secret must have at least %d characters; omit it to have one generated", minSecret).With("client_secret")
	}
	created, err := a.Clients.Client(&clients.Registration{
		Name: body.Name, Redirects: body.Redirects, Grants: body.Grants, Responses: body.Responses,
		AuthMethod: body.AuthMethod, Agent: body.Agent, AgentText: body.AgentText,
		Metadata: clients.Metadata{
			JWKS: body.JWKS, JWKSURI: body.JWKSURI, Logout: body.Logout, BackchannelLogout: body.BackchannelLogoutURI,
			FirstParty: body.FirstParty, Claims: body.Claims,
		},
	}, clients.Admin)
	if err != nil {
		return nil, err
	}
	if created.Scope, err = resources.ParseScope(body.Scope); err != nil {
		return nil, err
	}
	secret, err := a.Clients.CreateGiven(c.R.Context(), created, clients.Given{ID: body.ID, Secret: body.Secret})
	if store.IsUniqueViolation(err) {
		return nil, apierror.New(http.StatusConflict, "conflict",
			"a client with this client_id already exists").With("client_id")
	}
	if err != nil {
		return nil, err
	}
	a.Count("clients_registered_total", clients.Admin)
	c.note("client.created_admin", created.ID, "name", created.Name)
	response := clientResponse(created)
	return createdClient{
		response.Name, response.clientMembers, response.ID, secret, response.Status, response.Source, response.IssuedAt,
	}, nil
}

// patchClient serves PATCH /admin/clients/{id}.
func (a *API) patchClient(c *call) (any, error) {
	var body struct {
		Name                 *string        `json:"client_name"`
		Redirects            *[]string      `json:"redirect_uris"`
		Grants               *[]string      `json:"grant_types"`
		Scope                *string        `json:"scope"`
		BackchannelLogoutURI *string        `json:"backchannel_logout_uri"`
		FirstParty           *bool          `json:"first_party"`
		Claims               *[]claims.Rule `json:"claim_rules"`
	}
	ifMatch, err := decodeChange(c, &body, clientTag)
	if err != nil {
		return nil, err
	}
	edited, err := a.Clients.Edit(c.R.Context(), c.Path("id"), func(stored *clients.Client) (err error) {
		if err := ifMatch(stored); err != nil {
			return err
		}
		if stored.Source == clients.Document && (body.Name != nil || body.Redirects != nil || body.Grants != nil ||
			body.BackchannelLogoutURI != nil) {
			return apierror.New(http.StatusConflict, "in_document",
				"client_name, redirect_uris, grant_types and backchannel_logout_uri cannot be changed here, since the metadata document of the client defines them")
		}
		set(&stored.Name, body.Name)
		set(&stored.Redirects, body.Redirects)
		set(&stored.Metadata.BackchannelLogout, body.BackchannelLogoutURI)
		if body.Grants != nil {
			stored.Grants, stored.Responses = *body.Grants, nil
			if stored.May(clients.GrantCode) {
				stored.Responses = []string{"code"}
			}
		}
		if body.FirstParty != nil {
			if *body.FirstParty && stored.SelfDeclared() {
				return apierror.New(http.StatusConflict, "self_declared",
					"first_party is only for clients that an administrator created; this client registered itself or is described by its metadata document")
			}
			stored.Metadata.FirstParty = *body.FirstParty
		}
		if body.Claims != nil {
			if len(*body.Claims) > 0 && stored.SelfDeclared() {
				return apierror.New(http.StatusConflict, "self_declared",
					"claim_rules is only for clients that an administrator created; set the claim_rules of the resource instead")
			}
			stored.Metadata.Claims = *body.Claims
		}
		if body.Scope != nil {
			if stored.Scope, err = resources.ParseScope(*body.Scope); err != nil {
				return err
			}
		}
		return a.Clients.Check(stored)
	})
	if err != nil {
		return nil, err
	}
	c.note("client.updated", edited.ID)
	return tagged(c, clientResponse(edited), clientTag(edited)), nil
}

// deleteClient serves DELETE /admin/clients/{id}.
func (a *API) deleteClient(c *call) (any, error) {
	ctx, id := c.R.Context(), c.Path("id")
	force, err := c.Choice("force", "false", "true")
	if err != nil {
		return nil, err
	}
	ifMatch, err := checkIfMatch(c, clientTag)
	if err != nil {
		return nil, err
	}
	stored, err := a.Clients.Stored(ctx, id)
	if err == nil {
		err = ifMatch(stored) // checked before its tokens are revoked
	}
	if err != nil {
		return nil, err
	}
	if force == "false" {
		live, err := a.Tokens.LiveOf(ctx, id)
		if err != nil {
			return nil, err
		}
		if live > 0 {
			return nil, apierror.New(http.StatusConflict, "live_tokens",
				"the client has %d valid tokens; add ?force=true to revoke them", live)
		}
	}
	if _, err := a.Tokens.RevokeClient(ctx, id); err != nil {
		return nil, err
	}
	if err := a.Clients.Delete(ctx, id, ifMatch); err != nil {
		return nil, err
	}
	c.note("client.deleted", id)
	return nil, nil
}

// changeClientStatus returns the handler that sets the status of a client. The action is that of the audit event.
func (a *API) changeClientStatus(status, action string) func(c *call) (any, error) {
	return func(c *call) (any, error) {
		ifMatch, err := checkIfMatch(c, clientTag)
		if err != nil {
			return nil, err
		}
		changed, err := a.Clients.SetStatus(c.R.Context(), c.Path("id"), status, ifMatch)
		if err != nil {
			return nil, err
		}
		if status == clients.Revoked {
			if _, err := a.Tokens.RevokeClient(c.R.Context(), changed.ID); err != nil {
				return nil, err
			}
		}
		c.note(action, changed.ID)
		return tagged(c, map[string]string{"status": changed.Status}, clientTag(changed)), nil
	}
}

// refreshClient fetches the metadata document of a client now.
func (a *API) refreshClient(c *call) (any, error) {
	refreshed, err := a.Clients.Refresh(c.R.Context(), c.Path("id"))
	if refusal, ok := apierror.From(err); ok && refusal.Code == kernel.InvalidClient {
		return nil, apierror.New(http.StatusUnprocessableEntity, "invalid_document", "%s", refusal.Message)
	}
	if err != nil {
		return nil, err
	}
	c.note("client.refreshed", refreshed.ID)
	return clientResponse(refreshed), nil
}

// rotateSecret serves POST /admin/clients/{id}/rotate-secret.
func (a *API) rotateSecret(c *call) (any, error) {
	id := c.Path("id")
	secret, err := a.Clients.RotateSecret(c.R.Context(), id)
	if err != nil {
		return nil, err
	}
	c.note("client.secret_rotated", id)
	return map[string]string{"client_id": id, "client_secret": secret}, nil
}
