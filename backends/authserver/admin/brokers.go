package admin

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/brokers"
	"github.com/tollgate-gateway/tollgate/backends/authserver/connections"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// brokerRoutes returns the routes of broker providers and of users' connections to them.
func (a *API) brokerRoutes() []route {
	return group("Broker providers", []route{
		{rest.Route{
			Method: get, Path: "/broker-providers", Summary: "List providers", Query: pageParams, Answer: "BrokerProviders",
		}, a.brokers},
		{rest.Route{
			Method: post, Path: "/broker-providers", Summary: "Create a provider", Body: "BrokerProviderChange",
			Answer: "BrokerProvider", Status: http.StatusCreated, Errors: refused,
		}, a.createBroker},
		{rest.Route{
			Method: get, Path: "/broker-providers/{id}", Summary: "Read a provider", Answer: "BrokerProvider",
			Versioned: true,
		}, a.broker},
		{rest.Route{
			Method: patch, Path: "/broker-providers/{id}", Summary: "Change a provider", Body: "BrokerProviderChange",
			Answer: "BrokerProvider", Versioned: true, Errors: refused,
		}, a.patchBroker},
		{rest.Route{
			Method: del, Path: "/broker-providers/{id}", Summary: "Delete a provider",
			Description: "Refused with 409 while a resource uses it.", Versioned: true, Errors: conflicts,
		}, a.deleteBroker},
		{rest.Route{
			Method: put, Path: "/users/{id}/connections/{provider}",
			Summary: "Store the key of a user for a provider of the protocol api_key", Body: "ConnectionKey",
			Errors: invalid,
		}, a.connectKey},
		{rest.Route{
			Method: del, Path: "/grants/broker/{id}", Summary: "Remove the connection of a user to a provider",
		}, a.revokeConnection},
	})
}

// brokerBody is the body of a request about a broker provider. Nil fields are left unchanged.
type brokerBody struct {
	Slug        *string          `json:"slug"`
	DisplayName *string          `json:"display_name"`
	Protocol    *string          `json:"protocol"`
	Config      *json.RawMessage `json:"config_data"`
}

// providerResponse returns the response about a broker provider.
func providerResponse(p *brokers.Provider) map[string]any {
	return map[string]any{
		"id": p.ID, "slug": p.Slug, "display_name": p.DisplayName, "protocol": p.Protocol, "config_data": p.Config,
		"created_at": stamp(p.CreatedAt), "updated_at": stamp(p.UpdatedAt),
	}
}

// checkedProviderResponse returns the response about a broker provider, including the fault that this node finds in its
// configuration.
func (a *API) checkedProviderResponse(p *brokers.Provider) map[string]any {
	response := providerResponse(p)
	if wrong, ok := errors.AsType[*brokers.ConfigError](a.Brokers.Usable(p)); ok {
		response["config_fault"] = wrong.Fault
	}
	return response
}

// brokers serves GET /admin/broker-providers.
func (a *API) brokers(c *call) (any, error) {
	all, err := a.Brokers.All(c.R.Context())
	return slicePage(c, "broker_providers", all, err, a.checkedProviderResponse)
}

// broker serves GET /admin/broker-providers/{id}.
func (a *API) broker(c *call) (any, error) {
	p, err := a.Brokers.Find(c.R.Context(), c.Path("id"))
	return objectResponse(c, p, err, a.checkedProviderResponse, brokerTag)
}

// createBroker serves POST /admin/broker-providers.
func (a *API) createBroker(c *call) (any, error) {
	var body brokerBody
	if err := c.Decode(&body); err != nil {
		return nil, err
	}
	p := new(brokers.Provider)
	body.apply(p)
	set(&p.Protocol, body.Protocol)
	if err := a.Brokers.Create(c.R.Context(), p); err != nil {
		return nil, err
	}
	c.note("broker_provider.created", "", "provider", p.ID, "slug", p.Slug)
	return a.checkedProviderResponse(p), nil
}

