// Package resources manages the protected resources for which clients request tokens (RFC 8707, RFC 9728), with their
// scopes, and determines the scope of a request. Tokens for a mint resource are issued by this server, and tokens for a
// broker resource by its broker provider.
package resources

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/tollgate-gateway/tollgate/backends/authserver/claims"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// The kinds of resources.
const (
	Mint   = "mint"   // this server issues the tokens
	Broker = "broker" // an upstream provider issues the tokens, and this server passes them on to clients
)

// Resource is a row of authserver_resources.
type Resource struct {
	ID          string  `json:"id,omitempty"`
	Slug        string  `json:"slug"`
	URI         string  `json:"uri,omitempty"`
	Kind        string  `json:"backend_kind"`
	DisplayName string  `json:"display_name"`
	Scopes      []Scope `json:"scopes"`
	// Provider is the id of a broker resource's provider.
	Provider string `json:"broker_provider_id,omitempty"`
	Policy   Policy `json:"policy"`
	// Claims are the claim rules for users' access tokens for this resource.
	Claims    []claims.Rule `json:"claim_rules,omitempty"`
	CreatedAt time.Time     `json:"-"`
	UpdatedAt time.Time     `json:"-"`
}

// Scope is a scope that a resource declares.
type Scope struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Upstream is the name of a broker resource's scope at the provider.
	Upstream Words `json:"upstream,omitempty"`
}

// Words is a string or an array of strings in JSON.
type Words []string

// UnmarshalJSON implements json.Unmarshaler. For null it stores an empty list.
func (w *Words) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		*w = make(Words, 1)
		return json.Unmarshal(text, &(*w)[0])
	}
	return json.Unmarshal(text, (*[]string)(w))
}

// Policy lists the clients that may exchange tokens for the resource or use it at run time, and the URLs to which a
// user may return after connecting an account.
type Policy struct {
	Exchange struct {
		AllowedClientIDs []string `json:"allowed_client_ids,omitempty"`
	} `json:"exchange"`
	Runtime struct {
		ClientIDs []string `json:"client_ids,omitempty"`
	} `json:"runtime"`
	Connect struct {
		AllowedReturnURLs []string `json:"allowed_return_urls,omitempty"`
	} `json:"connect"`
}

// Names returns the names of the scopes, in the order in which they were declared.
func (r *Resource) Names() []string {
	names := make([]string, len(r.Scopes))
	for i, s := range r.Scopes {
		names[i] = s.Name
	}
	return names
}

// The errors of methods that change rows.
var (
	ErrUnknown = errors.New("there is no such resource")
	ErrExists  = errors.New("a resource with this slug or uri already exists")
)

var slug = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

const (
	maxURI    = 2048
	maxScopes = 1000
	maxName   = 255 // characters
)

// Check returns an error if a resource is invalid.
func (r *Resource) Check() error {
	refuse := func(param, message string) error {
		return apierror.New(400, "invalid_value", "%s %s", param, message).With(param)
	}
	if !slug.MatchString(r.Slug) {
		return refuse("slug", "must be 1 to 63 lower case letters, digits, dots, hyphens and underscores, a letter or digit first")
	}
	switch r.Kind {
	case Mint:
		if r.URI == "" {
			return refuse("uri", "is required for a mint resource")
		}
	case Broker:
	default:
		return refuse("backend_kind", "must be mint or broker")
	}
	if r.URI != "" {
		u, err := url.Parse(r.URI)
		if err != nil || u.Scheme == "" || strings.Contains(r.URI, "#") || len(r.URI) > maxURI ||
			strings.ContainsFunc(r.URI, func(c rune) bool { return c <= ' ' || c >= 0x7f }) {
			return refuse("uri", "must be an absolute URI without fragment, of at most 2048 characters")
		}
	}
	if len([]rune(r.DisplayName)) > maxName || strings.ContainsFunc(r.DisplayName, unicode.IsControl) {
		return refuse("display_name", "must have at most 255 characters and must not contain control characters")
	}
	if len(r.Scopes) > maxScopes {
		return refuse("scopes", "must have at most 1000 entries")
	}
	for i, s := range r.Scopes {
		if !Word(s.Name) || s.Name == OfflineAccess {
			return refuse(fmt.Sprintf("scopes[%d].name", i),
				"must be a scope token of RFC 6749 section 3.3, other than offline_access")
		}
		if slices.ContainsFunc(r.Scopes[:i], func(other Scope) bool { return other.Name == s.Name }) {
			return refuse(fmt.Sprintf("scopes[%d].name", i), "occurs more than once")
		}
		if r.Kind == Mint && len(s.Upstream) > 0 {
			return refuse(fmt.Sprintf("scopes[%d].upstream", i), "is allowed only for broker resources")
		}
	}
	if r.Kind != Mint && len(r.Claims) > 0 {
		return refuse("claim_rules", "are allowed only for mint resources, whose tokens this server issues")
	}
	return claims.Check(r.Claims, true)
}

const columns = "id, slug, uri, kind, display_name, scopes, provider_id, policy, claim_rules, created_at, updated_at"

func scan(row store.Row) (*Resource, error) {
	r := new(Resource)
	var uri sql.NullString
	var scopes, policy, rules string
	var created, updated int64
	if err := row.Scan(&r.ID, &r.Slug, &uri, &r.Kind, &r.DisplayName, &scopes, &r.Provider, &policy, &rules, &created,
		&updated); err != nil {
		return nil, err
	}
	r.URI = uri.String
	if err := errors.Join(json.Unmarshal([]byte(scopes), &r.Scopes), json.Unmarshal([]byte(policy), &r.Policy),
		json.Unmarshal([]byte(rules), &r.Claims)); err != nil {
		return nil, fmt.Errorf("reading resource %q: %w", r.Slug, err)
	}
	r.CreatedAt, r.UpdatedAt = time.UnixMicro(created), time.UnixMicro(updated)
	return r, nil
}

