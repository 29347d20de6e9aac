package resources

import (
	"context"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Options of the room.
type Options struct {
	// RequireScope is oauth.require_scope.
	RequireScope bool
	// Own are the scopes that this server declares itself, for any resource, such as
	// openid.
	Own []string
}

// Catalog is all resources, as they were a moment ago: what another node changes is
// seen within five seconds.
type Catalog struct {
	*kernel.Server
	options Options
	list    *kernel.Cache[*snapshot]
}

const (
	topic = "resources"
	// most bounds how many there are.
	most = 10_000
)

// snapshot is the resources of one moment. It does not change.
type snapshot struct {
	all    []*Resource          // by slug
	byName map[string]*Resource // id, slug, URI, and URI with a path; in this order where two are the same
	scopes []string             // of all mint resources, sorted
}

// New makes the room.
func New(s *kernel.Server, o Options) *Catalog {
	cat := &Catalog{Server: s, options: o}
	cat.list = kernel.NewCache(1, s.Now, cat.read)
	s.Watch(topic, func(string) { cat.list.Drop("") })
	return cat
}

func (cat *Catalog) read(ctx context.Context, _ string) (*snapshot, error) {
	var all []*Resource
	err := cat.Read(ctx, func(c store.Conn) (err error) {
		all, err = store.List(c, scan, "SELECT "+columns+" FROM authserver_resources ORDER BY slug LIMIT ?", most)
		return err
	})
	if err != nil {
		return nil, err
	}
	s := &snapshot{all: all, byName: make(map[string]*Resource, 3*len(all))}
	for _, name := range [...]func(r *Resource) string{
		func(r *Resource) string { return kernel.Rooted(r.URI) }, func(r *Resource) string { return r.URI },
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

// find returns the resource with an id, a slug or a URI, in which an empty path equals "/"; nil: there is none.
func (s *snapshot) find(name string) *Resource {
	if r := s.byName[name]; r != nil {
		return r
	}
	return s.byName[kernel.Rooted(name)]
}

func (cat *Catalog) now(ctx context.Context) (*snapshot, error) { return cat.list.Get(ctx, "") }

// All are all resources, by slug. They are not to be changed.
func (cat *Catalog) All(ctx context.Context) ([]*Resource, error) {
	s, err := cat.now(ctx)
	if err != nil {
		return nil, err
	}
	return s.all, nil
}

// Scopes are those of all mint resources, sorted, each once.
func (cat *Catalog) Scopes(ctx context.Context) ([]string, error) {
	s, err := cat.now(ctx)
	if err != nil {
		return nil, err
	}
	return s.scopes, nil
}

// Find is the resource with an id, a slug or a URI; the error is ErrUnknown where there
// is none.
func (cat *Catalog) Find(ctx context.Context, name string) (*Resource, error) {
	s, err := cat.now(ctx)
	if err != nil {
		return nil, err
	}
	if r := s.find(name); r != nil {
		return r, nil
	}
	return nil, ErrUnknown
}

// maxNamed bounds how many resources a request may name.
const maxNamed = 50

// Resolve finds the mint and broker resources that a request names, by URI or slug, each
// once, in the order of their names. One that is not there is invalid_target (RFC 8707
// section 2).
func (cat *Catalog) Resolve(ctx context.Context, names []string) ([]*Resource, error) {
	if len(names) == 0 {
		return nil, nil
	}
	if len(names) > maxNamed {
		return nil, kernel.Refuse(kernel.InvalidTarget, "more than %d resources are named", maxNamed)
	}
	s, err := cat.now(ctx)
	if err != nil {
		return nil, err
	}
	found := make([]*Resource, 0, len(names))
	for _, name := range names {
		r := s.find(name)
		if r == nil || name == r.ID && name != r.Slug {
			return nil, kernel.Refuse(kernel.InvalidTarget, "there is no such resource here")
		}
		if !slices.Contains(found, r) {
			found = append(found, r)
		}
	}
	return found, nil
}

// ByRef finds the resource of a protected resource metadata document (RFC 9728): by its
// slug, or by the path of its URI without the slash at the front.
func (cat *Catalog) ByRef(ctx context.Context, ref string) (*Resource, error) {
	s, err := cat.now(ctx)
	if err != nil {
		return nil, err
	}
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

// path is that of an absolute URI, without the slash at the front.
func path(uri string) string {
	_, rest, ok := strings.Cut(uri, "://")
	if !ok {
		return ""
	}
	_, rest, _ = strings.Cut(rest, "/")
	rest, _, _ = strings.Cut(rest, "?")
	return rest
}