// apply sets the fields of p that the request contains, except for the protocol.
func (b *brokerBody) apply(p *brokers.Provider) {
	set(&p.Slug, b.Slug)
	set(&p.DisplayName, b.DisplayName)
	set(&p.Config, b.Config)
}

// patchBroker serves PATCH /admin/broker-providers/{id}.
func (a *API) patchBroker(c *call) (any, error) {
	var body brokerBody
	ifMatch, err := decodeChange(c, &body, brokerTag)
	if err != nil {
		return nil, err
	}
	p, err := a.Brokers.Edit(c.R.Context(), c.Path("id"), func(p *brokers.Provider) error {
		if err := ifMatch(p); err != nil {
			return err
		}
		if body.Protocol != nil && *body.Protocol != p.Protocol {
			return apierror.New(http.StatusBadRequest, "invalid_value",
				"protocol cannot be changed: create another provider instead").With("protocol")
		}
		body.apply(p)
		return nil
	})
	if err != nil {
		return nil, err
	}
	c.note("broker_provider.patched", "", "provider", p.ID)
	return tagged(c, a.checkedProviderResponse(p), brokerTag(p)), nil
}

// deleteBroker serves DELETE /admin/broker-providers/{id}.
func (a *API) deleteBroker(c *call) (any, error) {
	ifMatch, err := checkIfMatch(c, brokerTag)
	if err != nil {
		return nil, err
	}
	p, err := a.Brokers.Find(c.R.Context(), c.Path("id"))
	if err == nil {
		err = a.Brokers.Delete(c.R.Context(), p.ID, ifMatch)
	}
	if err != nil {
		return nil, err
	}
	c.note("broker_provider.deleted", "", "provider", p.ID, "slug", p.Slug)
	return nil, nil
}

// connectKey stores a user's API key for a provider of the protocol api_key.
func (a *API) connectKey(c *call) (any, error) {
	var body struct {
		Key string `json:"api_key"`
	}
	if err := c.Decode(&body); err != nil {
		return nil, err
	}
	u, err := a.Users.Find(c.R.Context(), c.Path("id"))
	if err != nil {
		return nil, err
	}
	p, err := a.Brokers.Find(c.R.Context(), c.Path("provider"))
	if err == nil {
		err = a.Connections.SetKey(c.R.Context(), u.ID, p, body.Key)
	}
	if err != nil {
		return nil, err
	}
	c.note("broker_grant.created", "", "user", u.ID, "provider", p.Slug)
	return nil, nil
}

// revokeConnection serves DELETE /admin/grants/broker/{id}.
func (a *API) revokeConnection(c *call) (any, error) {
	removed, err := a.Connections.Remove(c.R.Context(), c.Path("id"))
	if err != nil {
		return nil, err
	}
	c.note("broker_grant.revoked_admin", "", "user", removed.User, "provider", removed.Provider)
	return nil, nil
}

// connectionsOf returns the connections of a user, without credentials.
func (a *API) connectionsOf(c *call, user string) ([]map[string]any, error) {
	found, err := a.Connections.Of(c.R.Context(), user)
	if err != nil {
		return nil, err
	}
	rows := make([]map[string]any, len(found))
	for i, connection := range found {
		if rows[i], err = a.connectionResponse(c, connection); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// connectionResponse returns the response about a user's connection to a broker provider, without credentials.
func (a *API) connectionResponse(c *call, connection *connections.Connection) (map[string]any, error) {
	scopes, err := a.Connections.Granted(c.R.Context(), connection)
	if err != nil {
		return nil, err
	}
	provider := connection.Provider
	if p, err := a.Brokers.Find(c.R.Context(), connection.Provider); err == nil {
		provider = p.Slug
	}
	response := map[string]any{
		"id": connection.ID, "user_id": connection.User, "provider": provider, "provider_id": connection.Provider, "scopes_granted": scopes,
		"upstream_scopes": words(connection.Scope),
		"created_at":      stamp(connection.CreatedAt), "updated_at": stamp(connection.UpdatedAt), "expires_at": nil,
	}
	if connection.ExpiresAt != (time.Time{}) {
		response["expires_at"] = stamp(connection.ExpiresAt)
	}
	return response, nil
}
