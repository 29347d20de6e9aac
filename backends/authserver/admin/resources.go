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
			Method: get, Path: "/resources", Summary: "List resources", Query: paged, Answer: "Resources",
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
		at := rest.Route{Path: "/resources/{id}/policy/" + p.path, Answer: p.schema}
		read, add, remove := at, at, at
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

func resourceResponse(r *resources.Resource) resource {
	response := resource{*r, stamp(r.CreatedAt), stamp(r.UpdatedAt)}
	if response.Scopes == nil {
		response.Scopes = []resources.Scope{}
	}
	return response
}

func (a *API) resources(c *call) (any, error) {
	all, err := a.Catalog.All(c.R.Context())
	return part(c, "resources", all, err, resourceResponse)
}

func (a *API) resource(c *call) (any, error) {
	r, err := a.find(c)
	return shown(c, r, err, resourceResponse, resourceTag)
}

// find returns the resource whose id or slug is in the path.
func (a *API) find(c *call) (*resources.Resource, error) {
	r, err := a.Catalog.Find(c.R.Context(), c.Path("id"))
	if err == nil && r.ID != c.Path("id") && r.Slug != c.Path("id") {
		err = resources.ErrUnknown
	}
	return r, err
}

// fields are the members of a request about a resource. Nil fields are left unchanged.
type fields struct {
	Slug        *string            `json:"slug"`
	URI         *string            `json:"uri"`
	Kind        *string            `json:"backend_kind"`
	DisplayName *string            `json:"display_name"`
	Scopes      *[]resources.Scope `json:"scopes"`
	Provider    *string            `json:"broker_provider_id"`
	Named       *string            `json:"broker_provider_slug"`
	Policy      *resources.Policy  `json:"policy"`
	Claims      *[]claims.Rule     `json:"claim_rules"`
}

func (f fields) apply(r *resources.Resource) {
	set(&r.Slug, f.Slug)
	set(&r.URI, f.URI)
	set(&r.Kind, f.Kind)
	set(&r.DisplayName, f.DisplayName)
	set(&r.Scopes, f.Scopes)
	set(&r.Provider, f.Provider)
	set(&r.Policy, f.Policy)
	set(&r.Claims, f.Claims)
}

// broker resolves the broker provider of the resource, which the request names by its slug or its id.
func (f *fields) broker(c *call, a *API) error {
	given := f.Provider
	if f.Named != nil {
		if f.Provider != nil {
			return apierror.New(http.StatusBadRequest, "invalid_value",
				"broker_provider_slug and broker_provider_id name the same: give one of them").With("broker_provider_slug")
		}
		given = f.Named
	}
	if given == nil || *given == "" {
		return nil
	}
	p, err := a.Brokers.Find(c.R.Context(), *given)
	if errors.Is(err, brokers.ErrUnknown) {
		return apierror.New(http.StatusBadRequest, "invalid_value",
			"broker_provider_id: there is no such provider").With("broker_provider_id")
	}
	if err == nil {
		f.Provider = &p.ID
	}
	return err
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

func (a *API) createResource(c *call) (any, error) {
	var body fields
	if err := c.Decode(&body); err != nil {
		return nil, err
	}
	if err := body.broker(c, a); err != nil {
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

func (a *API) patchResource(c *call) (any, error) {
	var body fields
	if err := c.Decode(&body); err != nil {
		return nil, err
	}
	if err := body.broker(c, a); err != nil {
		return nil, err
	}
	may, err := checkIfMatch(c, resourceTag)
	if err != nil {
		return nil, err
	}
	r, err := a.Catalog.Edit(c.R.Context(), c.Path("id"), func(r *resources.Resource) error {
		if err := may(r); err != nil {
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

func (a *API) deleteResource(c *call) (any, error) {
	may, err := checkIfMatch(c, resourceTag)
	if err != nil {
		return nil, err
	}
	r, err := a.find(c)
	if err != nil {
		return nil, err
	}
	if err := a.Catalog.Delete(c.R.Context(), r.ID, may); err != nil {
		return nil, err
	}
	c.note("resource.deleted", "", "resource", r.ID, "slug", r.Slug)
	return nil, nil
}

// policy describes one of the lists in a resource's policy.
type policy struct {
	path   string
	name   string // member of the response, whose schema is schema
	schema string
	member string // member of the request, whose schema is body
	body   string
	action string
	of     func(p *resources.Policy) *[]string
}

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

func (a *API) policy(p policy) func(c *call) (any, error) {
	return func(c *call) (any, error) {
		r, err := a.find(c)
		if err != nil {
			return nil, err
		}
		return map[string]any{p.name: words(*p.of(&r.Policy))}, nil
	}
}

const (
	maxPolicy      = 1000 // entries of a list
	maxPolicyValue = 2048
)

func (a *API) addPolicy(p policy) func(c *call) (any, error) {
	return func(c *call) (any, error) {
		var body map[string]string
		if err := c.Decode(&body); err != nil {
			return nil, err
		}
		value := body[p.member]
		if value == "" || len(body) != 1 || len(value) > maxPolicyValue {
			return nil, apierror.New(http.StatusBadRequest, "invalid_value",
				"the body must be an object with %s alone, of at most 2048 characters", p.member)
		}
		return a.editPolicy(c, p, value, "added", func(list []string) ([]string, error) {
			switch {
			case slices.Contains(list, value):
				return list, nil
			case len(list) >= maxPolicy:
				return nil, apierror.New(http.StatusUnprocessableEntity, "too_many", "the list has 1000 entries already")
			}
			return append(list, value), nil
		})
	}
}

func (a *API) removePolicy(p policy) func(c *call) (any, error) {
	return func(c *call) (any, error) {
		value := c.Path("value")
		if p.member == "url" {
			value = c.Text("url")
		}
		_, err := a.editPolicy(c, p, value, "removed", func(list []string) ([]string, error) {
			at := slices.Index(list, value)
			if at < 0 {
				return nil, notFound("entry")
			}
			return slices.Delete(list, at, at+1), nil
		})
		return nil, err
	}
}

func (a *API) editPolicy(
	c *call, p policy, value, done string, edit func(list []string) ([]string, error),
) (any, error) {
	var previous int
	var now []string
	r, err := a.Catalog.Edit(c.R.Context(), c.Path("id"), func(r *resources.Resource) (err error) {
		list := p.of(&r.Policy)
		previous = len(*list)
		*list, err = edit(*list)
		now = *list
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(now) != previous {
		c.note("resource.policy."+p.action+"."+done, "", "resource", r.ID, p.member, value)
	}
	return map[string]any{p.name: words(now)}, nil
}
