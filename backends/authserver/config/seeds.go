package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tollgate-gateway/tollgate/backends/authserver/claims"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
)

// Client is an entry of the list clients: the body of POST /admin/clients with a fixed client_id. It has no secret: the
// administration API generates secrets, and shows each of them only once.
type Client struct {
	ID                   string          `json:"client_id"`
	Name                 string          `json:"client_name,omitempty"`
	Redirects            []string        `json:"redirect_uris,omitempty"`
	Grants               []string        `json:"grant_types,omitempty"`
	Responses            []string        `json:"response_types,omitempty"`
	AuthMethod           string          `json:"token_endpoint_auth_method,omitempty"` // none or private_key_jwt; default: none
	Scope                string          `json:"scope,omitempty"`
	JWKS                 json.RawMessage `json:"jwks,omitempty"`
	Logout               []string        `json:"post_logout_redirect_uris,omitempty"` // where users may be sent after logout
	BackchannelLogoutURI string          `json:"backchannel_logout_uri,omitempty"`
	FirstParty           bool            `json:"first_party,omitempty"`
	Claims               []claims.Rule   `json:"claim_rules,omitempty"`
	Agent                bool            `json:"agent,omitempty"`
	AgentText            string          `json:"agent_description,omitempty"`
}

// Resource is an entry of the list resources: the body of POST /admin/resources.
type Resource struct {
	Slug        string            `json:"slug"`
	URI         string            `json:"uri,omitempty"`
	BackendKind string            `json:"backend_kind,omitempty"` // mint or broker; default: mint
	DisplayName string            `json:"display_name,omitempty"`
	Scopes      []resources.Scope `json:"scopes,omitempty"`

	BrokerProviderID   string `json:"broker_provider_id,omitempty"`
	BrokerProviderSlug string `json:"broker_provider_slug,omitempty"`

	Policy resources.Policy `json:"policy,omitzero"`
	Claims []claims.Rule    `json:"claim_rules,omitempty"`
}

// BrokerProvider is an entry of the list broker_providers: the body of POST /admin/broker-providers.
type BrokerProvider struct {
	Slug        string          `json:"slug"`
	DisplayName string          `json:"display_name,omitempty"`
	Protocol    string          `json:"protocol"`              // oauth, api_key or service_account
	ConfigData  json.RawMessage `json:"config_data,omitempty"` // depends on the protocol; decoded when it is first used
}

// Limits of the lists in the file.
const (
	maxSeeds     = 10000 // entries of a list
	maxSeedDepth = 10    // nested lists and sections of an entry
)

// seedNodes holds the YAML nodes of the lists in the file.
type seedNodes struct{ clients, resources, providers, upstreams *yaml.Node }

// node returns a pointer to the node for a list, or nil if no list has that name.
func (s *seedNodes) node(name string) **yaml.Node {
	switch name {
	case "clients":
		return &s.clients
	case "resources":
		return &s.resources
	case "broker_providers":
		return &s.providers
	case "upstreams":
		return &s.upstreams
	}
	return nil
}

// seeds decodes and checks the lists of the file.
func (l *loader) seeds() {
	l.upstreams()
	providers := make(map[string]bool)
	l.BrokerProviders = entries(l, "broker_providers", l.lists.providers, func(p *BrokerProvider) error {
		if providers[p.Slug] {
			return fmt.Errorf("the slug %q is given twice", p.Slug)
		}
		providers[p.Slug] = true
		return p.check()
	})
	ids := make(map[string]bool)
	l.Clients = entries(l, "clients", l.lists.clients, func(c *Client) error {
		if ids[c.ID] {
			return fmt.Errorf("the client_id %q is given twice", c.ID)
		}
		ids[c.ID] = true
		return c.check()
	})
	slugs, uris := make(map[string]bool), make(map[string]bool)
	l.Resources = entries(l, "resources", l.lists.resources, func(r *Resource) error {
		switch {
		case slugs[r.Slug]:
			return fmt.Errorf("the slug %q is given twice", r.Slug)
		case r.URI != "" && uris[kernel.WithRootPath(r.URI)]:
			return fmt.Errorf("the uri %q is given twice", r.URI)
		}
		slugs[r.Slug], uris[kernel.WithRootPath(r.URI)] = true, true
		return r.check()
	})
}

// entries decodes the list called name and calls check for each entry. If an entry cannot be decoded, or if check
// refuses it, entries records a fault and leaves the entry out.
func entries[T any](l *loader, name string, n *yaml.Node, check func(*T) error) []T {
	switch {
	case n == nil || null(n):
		return nil
	case n.Kind != yaml.SequenceNode || len(n.Content) > maxSeeds:
		l.faultAt(name, n, "must be a list of at most %d entries", maxSeeds)
		return nil
	}
	list := make([]T, 0, len(n.Content))
	for i, item := range n.Content {
		var entry T
		err := l.decode(item, &entry)
		if err == nil {
			err = check(&entry)
		}
		if err != nil {
			l.faultAt(fmt.Sprintf("%s[%d]", name, i), item, "%s", err)
			continue
		}
		list = append(list, entry)
	}
	return list
}

