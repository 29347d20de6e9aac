package admin

import (
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/tokens"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// tokenRoutes returns the routes of tokens.
func (a *API) tokenRoutes() []route {
	return group("Tokens", []route{
		{rest.Route{
			Method: get, Path: "/tokens", Summary: "List valid tokens", Query: listParams(newest, tokenParams...),
			Answer: "Tokens",
		}, a.tokens},
		{rest.Route{
			Method: del, Path: "/tokens/{jti}", Summary: "Revoke a token",
		}, a.revokeToken},
		{rest.Route{
			Method: get, Path: "/issuances", Summary: "List issued tokens", Query: listParams(newest, tokenParams...),
			Answer: "Issuances",
		}, a.issuances},
		{rest.Route{
			Method: get, Path: "/issuances/{id}", Summary: "Read an issued token", Answer: "Issuance",
		}, a.issuance},
		{rest.Route{
			Method: del, Path: "/issuances/{id}", Summary: "Revoke an issued token",
		}, a.revokeIssuance},
	})
}

// issuance is the response about an issued token.
type issuance struct {
	ID            string   `json:"id"`
	JTI           string   `json:"jti"`
	User          string   `json:"subject_user_id,omitempty"`
	Client        string   `json:"client_id"`
	ConsentClient string   `json:"consent_client_id,omitempty"`
	Resource      string   `json:"resource_id,omitempty"`
	Scopes        []string `json:"scopes"`
	Kind          string   `json:"backend_kind"`
	Parent        string   `json:"parent_jti,omitempty"`
	IssuedAt      string   `json:"issued_at"`
	ExpiresAt     string   `json:"expires_at"`
	RevokedAt     *string  `json:"revoked_at"`
	JKT           string   `json:"dpop_jkt,omitempty"`
	Agent         string   `json:"agent_id,omitempty"`
	Chain         []string `json:"agent_chain,omitempty"`
}

// issuanceResponse returns the response about an issued token.
func issuanceResponse(i tokens.Issuance) issuance {
	response := issuance{
		ID: strconv.FormatInt(i.ID, 10), JTI: i.JTI, User: i.User, Client: i.Client, ConsentClient: i.ConsentClient,
		Resource: i.Resource,
		Scopes:   strings.Fields(i.Scope), Kind: i.Kind, Parent: i.Parent, IssuedAt: stamp(i.IssuedAt),
		ExpiresAt: stamp(i.ExpiresAt),
		JKT:       i.JKT, Agent: i.Agent, Chain: strings.Fields(i.Chain),
	}
	if !i.RevokedAt.IsZero() {
		revoked := stamp(i.RevokedAt)
		response.RevokedAt = &revoked
	}
	return response
}

// tokens serves GET /admin/tokens: the issuances whose tokens are neither expired nor revoked.
func (a *API) tokens(c *call) (any, error) {
	f, err := c.issuanceFilter()
	if err != nil {
		return nil, err
	}
	f.Live = true
	return a.listIssuances(c, "tokens", f)
}

// issuances serves GET /admin/issuances.
func (a *API) issuances(c *call) (any, error) {
	f, err := c.issuanceFilter()
	if err != nil {
		return nil, err
	}
	return a.listIssuances(c, "issuances", f)
}

// issuanceFilter returns the filter in the query parameters.
func (c *call) issuanceFilter() (f tokens.IssuanceFilter, err error) {
	f = tokens.IssuanceFilter{
		User: c.Text("user"), Client: c.Text("client"), JTI: c.Text("jti"),
		Resource: c.Text("resource"),
	}
	f.Since, err = c.Time("since")
	return f, err
}

// listIssuances returns the response for the requested page of the issuances that match a filter. In the response,
// the member with the given name contains the issuances.
func (a *API) listIssuances(c *call, name string, f tokens.IssuanceFilter) (any, error) {
	p, err := c.cursorPage(newest)
	if err != nil {
		return nil, err
	}
	if f.Resource != "" {
		if r, err := a.Catalog.Find(c.R.Context(), f.Resource); err == nil {
			f.Resource = r.ID // the filter may contain the slug
		}
	}
	ctx := c.R.Context()
	found, err := a.Tokens.Issuances(ctx, f, p)
	if err != nil {
		return nil, err
	}
	response, err := cursorResponse(c, name, found, p, issuanceResponse,
		func(limit int) (int, error) { return a.Tokens.TotalIssuances(ctx, f, limit) })
	if err != nil {
		return nil, err
	}
	m := newMentioned()
	for _, issuance := range found {
		m.addIssuance(issuance)
	}
	return a.names(c, response, m)
}

// addIssuance adds the ids that an issuance contains.
func (m mentioned) addIssuance(i tokens.Issuance) {
	addIDs(m.clients, i.Client, i.ConsentClient, i.Agent, i.Chain)
	addIDs(m.users, i.User)
	addIDs(m.resources, i.Resource)
}

// findIssuance returns the first issuance that matches a filter. If there is none, the error has status 404.
func (a *API) findIssuance(c *call, f tokens.IssuanceFilter) (i tokens.Issuance, err error) {
	found, err := a.Tokens.Issuances(c.R.Context(), f, kernel.Page{Limit: 1})
	if err == nil && len(found) == 0 {
		err = notFound("token")
	}
	if err != nil {
		return i, err
	}
	return found[0], nil
}

// issuanceByID returns the issuance whose id is in the path.
func (a *API) issuanceByID(c *call) (i tokens.Issuance, err error) {
	id, err := strconv.ParseInt(c.Path("id"), 10, 64)
	if err != nil || id <= 0 {
		return i, notFound("issuance")
	}
	return a.findIssuance(c, tokens.IssuanceFilter{ID: id})
}

// issuance serves GET /admin/issuances/{id}.
func (a *API) issuance(c *call) (any, error) {
	i, err := a.issuanceByID(c)
	if err != nil {
		return nil, err
	}
	return issuanceResponse(i), nil
}

// revokeIssuance serves DELETE /admin/issuances/{id}.
func (a *API) revokeIssuance(c *call) (any, error) {
	i, err := a.issuanceByID(c)
	if err != nil {
		return nil, err
	}
	return nil, a.revoke(c, i)
}

// revokeToken serves DELETE /admin/tokens/{jti}.
func (a *API) revokeToken(c *call) (any, error) {
	i, err := a.findIssuance(c, tokens.IssuanceFilter{JTI: c.Path("jti")})
	if err != nil {
		return nil, err
	}
	return nil, a.revoke(c, i)
}

// revoke revokes the token of an issuance.
func (a *API) revoke(c *call, i tokens.Issuance) error {
	if err := a.Tokens.RevokeToken(c.R.Context(), i.JTI, i.ExpiresAt, "admin"); err != nil {
		return err
	}
	c.note("issuance.revoked_admin", i.Client, "jti", i.JTI)
	return nil
}
