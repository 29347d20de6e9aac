package admin

import (
	"errors"
	"net/http"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/authserver/brokers"
	"github.com/tollgate-gateway/tollgate/backends/authserver/claims"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// resourceRoutes returns the routes of resources.
func (a *API) resourceRoutes() []route {
	return group("Resources", append([]route{
		{rest.Route{
			Method: get, Path: "/resources", Summary: "List resources", Query: pageParams, Answer: "Resources",
		}, a.resources},
		{rest.Route{
			Method: post, Path: "/resources", Summary: "Create a resource", Body: "ResourceChange", Answer: "Resource",
			Status: http.StatusCreated, Errors: conflicts,
		}, a.createResource},
		{rest.Route{
			Method: get, Path: "/resources/{id}", Summary: "Read a resource", Answer: "Resource", Versioned: true,
		}, a.resource},
		{rest.Route{
			Method: patch, Path: "/resources/{id}", Summary: "Change a resource", Body: "ResourceChange",
			Answer: "Resource", Versioned: true, Errors: conflicts,
		}, a.patchResource},
		{rest.Route{
			Method: del, Path: "/resources/{id}", Summary: "Delete a resource", Versioned: true,
		}, a.deleteResource},
	}, a.policyRoutes()...))
}

// policyRoutes returns the routes that read and change the lists in the policy of a resource.
func (a *API) policyRoutes() []route {
	table := make([]route, 0, 3*len(policies))
	for _, p := range policies {
		base := rest.Route{Path: "/resources/{id}/policy/" + p.path, Answer: p.schema}
		read, add, remove := base, base, base
		read.Method, read.Summary = get, "Read a list of the policy of a resource"
		add.Method, add.Summary, add.Body = post, "Add to a list of the policy of a resource", p.body
		add.Status, add.Errors = http.StatusCreated, invalid
		remove.Method, remove.Summary, remove.Answer = del, "Remove from a list of the policy of a resource", ""
		if p.member == "url" {
			remove.Query = []rest.Param{{Name: "url", Schema: `{"type":"string"}`, Required: true}}
		} else {
			remove.Path += "/{value}"
		}
		table = append(table, route{read, a.policy(p)}, route{add, a.addPolicy(p)}, route{remove, a.removePolicy(p)})
	}
	return table
}

// resource is the response about a resource.
type resource struct {
	resources.Resource
	CreatedAt string `json:"created_at"`
	UpdatedAt string `json:"updated_at"`
}

// resourceResponse returns the response about a resource.
func resourceResponse(r *resources.Resource) resource {
	response := resource{*r, stamp(r.CreatedAt), stamp(r.UpdatedAt)}
	if response.Scopes == nil {
		response.Scopes = []resources.Scope{}
	}
	return response
}

// resources serves GET /admin/resources.
func (a *API) resources(c *call) (any, error) {
	all, err := a.Catalog.All(c.R.Context())
	return slicePage(c, "resources", all, err, resourceResponse)
}

// resource serves GET /admin/resources/{id}.
func (a *API) resource(c *call) (any, error) {
	r, err := a.find(c)
	return objectResponse(c, r, err, resourceResponse, resourceTag)
}

// find returns the resource whose id or slug is in the path.
func (a *API) find(c *call) (*resources.Resource, error) {
	idOrSlug := c.Path("id")
	r, err := a.Catalog.Find(c.R.Context(), idOrSlug)
	if err == nil && r.ID != idOrSlug && r.Slug != idOrSlug { // found by its URI
		err = resources.ErrUnknown
	}
	return r, err
}

// resourceBody is the body of a request about a resource. Nil fields are left unchanged.
type resourceBody struct {
	Slug         *string            `json:"slug"`
	URI          *string            `json:"uri"`
	Kind         *string            `json:"backend_kind"`
	DisplayName  *string            `json:"display_name"`
	Scopes       *[]resources.Scope `json:"scopes"`
	Provider     *string            `json:"broker_provider_id"`
	ProviderSlug *string            `json:"broker_provider_slug"`
	Policy       *resources.Policy  `json:"policy"`
	Claims       *[]claims.Rule     `json:"claim_rules"`
}

// apply sets the fields of r that the request contains.
func (f *resourceBody) apply(r *resources.Resource) {
	set(&r.Slug, f.Slug)
	set(&r.URI, f.URI)
	set(&r.Kind, f.Kind)
	set(&r.DisplayName, f.DisplayName)
	set(&r.Scopes, f.Scopes)
	set(&r.Provider, f.Provider)
	set(&r.Policy, f.Policy)
	set(&r.Claims, f.Claims)
}

// resolveProvider sets f.Provider to the id of the broker provider that the request names by its slug or its id.
func (f *resourceBody) resolveProvider(c *call, a *API) error {
	provider := f.Provider
	if f.ProviderSlug != nil {
		if f.Provider != nil {
			return apierror.New(http.StatusBadRequest, "invalid_value",
				"set broker_provider_slug or broker_provider_id, not both").With("broker_provider_slug")
		}
		provider = f.ProviderSlug
	}
	if provider == nil || *provider == "" {
		return nil
	}
	p, err := a.Brokers.Find(c.R.Context(), *provider)
	if errors.Is(err, brokers.ErrUnknown) {
		return apierror.New(http.StatusBadRequest, "invalid_value",
			"broker_provider_id: there is no such provider").With("broker_provider_id")
	}
	if err == nil {
		f.Provider = &p.ID
	}
	return err
}

// set sets *field to *value, unless value is nil.
func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

// createResource serves POST /admin/resources.
func (a *API) createResource(c *call) (any, error) {
	var body resourceBody
	if err := c.Decode(&body); err != nil {
		return nil, err
	}
	if err := body.resolveProvider(c, a); err != nil {
		return nil, err
	}
	r := &resources.Resource{Kind: resources.Mint}
	body.apply(r)
	if err := a.Catalog.Create(c.R.Context(), r); err != nil {
		return nil, err
	}
	c.note("resource.created", "", "resource", r.ID, "slug", r.Slug)
	return resourceResponse(r), nil
}

// patchResource serves PATCH /admin/resources/{id}.
func (a *API) patchResource(c *call) (any, error) {
	var body resourceBody
	ifMatch, err := decodeChange(c, &body, resourceTag)
	if err != nil {
		return nil, err
	}
	if err := body.resolveProvider(c, a); err != nil {
		return nil, err
	}
	r, err := a.Catalog.Edit(c.R.Context(), c.Path("id"), func(r *resources.Resource) error {
		if err := ifMatch(r); err != nil {
			return err
		}
		body.apply(r)
		return nil
	})
	if err != nil {
		return nil, err
	}
	c.note("resource.patched", "", "resource", r.ID)
	return tagged(c, resourceResponse(r), resourceTag(r)), nil
}

// deleteResource serves DELETE /admin/resources/{id}.
func (a *API) deleteResource(c *call) (any, error) {
	ifMatch, err := checkIfMatch(c, resourceTag)
	if err != nil {
		return nil, err
	}
	r, err := a.find(c)
	if err != nil {
		return nil, err
	}
	if err := a.Catalog.Delete(c.R.Context(), r.ID, ifMatch); err != nil {
		return nil, err
	}
	c.note("resource.deleted", "", "resource", r.ID, "slug", r.Slug)
	return nil, nil
}

// policy describes one of the lists in a resource's policy.
type policy struct {
	path   string                              // the end of the path of its routes
	name   string                              // the member of the response that contains the list
	schema string                              // the OpenAPI schema of the response
	member string                              // the member of the request that contains an entry
	body   string                              // the OpenAPI schema of the request
	action string                              // part of the action in the audit feed
	list   func(p *resources.Policy) *[]string // returns a pointer to the list in a policy
}

// policies describes all lists in a resource's policy.
var policies = []policy{
	{
		"exchange/allowed-clients", "allowed_client_ids", "AllowedClients", "client_id", "PolicyClient", "exchange",
		func(p *resources.Policy) *[]string { return &p.Exchange.AllowedClientIDs },
	},
	{
		"runtime/client-ids", "client_ids", "RuntimeClients", "client_id", "PolicyClient", "runtime",
		func(p *resources.Policy) *[]string { return &p.Runtime.ClientIDs },
	},
	{
		"connect/allowed-return-urls", "allowed_return_urls", "ReturnURLs", "url", "PolicyURL", "connect",
		func(p *resources.Policy) *[]string { return &p.Connect.AllowedReturnURLs },
	},
}

// policy returns the handler that reads a list of the policy of a resource.
func (a *API) policy(p policy) func(c *call) (any, error) {
	return func(c *call) (any, error) {
		r, err := a.find(c)
		if err != nil {
			return nil, err
		}
		return map[string]any{p.name: words(*p.list(&r.Policy))}, nil
	}
}

const (
	maxPolicy      = 1000 // entries of a list
	maxPolicyValue = 2048 // bytes of an entry
)

// addPolicy returns the handler that adds an entry to a list of the policy of a resource. An entry that the list
// already contains is not an error.
func (a *API) addPolicy(p policy) func(c *call) (any, error) {
	return func(c *call) (any, error) {
		var body map[string]string
		if err := c.Decode(&body); err != nil {
			return nil, err
		}
		value := body[p.member]
		if value == "" || len(body) != 1 || len(value) > maxPolicyValue {
			return nil, apierror.New(http.StatusBadRequest, "invalid_value",
				"the body must be an object whose only member is %s, a text of 1 to %d bytes", p.member, maxPolicyValue)
		}
		return a.editPolicy(c, p, value, "added", func(list []string) ([]string, error) {
			switch {
			case slices.Contains(list, value):
				return list, nil
			case len(list) >= maxPolicy:
				return nil, apierror.New(http.StatusUnprocessableEntity, "too_many", "the list already has %d entries",
					maxPolicy)
			}
			return append(list, value), nil
		})
	}
}

// removePolicy returns the handler that removes an entry from a list of the policy of a resource.
func (a *API) removePolicy(p policy) func(c *call) (any, error) {
	return func(c *call) (any, error) {
		value := c.Path("value")
		if p.member == "url" {
			value = c.Text("url")
		}
		_, err := a.editPolicy(c, p, value, "removed", func(list []string) ([]string, error) {
			index := slices.Index(list, value)
			if index < 0 {
				return nil, notFound("entry")
			}
			return slices.Delete(list, index, index+1), nil
		})
		return nil, err
	}
}

// editPolicy changes a list of the policy of a resource with edit, and returns the response with the new list. If the
// length of the list changes, an audit event is added. It contains the value, and its action ends with the verb.
func (a *API) editPolicy(
	c *call, p policy, value, verb string, edit func(list []string) ([]string, error),
) (any, error) {
	var previousLen int
	var edited []string
	r, err := a.Catalog.Edit(c.R.Context(), c.Path("id"), func(r *resources.Resource) (err error) {
		list := p.list(&r.Policy)
		previousLen = len(*list)
		*list, err = edit(*list)
		edited = *list
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(edited) != previousLen {
		c.note("resource.policy."+p.action+"."+verb, "", "resource", r.ID, p.member, value)
	}
	return map[string]any{p.name: words(edited)}, nil
}
