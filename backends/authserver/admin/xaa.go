package admin

import (
	"errors"
	"net/http"

	"github.com/tollgate-gateway/tollgate/backends/authserver/xaa"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/rest"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// enterpriseRoutes returns the routes of enterprise-managed authorization.
func (a *API) enterpriseRoutes() []route {
	return group("Enterprise-managed authorization", []route{
		{rest.Route{
			Method: get, Path: "/idps", Summary: "List identity providers", Query: pageParams, Answer: "IdPs",
		}, a.idps},
		{rest.Route{
			Method: post, Path: "/idps", Summary: "Create an identity provider", Body: "IdPBody", Answer: "IdP",
			Status: http.StatusCreated, Errors: conflicts,
		}, a.createIdP},
		{rest.Route{
			Method: get, Path: "/idps/{id}", Summary: "Read an identity provider", Answer: "IdP", Versioned: true,
		}, a.idp},
		{rest.Route{
			Method: put, Path: "/idps/{id}", Summary: "Replace an identity provider", Body: "IdPBody", Answer: "IdP",
			Versioned: true, Errors: conflicts,
		}, a.replaceIdP},
		{rest.Route{
			Method: del, Path: "/idps/{id}", Summary: "Delete an identity provider with its policies and mappings",
			Versioned: true,
		}, a.deleteIdP},
		{rest.Route{
			Method: post, Path: "/idps/{id}/refresh-keys", Summary: "Fetch the keys of an identity provider",
			Answer: "IdP", Errors: invalid,
		}, a.refreshKeys},
		{rest.Route{
			Method: get, Path: "/xaa/policies", Summary: "List policies", Query: append([]rest.Param{idpParam}, pageParams...),
			Answer: "Policies",
		}, a.xaaPolicies},
		{rest.Route{
			Method: post, Path: "/xaa/policies", Summary: "Create a policy", Body: "PolicyBody", Answer: "Policy",
			Status: http.StatusCreated, Errors: conflicts,
		}, a.createXAAPolicy},
		{rest.Route{
			Method: get, Path: "/xaa/policies/{id}", Summary: "Read a policy", Answer: "Policy", Versioned: true,
		}, a.xaaPolicy},
		{rest.Route{
			Method: put, Path: "/xaa/policies/{id}", Summary: "Replace a policy", Body: "PolicyBody", Answer: "Policy",
			Versioned: true, Errors: conflicts,
		}, a.replaceXAAPolicy},
		{rest.Route{
			Method: del, Path: "/xaa/policies/{id}", Summary: "Delete a policy", Versioned: true,
		}, a.deleteXAAPolicy},
		{rest.Route{
			Method: get, Path: "/xaa/subject-mappings", Summary: "List subject mappings",
			Query: listParams(oldest, idpParam, namesParam), Answer: "Mappings",
		}, a.mappings},
		{rest.Route{
			Method: post, Path: "/xaa/subject-mappings", Summary: "Create a subject mapping", Body: "NewMapping",
			Answer: "Mapping", Status: http.StatusCreated, Errors: conflicts,
		}, a.createMapping},
		{rest.Route{
			Method: del, Path: "/xaa/subject-mappings/{id}", Summary: "Delete a subject mapping",
		}, a.deleteMapping},
	})
}

// idpBody is the body of a request about an identity provider. Enabled defaults to true.
type idpBody struct {
	Name     string `json:"name"`
	Issuer   string `json:"issuer"`
	JWKSURI  string `json:"jwks_uri"`
	Audience string `json:"audience"`
	Enabled  *bool  `json:"enabled"`
}

// row returns the identity provider that the request describes. The id is empty for a new one.
func (b *idpBody) row(id string) *xaa.IdP {
	return &xaa.IdP{
		ID: id, Name: b.Name, Issuer: b.Issuer, JWKSURI: b.JWKSURI, Audience: b.Audience,
		Enabled: b.Enabled == nil || *b.Enabled,
	}
}

// idpResponse returns the response about an identity provider.
func idpResponse(i *xaa.IdP) map[string]any {
	return map[string]any{
		"id": i.ID, "name": i.Name, "issuer": i.Issuer, "jwks_uri": i.JWKSURI, "audience": i.Audience, "enabled": i.Enabled,
		"created_at": stamp(i.CreatedAt), "updated_at": stamp(i.UpdatedAt),
	}
}

// queryPage returns the response for the requested page of a list. It calls read with a limit that is one more than
// requested, to detect a next page, and converts the rows with convert.
func queryPage[T any](
	c *call, name string, read func(limit, offset int) ([]T, error), convert func(T) map[string]any,
) (any, error) {
	limit, offset, err := c.limitOffset()
	if err != nil {
		return nil, err
	}
	rows, err := read(limit+1, offset)
	if err != nil {
		return nil, err
	}
	rows, hasMore := store.Cut(rows, limit)
	return pageResponse(name, converted(rows, convert), limit, offset, hasMore), nil
}

// idps serves GET /admin/idps.
func (a *API) idps(c *call) (any, error) {
	return queryPage(c, "idps", func(limit, offset int) ([]*xaa.IdP, error) {
		return a.XAA.IdPs(c.R.Context(), limit, offset)
	}, idpResponse)
}

// idp serves GET /admin/idps/{id}.
func (a *API) idp(c *call) (any, error) {
	i, err := a.XAA.IdP(c.R.Context(), c.Path("id"))
	return objectResponse(c, i, err, idpResponse, idpTag)
}

// createIdP serves POST /admin/idps.
func (a *API) createIdP(c *call) (any, error) {
	var body idpBody
	if err := c.Decode(&body); err != nil {
		return nil, err
	}
	i := body.row("")
	if err := a.XAA.CreateIdP(c.R.Context(), i); err != nil {
		return nil, err
	}
	c.note("idp.created", "", "idp", i.ID, "issuer", i.Issuer)
	return idpResponse(i), nil
}

// replaceIdP serves PUT /admin/idps/{id}.
func (a *API) replaceIdP(c *call) (any, error) {
	var body idpBody
	ifMatch, err := decodeChange(c, &body, idpTag)
	if err != nil {
		return nil, err
	}
	i := body.row(c.Path("id"))
	if err := a.XAA.ReplaceIdP(c.R.Context(), i, ifMatch); err != nil {
		return nil, err
	}
	c.note("idp.updated", "", "idp", i.ID, "issuer", i.Issuer)
	return a.idp(c)
}

// deleteIdP serves DELETE /admin/idps/{id}.
func (a *API) deleteIdP(c *call) (any, error) {
	ifMatch, err := checkIfMatch(c, idpTag)
	if err != nil {
		return nil, err
	}
	id := c.Path("id")
	if err := a.XAA.DeleteIdP(c.R.Context(), id, ifMatch); err != nil {
		return nil, err
	}
	c.note("idp.deleted", "", "idp", id)
	return nil, nil
}

// refreshKeys fetches the keys of an identity provider now.
func (a *API) refreshKeys(c *call) (any, error) {
	id := c.Path("id")
	err := a.XAA.RefreshKeys(c.R.Context(), id)
	if failed, ok := errors.AsType[*xaa.KeysError](err); ok {
		return nil, apierror.New(http.StatusUnprocessableEntity, "keys_unavailable", "%s", failed.Error())
	}
	if err != nil {
		return nil, err
	}
	c.note("idp.updated", "", "idp", id, "keys", "fetched")
	return a.idp(c)
}

// policyBody is the body of a request about a policy. Enabled defaults to true.
type policyBody struct {
	Name      string   `json:"name"`
	IdP       string   `json:"idp_id"`
	ClientIDs []string `json:"client_ids"`
	Scopes    []string `json:"scopes"`
	Resources []string `json:"resources"`
	Enabled   *bool    `json:"enabled"`
}

// row returns the policy that the request describes. The id is empty for a new one.
func (b *policyBody) row(id string) *xaa.Policy {
	return &xaa.Policy{
		ID: id, Name: b.Name, IdP: b.IdP, ClientIDs: b.ClientIDs, Scopes: b.Scopes, Resources: b.Resources,
		Enabled: b.Enabled == nil || *b.Enabled,
	}
}

// xaaPolicyResponse returns the response about a policy.
func xaaPolicyResponse(p *xaa.Policy) map[string]any {
	return map[string]any{
		"id": p.ID, "name": p.Name, "idp_id": p.IdP, "client_ids": words(p.ClientIDs), "scopes": words(p.Scopes),
		"resources": words(p.Resources), "enabled": p.Enabled,
		"created_at": stamp(p.CreatedAt), "updated_at": stamp(p.UpdatedAt),
	}
}

// xaaPolicies serves GET /admin/xaa/policies.
func (a *API) xaaPolicies(c *call) (any, error) {
	return queryPage(c, "policies", func(limit, offset int) ([]*xaa.Policy, error) {
		return a.XAA.Policies(c.R.Context(), c.Text("idp_id"), limit, offset)
	}, xaaPolicyResponse)
}

// xaaPolicy serves GET /admin/xaa/policies/{id}.
func (a *API) xaaPolicy(c *call) (any, error) {
	p, err := a.XAA.Policy(c.R.Context(), c.Path("id"))
	return objectResponse(c, p, err, xaaPolicyResponse, policyTag)
}

// createXAAPolicy serves POST /admin/xaa/policies.
func (a *API) createXAAPolicy(c *call) (any, error) {
	var body policyBody
	if err := c.Decode(&body); err != nil {
		return nil, err
	}
	p := body.row("")
	if err := a.XAA.CreatePolicy(c.R.Context(), p); err != nil {
		return nil, err
	}
	c.note("xaa_policy.created", "", "policy", p.ID, "idp", p.IdP)
	return xaaPolicyResponse(p), nil
}

// replaceXAAPolicy serves PUT /admin/xaa/policies/{id}.
func (a *API) replaceXAAPolicy(c *call) (any, error) {
	var body policyBody
	ifMatch, err := decodeChange(c, &body, policyTag)
	if err != nil {
		return nil, err
	}
	p := body.row(c.Path("id"))
	if err := a.XAA.ReplacePolicy(c.R.Context(), p, ifMatch); err != nil {
		return nil, err
	}
	c.note("xaa_policy.updated", "", "policy", p.ID, "idp", p.IdP)
	return a.xaaPolicy(c)
}

// deleteXAAPolicy serves DELETE /admin/xaa/policies/{id}.
func (a *API) deleteXAAPolicy(c *call) (any, error) {
	ifMatch, err := checkIfMatch(c, policyTag)
	if err != nil {
		return nil, err
	}
	id := c.Path("id")
	if err := a.XAA.DeletePolicy(c.R.Context(), id, ifMatch); err != nil {
		return nil, err
	}
	c.note("xaa_policy.deleted", "", "policy", id)
	return nil, nil
}

// mappingResponse returns the response about a subject mapping.
func mappingResponse(m *xaa.Mapping) map[string]any {
	return map[string]any{
		"id": m.ID, "idp_id": m.IdP, "idp_subject": m.Subject, "local_user_id": m.User,
		"created_at": stamp(m.CreatedAt),
	}
}

// mappings serves GET /admin/xaa/subject-mappings.
func (a *API) mappings(c *call) (any, error) {
	p, err := c.cursorPage(oldest)
	if err != nil {
		return nil, err
	}
	ctx, idp := c.R.Context(), c.Text("idp_id")
	found, err := a.XAA.Mappings(ctx, idp, p)
	if err != nil {
		return nil, err
	}
	response, err := cursorResponse(c, "subject_mappings",
		found, p, mappingResponse, func(limit int) (int, error) { return a.XAA.TotalMappings(ctx, idp, limit) })
	if err != nil {
		return nil, err
	}
	m := newMentioned()
	for _, mapping := range found {
		addIDs(m.users, mapping.User)
	}
	return a.names(c, response, m)
}

// createMapping serves POST /admin/xaa/subject-mappings.
func (a *API) createMapping(c *call) (any, error) {
	var body struct {
		IdP     string `json:"idp_id"`
		Subject string `json:"idp_subject"`
		User    string `json:"local_user_id"`
	}
	if err := c.Decode(&body); err != nil {
		return nil, err
	}
	m := &xaa.Mapping{IdP: body.IdP, Subject: body.Subject, User: body.User}
	if err := a.XAA.CreateMapping(c.R.Context(), m); err != nil {
		return nil, err
	}
	c.note("subject_mapping.created", "", "idp", m.IdP, "subject", m.Subject, "user", m.User)
	return mappingResponse(m), nil
}

// deleteMapping serves DELETE /admin/xaa/subject-mappings/{id}.
func (a *API) deleteMapping(c *call) (any, error) {
	m, err := a.XAA.DeleteMapping(c.R.Context(), c.Path("id"))
	if err != nil {
		return nil, err
	}
	c.note("subject_mapping.deleted", "", "idp", m.IdP, "subject", m.Subject, "user", m.User)
	return nil, nil
}
