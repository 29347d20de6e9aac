package resources

import (
	"context"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Options are the settings of a Catalog.
type Options struct {
	// RequireScope is oauth.require_scope.
	RequireScope bool
	// Own are the scopes of this server, such as openid, which are valid together with any resource.
	Own []string
}

// Catalog stores all resources. It reads them from a cache, which sees changes by other nodes within five seconds.
type Catalog struct {
	*kernel.Server
	options Options
	list    *kernel.Cache[*snapshot]
}

const (
	topic = "resources"
	// maxResources is the maximum number of resources.
	maxResources = 10_000
)

// snapshot holds the resources at one moment. It is immutable.
type snapshot struct {
	all    []*Resource          // ordered by slug
	byName map[string]*Resource // by id, slug, URI, and URI with the path "/" instead of none
	scopes []string             // of all mint resources, sorted
}

// New returns the catalog of a server.
func New(s *kernel.Server, o Options) *Catalog {
	cat := &Catalog{Server: s, options: o}
	cat.list = kernel.NewCache(1, s.Now, cat.read)
	s.Watch(topic, func(string) { cat.list.Drop("") })
	return cat
}

// read loads all resources for the cache.
func (cat *Catalog) read(ctx context.Context, _ string) (*snapshot, error) {
	all, err := kernel.Read(ctx, cat.Server, func(c store.Conn) ([]*Resource, error) {
		return store.List(c, scan, "SELECT "+columns+" FROM authserver_resources ORDER BY slug LIMIT ?", maxResources)
	})
	if err != nil {
		return nil, err
	}
	s := &snapshot{all: all, byName: make(map[string]*Resource, 3*len(all))}
	// If two resources share a name, for example if the slug of one is the id of the other, the kind of name that comes
	// later in this list wins.
	for _, name := range [...]func(r *Resource) string{
		func(r *Resource) string { return kernel.WithRootPath(r.URI) }, func(r *Resource) string { return r.URI },
		func(r *Resource) string { return r.Slug }, func(r *Resource) string { return r.ID },
	} {
		for _, r := range all {
			if key := name(r); key != "" {
				s.byName[key] = r
			}
		}
	}
	for _, r := range all {
		if r.Kind == Mint {
			s.scopes = append(s.scopes, r.Names()...)
		}
	}
	slices.Sort(s.scopes)
	s.scopes = slices.Compact(s.scopes)
	return s, nil
}

// find returns the resource whose id, slug or URI is name, or nil. In a URI, an empty path equals "/".
func (s *snapshot) find(name string) *Resource {
	if r := s.byName[name]; r != nil {
		return r
	}
	return s.byName[kernel.WithRootPath(name)]
}

// snapshot returns the current resources.
func (cat *Catalog) snapshot(ctx context.Context) (*snapshot, error) { return cat.list.Get(ctx, "") }

// All returns all resources, ordered by slug. The caller must not modify them.
func (cat *Catalog) All(ctx context.Context) ([]*Resource, error) {
	s, err := cat.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	return s.all, nil
}

// Scopes returns the scopes of all mint resources, sorted and without duplicates.
func (cat *Catalog) Scopes(ctx context.Context) ([]string, error) {
	s, err := cat.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	return s.scopes, nil
}

// Find returns the resource whose id, slug or URI is name. If there is no such resource, the error is ErrUnknown.
func (cat *Catalog) Find(ctx context.Context, name string) (*Resource, error) {
	s, err := cat.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	if r := s.find(name); r != nil {
		return r, nil
	}
	return nil, ErrUnknown
}

// maxNamed is the maximum number of resources in a request.
const maxNamed = 50

// Resolve returns the mint and broker resources that a request names by URI or slug, in the order of the names and
// without duplicates. If a resource does not exist, the error is invalid_target (RFC 8707 section 2).
func (cat *Catalog) Resolve(ctx context.Context, names []string) ([]*Resource, error) {
	if len(names) == 0 {
		return nil, nil
	}
	if len(names) > maxNamed {
		return nil, kernel.Refuse(kernel.InvalidTarget, "the request has more than %d resources", maxNamed)
	}
	s, err := cat.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	found := make([]*Resource, 0, len(names))
	for _, name := range names {
		r := s.find(name)
		if r == nil || name == r.ID && name != r.Slug { // find also accepts ids, which requests must not use
			return nil, kernel.Refuse(kernel.InvalidTarget, "a requested resource does not exist at this server")
		}
		if !slices.Contains(found, r) {
			found = append(found, r)
		}
	}
	return found, nil
}

// ByRef returns the resource of a protected resource metadata document (RFC 9728). The ref is the resource's slug, or
// the path of its URI without the leading slash.
func (cat *Catalog) ByRef(ctx context.Context, ref string) (*Resource, error) {
	s, err := cat.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	// byName also contains ids and URIs, so the slug is compared.
	if r := s.byName[ref]; r != nil && r.Slug == ref && r.URI != "" {
		return r, nil
	}
	for _, r := range s.all {
		if r.URI != "" && path(r.URI) == ref && ref != "" {
			return r, nil
		}
	}
	return nil, ErrUnknown
}

// path returns the path of an absolute URI without the leading slash.
func path(uri string) string {
	_, rest, ok := strings.Cut(uri, "://")
	if !ok {
		return ""
	}
	_, rest, _ = strings.Cut(rest, "/")
	rest, _, _ = strings.Cut(rest, "?")
	return rest
}