// decode decodes a YAML mapping into a value by the rules of encoding/json. It refuses unknown members.
func (l *loader) decode(n *yaml.Node, target any) error {
	value, err := l.plainValue(n, maxSeedDepth)
	if err != nil {
		return err
	}
	object, ok := value.(map[string]any)
	if !ok {
		return errors.New("must be a section with keys")
	}
	if slug, ok := object["BrokerProviderSlug"]; ok { // an alternative spelling
		if object["broker_provider_slug"] != nil {
			return errors.New("BrokerProviderSlug and broker_provider_slug are the same key: set only one of them")
		}
		object["broker_provider_slug"] = slug
		delete(object, "BrokerProviderSlug")
	}
	text, err := json.Marshal(object)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(target); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// plainValue converts a YAML node to the types of encoding/json. The depth is the number of levels that the node may
// span.
func (l *loader) plainValue(n *yaml.Node, depth int) (any, error) {
	if err := plain(n); err != nil {
		return nil, err
	}
	if depth == 0 {
		return nil, errors.New("is nested too deeply")
	}
	switch n.Kind { //nolint:exhaustive // plain has refused aliases, and only a whole file is a document
	case yaml.MappingNode:
		object := make(map[string]any, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind != yaml.ScalarNode {
				return nil, errors.New("a key must be a word")
			}
			if _, ok := object[key.Value]; ok {
				return nil, fmt.Errorf("%q is given twice", key.Value)
			}
			value, err := l.plainValue(n.Content[i+1], depth-1)
			if err != nil {
				return nil, err
			}
			object[key.Value] = value
		}
		return object, nil
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, item := range n.Content {
			value, err := l.plainValue(item, depth-1)
			if err != nil {
				return nil, err
			}
			list[i] = value
		}
		return list, nil
	case yaml.ScalarNode:
		switch n.ShortTag() {
		case "!!null", "!!bool", "!!int", "!!float":
			var value any
			err := n.Decode(&value)
			return value, err
		}
		return l.expand(n.Value)
	}
	return nil, errors.New("must be a value, a list or a section")
}

// slug matches a name that can be part of a path and of a parameter.
var slug = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// check sets the defaults of an entry and returns its first fault. More checks follow when the server is created.
func (c *Client) check() error {
	if c.AuthMethod == "" {
		c.AuthMethod = "none"
	}
	switch {
	case !slug.MatchString(c.ID):
		return fmt.Errorf("client_id: %q is not 1 to 100 letters, digits, points, hyphens and underscores", c.ID)
	case c.AuthMethod != "none" && c.AuthMethod != "private_key_jwt":
		return fmt.Errorf("token_endpoint_auth_method: %q is not one of: none, private_key_jwt", c.AuthMethod)
	}
	if fault := scopeWords(nil, &c.Scope); fault != "" {
		return errors.New("scope: " + fault)
	}
	return nil
}

// check sets the defaults of an entry and returns its first fault.
func (r *Resource) check() error {
	if r.BackendKind == "" {
		r.BackendKind = "mint"
	}
	if !slug.MatchString(r.Slug) {
		return fmt.Errorf("slug: %q is not 1 to 100 letters, digits, points, hyphens and underscores", r.Slug)
	}
	u, err := url.Parse(r.URI)
	switch {
	case r.BackendKind != "mint" && r.BackendKind != "broker":
		return fmt.Errorf("backend_kind: %q is not one of: mint, broker", r.BackendKind)
	case r.URI == "" && r.BackendKind == "mint":
		return errors.New("uri: required when backend_kind is mint")
	case r.URI != "" && (err != nil || !u.IsAbs() || strings.Contains(r.URI, "#") || len(r.URI) > 2048):
		return fmt.Errorf("uri: %q is not an absolute URI without a fragment", r.URI)
	case len(r.Scopes) > 1000:
		return errors.New("scopes: must not be more than 1000")
	}
	broker := r.BackendKind == "broker"
	switch hasProvider := r.BrokerProviderID != "" || r.BrokerProviderSlug != ""; {
	case broker && !hasProvider:
		return errors.New("broker_provider_slug: required when backend_kind is broker")
	case !broker && hasProvider:
		return errors.New("broker_provider_slug: allowed only when backend_kind is broker")
	}
	seen := make(map[string]bool)
	for _, s := range r.Scopes {
		switch {
		case !scopeToken.MatchString(s.Name):
			return fmt.Errorf("scopes: %q is not a scope", s.Name)
		case seen[s.Name]:
			return fmt.Errorf("scopes: %s is given twice", s.Name)
		case len(s.Upstream) > 0 && !broker:
			return fmt.Errorf("scopes: %s: upstream is allowed only when backend_kind is broker", s.Name)
		}
		seen[s.Name] = true
	}
	return nil
}

// check returns the first fault of an entry.
func (p *BrokerProvider) check() error {
	if !slug.MatchString(p.Slug) {
		return fmt.Errorf("slug: %q is not 1 to 100 letters, digits, points, hyphens and underscores", p.Slug)
	}
	if !slices.Contains([]string{"oauth", "api_key", "service_account"}, p.Protocol) {
		return fmt.Errorf("protocol: %q is not one of: oauth, api_key, service_account", p.Protocol)
	}
	if len(p.ConfigData) > 0 && p.ConfigData[0] != '{' {
		return errors.New("config_data: must be a section with keys")
	}
	return nil
}