// Create stores a resource with a new id.
func (cat *Catalog) Create(ctx context.Context, r *Resource) error {
	if err := r.Check(); err != nil {
		return err
	}
	r.ID = kernel.NewID()
	now := cat.Now().Truncate(time.Microsecond)
	r.CreatedAt, r.UpdatedAt = now, now
	return asErrExists(cat.Change(ctx, topic, "", func(c store.Conn) error {
		if err := kernel.CheckRoom(c, "authserver_resources", maxResources); err != nil {
			return err
		}
		if err := r.checkUnique(c); err != nil {
			return err
		}
		values := append([]any{r.ID, r.Slug}, r.values(now)...)
		_, err := c.Exec("INSERT INTO authserver_resources (id, slug, uri, kind, display_name, scopes, provider_id, policy,"+
			" claim_rules, updated_at, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			append(values, now.UnixMicro())...)
		return err
	}))
}

// checkUnique returns ErrExists if another resource has the same URI. URIs that differ only by the "/" of an empty path
// count as the same.
func (r *Resource) checkUnique(c store.Conn) error {
	if r.URI == "" {
		return nil
	}
	withSlash := kernel.WithRootPath(r.URI)
	withoutSlash := withSlash
	scheme, rest, _ := strings.Cut(withSlash, "://")
	if authority, tail, _ := strings.Cut(rest, "/"); tail == "" || tail[0] == '?' { // the path is "/"
		withoutSlash = scheme + "://" + authority + tail
	}
	var count int
	err := c.Row("SELECT 1 FROM authserver_resources WHERE uri IN (?, ?) AND id <> ? LIMIT 1",
		withSlash, withoutSlash, r.ID).Scan(&count)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err == nil {
		err = ErrExists
	}
	return err
}

// values returns the values of the columns from uri to updated_at.
func (r *Resource) values(now time.Time) []any {
	return []any{
		sql.NullString{String: r.URI, Valid: r.URI != ""},
		r.Kind, r.DisplayName, kernel.JSON(r.Scopes), r.Provider,
		kernel.JSON(r.Policy), kernel.JSON(r.Claims), now.UnixMicro(),
	}
}

// asErrExists returns ErrExists if err is the violation of a unique index, and otherwise err.
func asErrExists(err error) error {
	if store.IsUniqueViolation(err) {
		return ErrExists
	}
	return err
}

// Edit changes a resource in a transaction. It calls edit with the stored resource. If edit returns an error, nothing
// is changed.
func (cat *Catalog) Edit(
	ctx context.Context, idOrSlug string, edit func(r *Resource) error,
) (edited *Resource, err error) {
	err = asErrExists(cat.Change(ctx, topic, "", func(c store.Conn) error {
		r, err := readIn(c, idOrSlug)
		if err != nil {
			return err
		}
		uri := r.URI
		if err := edit(r); err != nil {
			return err
		}
		if err := r.Check(); err != nil {
			return err
		}
		if r.URI != uri {
			if err := r.checkUnique(c); err != nil {
				return err
			}
		}
		r.UpdatedAt = cat.Now().Truncate(time.Microsecond)
		edited = r
		_, err = c.Exec("UPDATE authserver_resources SET slug = ?, uri = ?, kind = ?, display_name = ?, scopes = ?,"+
			" provider_id = ?, policy = ?, claim_rules = ?, updated_at = ? WHERE id = ?",
			append(append([]any{r.Slug}, r.values(r.UpdatedAt)...), r.ID)...)
		return err
	}))
	if err != nil {
		return nil, err
	}
	return edited, nil
}

// readIn returns the stored resource with an id or a slug, and locks its row until the transaction ends.
func readIn(c store.Conn, idOrSlug string) (*Resource, error) {
	r, err := scan(c.Row("SELECT "+columns+" FROM authserver_resources WHERE id = ? OR slug = ? ORDER BY id = ? DESC LIMIT 1"+c.Lock(), idOrSlug, idOrSlug, idOrSlug))
	return r, kernel.IfNoRows(err, ErrUnknown)
}

// Delete deletes a resource. It first calls each function of checks with the stored resource. If one returns an error,
// nothing is deleted.
func (cat *Catalog) Delete(ctx context.Context, idOrSlug string, checks ...func(r *Resource) error) error {
	return cat.Change(ctx, topic, "", func(c store.Conn) error {
		r, err := readIn(c, idOrSlug)
		if err != nil {
			return err
		}
		if err := kernel.Allow(checks, r); err != nil {
			return err
		}
		_, err = c.Exec("DELETE FROM authserver_resources WHERE id = ?", r.ID)
		return err
	})
}

// Seed stores the resources of a list whose slugs do not exist yet. If a resource of the list is invalid, Seed stores
// nothing and returns an error.
func (cat *Catalog) Seed(ctx context.Context, list []Resource) error {
	for i := range list {
		if err := list[i].Check(); err != nil {
			return fmt.Errorf("resources[%d]: %w", i, err)
		}
	}
	for i := range list {
		r := list[i]
		_, err := cat.Find(ctx, r.Slug)
		if errors.Is(err, ErrUnknown) {
			if err = cat.Create(ctx, &r); errors.Is(err, ErrExists) {
				// Either another node has just stored the resource, or a resource with another slug has the same URI.
				if stored, findErr := cat.Find(ctx, r.Slug); findErr == nil && stored.Slug == r.Slug {
					err = nil
				}
			}
		}
		if err != nil {
			return fmt.Errorf("resources[%d] %q: %w", i, r.Slug, err)
		}
	}
	return nil
}
