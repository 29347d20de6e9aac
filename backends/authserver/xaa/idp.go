package xaa

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/jwks"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// The errors of methods that change rows.
var (
	ErrUnknown = errors.New("the row does not exist")
	ErrExists  = errors.New("a row with the same values exists already")
)

const (
	maxName    = 255  // characters
	maxURI     = 2048 // bytes
	maxEntries = 1000 // of a list
	maxSubject = 1024 // bytes
)

// refuse returns an error with status 400 for a member of a request. Its text is the name of the member, followed by
// the message.
func refuse(member, message string) error {
	return apierror.New(http.StatusBadRequest, "invalid_value", "%s %s", member, message).With(member)
}

// checkName returns an error if the name of an identity provider or a policy is invalid.
func checkName(name string) error {
	if name == "" || len([]rune(name)) > maxName || strings.ContainsFunc(name, unicode.IsControl) {
		return refuse("name", "must have 1 to 255 characters and must not contain control characters")
	}
	return nil
}

// IdP is a trusted identity provider.
type IdP struct {
	ID, Name string
	// Issuer is the claim iss of the provider's assertions. It is compared byte for byte.
	Issuer string
	// JWKSURI is the URL of the provider's keys. If it is empty, the URL is taken from the discovery document of the
	// issuer.
	JWKSURI string
	// Audience is the claim aud of the provider's assertions. If it is empty, the audience is the issuer of this
	// server.
	Audience             string
	Enabled              bool
	CreatedAt, UpdatedAt time.Time
}

// address returns where the keys of the identity provider are found.
func (i *IdP) address() jwks.Address {
	if i.JWKSURI != "" {
		return jwks.Address{JWKS: i.JWKSURI}
	}
	return jwks.Address{Issuer: i.Issuer}
}

// Check returns an error with status 400 if the identity provider is invalid.
func (i *IdP) Check() error {
	for member, uri := range map[string]string{"issuer": i.Issuer, "jwks_uri": i.JWKSURI} {
		if uri == "" && member == "jwks_uri" { // optional
			continue
		}
		isForbidden := func(c rune) bool { return c <= ' ' || c >= 0x7f || c == '#' }
		if len(uri) > maxURI || strings.ContainsFunc(uri, isForbidden) || (jwks.Address{JWKS: uri}).Check() != nil {
			return refuse(member, "must be an https URL without a user and a fragment, of at most 2048 characters")
		}
	}
	if len(i.Audience) > maxURI || strings.ContainsFunc(i.Audience, unicode.IsControl) {
		return refuse("audience", "must have at most 2048 characters and must not contain control characters")
	}
	return checkName(i.Name)
}

const idpColumns = "id, name, issuer, jwks_uri, audience, enabled, created_at, updated_at"

// scanIdP returns the identity provider in a row with the columns idpColumns.
func scanIdP(r store.Row) (*IdP, error) {
	i := new(IdP)
	var created, updated int64
	err := r.Scan(&i.ID, &i.Name, &i.Issuer, &i.JWKSURI, &i.Audience, &i.Enabled, &created, &updated)
	i.CreatedAt, i.UpdatedAt = time.UnixMicro(created), time.UnixMicro(updated)
	return i, err
}

// Policy permits the use of an identity provider's assertions for certain clients, scopes and resources.
type Policy struct {
	ID, Name string
	IdP      string // the id of the identity provider
	// ClientIDs, Scopes and Resources (URIs, slugs or ids) are the permitted values. An empty list permits all values.
	ClientIDs, Scopes, Resources []string
	Enabled                      bool
	CreatedAt, UpdatedAt         time.Time
}

// Check returns an error with status 400 if the policy is invalid. It does not check whether the named clients and
// resources exist.
func (p *Policy) Check() error {
	for member, list := range map[string][]string{
		"client_ids": p.ClientIDs, "scopes": p.Scopes,
		"resources": p.Resources,
	} {
		if len(list) > maxEntries || slices.ContainsFunc(list, func(s string) bool { return s == "" || len(s) > maxURI }) {
			return refuse(member, "must be a list of at most 1000 strings of 1 to 2048 characters")
		}
	}
	if slices.ContainsFunc(p.Scopes, func(s string) bool { return !resources.Word(s) }) {
		return refuse("scopes", "must be a list of scope tokens (RFC 6749 section 3.3)")
	}
	return checkName(p.Name)
}

const policyColumns = "id, name, idp_id, client_ids, scopes, resources, enabled, created_at, updated_at"

// scanPolicy returns the policy in a row with the columns policyColumns.
func scanPolicy(r store.Row) (*Policy, error) {
	p := new(Policy)
	var lists [3]string
	var created, updated int64
	if err := r.Scan(&p.ID, &p.Name, &p.IdP, &lists[0], &lists[1], &lists[2], &p.Enabled, &created, &updated); err != nil {
		return nil, err
	}
	for i, dst := range [3]*[]string{&p.ClientIDs, &p.Scopes, &p.Resources} {
		if err := json.Unmarshal([]byte(lists[i]), dst); err != nil {
			return nil, fmt.Errorf("reading policy %q: %w", p.ID, err)
		}
	}
	p.CreatedAt, p.UpdatedAt = time.UnixMicro(created), time.UnixMicro(updated)
	return p, nil
}

// Mapping maps a subject of an identity provider to a user of this server.
type Mapping struct {
	ID        string
	IdP       string // the id of the identity provider
	Subject   string // the claim sub of the provider's assertions
	User      string // the id of the user
	CreatedAt time.Time
}

const mappingColumns = "id, idp_id, idp_subject, user_id, created_at"

// scanMapping returns the mapping in a row with the columns mappingColumns.
func scanMapping(r store.Row) (*Mapping, error) {
	m := new(Mapping)
	var created int64
	err := r.Scan(&m.ID, &m.IdP, &m.Subject, &m.User, &created)
	m.CreatedAt = time.UnixMicro(created)
	return m, err
}

// orUnknown returns row, or ErrUnknown if err means that there is no such row.
func orUnknown[T any](row *T, err error) (*T, error) {
	return row, kernel.IfNoRows(err, ErrUnknown)
}

// readOne returns the row that a query with an id selects, or ErrUnknown.
func readOne[T any](ctx context.Context, x *XAA, scan func(r store.Row) (*T, error), query, id string) (*T, error) {
	return kernel.Read(ctx, x.Server, func(c store.Conn) (*T, error) { return orUnknown(scan(c.Row(query, id))) })
}

// listRows returns the rows that a query selects.
func listRows[T any](
	ctx context.Context, x *XAA, scan func(r store.Row) (*T, error), query string, args ...any,
) ([]*T, error) {
	return kernel.Read(ctx, x.Server, func(c store.Conn) ([]*T, error) { return store.List(c, scan, query, args...) })
}

// change runs fn in a transaction and invalidates the caches of all nodes. It returns ErrUnknown if fn changed no row,
// and ErrExists if fn violated a unique constraint.
func (x *XAA) change(ctx context.Context, fn func(c store.Conn) (n int64, err error)) error {
	err := x.Change(ctx, topic, "", func(c store.Conn) error {
		n, err := fn(c)
		if err == nil && n == 0 {
			err = ErrUnknown
		}
		return err
	})
	if store.IsUniqueViolation(err) {
		return ErrExists
	}
	return err
}

// checkIdPExists returns an error with status 400 if no identity provider has the given id.
func checkIdPExists(c store.Conn, id string) error {
	return checkRowExists(c, "authserver_idps", id, refuse("idp_id", "must be the id of an existing identity provider"))
}

// checkRowExists returns the error missing if a table has no row with an id.
func checkRowExists(c store.Conn, table, id string, missing error) error {
	if strings.IndexByte(id, 0) >= 0 { // PostgreSQL cannot store such a text
		return missing
	}
	err := c.Row("SELECT id FROM "+table+" WHERE id = ?", id).Scan(&id)
	return kernel.IfNoRows(err, missing)
}

const (
	oneIdP    = "SELECT " + idpColumns + " FROM authserver_idps WHERE id = ?"
	onePolicy = "SELECT " + policyColumns + " FROM authserver_xaa_policies WHERE id = ?"
)

// IdPs returns a page of the identity providers, oldest first.
func (x *XAA) IdPs(ctx context.Context, limit, offset int) ([]*IdP, error) {
	return listRows(ctx, x, scanIdP, "SELECT "+idpColumns+" FROM authserver_idps ORDER BY created_at, id LIMIT ? OFFSET ?",
		limit, offset)
}

// IdP returns an identity provider by its id, or ErrUnknown.
func (x *XAA) IdP(ctx context.Context, id string) (*IdP, error) {
	return readOne(ctx, x, scanIdP, oneIdP, id)
}

// CreateIdP stores an identity provider with a new id, and sets its fields ID, CreatedAt and UpdatedAt. If another
// provider has the same issuer, the error is ErrExists.
func (x *XAA) CreateIdP(ctx context.Context, i *IdP) error {
	if err := i.Check(); err != nil {
		return err
	}
	now := x.Now().Truncate(time.Microsecond)
	i.ID, i.CreatedAt, i.UpdatedAt = kernel.NewID(), now, now
	return x.change(ctx, func(c store.Conn) (int64, error) {
		if err := kernel.CheckRoom(c, "authserver_idps", maxIdPs); err != nil {
			return 0, err
		}
		return c.Exec("INSERT INTO authserver_idps ("+idpColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			i.ID, i.Name, i.Issuer, i.JWKSURI, i.Audience, kernel.Flag(i.Enabled), now.UnixMicro(), now.UnixMicro())
	})
}

// allowed calls each function of checks with a stored row and returns the first error. The query selects the row by
// its id, and allowed locks the row. If there is no such row, the error is ErrUnknown.
func allowed[T any](
	c store.Conn, scan func(r store.Row) (*T, error), query, id string, checks []func(row *T) error,
) error {
	row, err := orUnknown(scan(c.Row(query+c.Lock(), id)))
	if err != nil {
		return err
	}
	return kernel.Allow(checks, row)
}

// ReplaceIdP replaces an identity provider. It first calls each function of checks with the stored provider. If one
// returns an error, nothing is changed.
func (x *XAA) ReplaceIdP(ctx context.Context, i *IdP, checks ...func(i *IdP) error) error {
	if err := i.Check(); err != nil {
		return err
	}
	return x.change(ctx, func(c store.Conn) (int64, error) {
		if err := allowed(c, scanIdP, oneIdP, i.ID, checks); err != nil {
			return 0, err
		}
		return c.Exec("UPDATE authserver_idps SET name = ?, issuer = ?, jwks_uri = ?, audience = ?, enabled = ?, updated_at = ? WHERE id = ?",
			i.Name, i.Issuer, i.JWKSURI, i.Audience, kernel.Flag(i.Enabled), x.Micros(), i.ID)
	})
}

// DeleteIdP removes an identity provider with its policies and mappings. It first calls each function of checks with
// the stored provider. If one returns an error, nothing is removed.
func (x *XAA) DeleteIdP(ctx context.Context, id string, checks ...func(i *IdP) error) error {
	return x.change(ctx, func(c store.Conn) (int64, error) {
		if err := allowed(c, scanIdP, oneIdP, id, checks); err != nil {
			return 0, err
		}
		return c.Exec("DELETE FROM authserver_idps WHERE id = ?", id)
	})
}

// Policies returns a page of an identity provider's policies, oldest first. If idp is empty, it returns the policies of
// all providers.
func (x *XAA) Policies(ctx context.Context, idp string, limit, offset int) ([]*Policy, error) {
	return listRows(ctx, x, scanPolicy, "SELECT "+
		policyColumns+" FROM authserver_xaa_policies WHERE ? = '' OR idp_id = ? ORDER BY created_at, id LIMIT ? OFFSET ?",
		idp, idp, limit, offset)
}

// Policy returns a policy by its id, or ErrUnknown.
func (x *XAA) Policy(ctx context.Context, id string) (*Policy, error) {
	return readOne(ctx, x, scanPolicy, onePolicy, id)
}

// checkPolicy returns an error if a policy is invalid or names a resource that does not exist.
func (x *XAA) checkPolicy(ctx context.Context, p *Policy) error {
	if err := p.Check(); err != nil {
		return err
	}
	for _, name := range p.Resources {
		_, err := x.options.Catalog.Find(ctx, name)
		if errors.Is(err, resources.ErrUnknown) {
			return refuse("resources", "contains a resource that does not exist: "+name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// CreatePolicy stores a policy with a new id, and sets its fields ID, CreatedAt and UpdatedAt.
func (x *XAA) CreatePolicy(ctx context.Context, p *Policy) error {
	if err := x.checkPolicy(ctx, p); err != nil {
		return err
	}
	now := x.Now().Truncate(time.Microsecond)
	p.ID, p.CreatedAt, p.UpdatedAt = kernel.NewID(), now, now
	return x.change(ctx, func(c store.Conn) (int64, error) {
		if err := errors.Join(kernel.CheckRoom(c, "authserver_xaa_policies", maxPolicies),
			checkIdPExists(c, p.IdP)); err != nil {
			return 0, err
		}
		return c.Exec("INSERT INTO authserver_xaa_policies ("+policyColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
			p.ID, p.Name, p.IdP, kernel.JSON(p.ClientIDs), kernel.JSON(p.Scopes), kernel.JSON(p.Resources),
			kernel.Flag(p.Enabled), now.UnixMicro(), now.UnixMicro())
	})
}

// ReplacePolicy replaces a policy. It first calls each function of checks with the stored policy. If one returns an
// error, nothing is changed.
func (x *XAA) ReplacePolicy(ctx context.Context, p *Policy, checks ...func(p *Policy) error) error {
	if err := x.checkPolicy(ctx, p); err != nil {
		return err
	}
	return x.change(ctx, func(c store.Conn) (int64, error) {
		if err := allowed(c, scanPolicy, onePolicy, p.ID, checks); err != nil {
			return 0, err
		}
		if err := checkIdPExists(c, p.IdP); err != nil {
			return 0, err
		}
		return c.Exec("UPDATE authserver_xaa_policies SET name = ?, idp_id = ?, client_ids = ?, scopes = ?, resources = ?, enabled = ?, updated_at = ? WHERE id = ?",
			p.Name, p.IdP, kernel.JSON(p.ClientIDs), kernel.JSON(p.Scopes), kernel.JSON(p.Resources), kernel.Flag(p.Enabled),
			x.Micros(), p.ID)
	})
}

// DeletePolicy removes a policy. It first calls each function of checks with the stored policy. If one returns an
// error, nothing is removed.
func (x *XAA) DeletePolicy(ctx context.Context, id string, checks ...func(p *Policy) error) error {
	return x.change(ctx, func(c store.Conn) (int64, error) {
		if err := allowed(c, scanPolicy, onePolicy, id, checks); err != nil {
			return 0, err
		}
		return c.Exec("DELETE FROM authserver_xaa_policies WHERE id = ?", id)
	})
}

// Mappings returns the query of an identity provider's mappings. If idp is empty, it selects the mappings of all
// providers.
func Mappings(idp string) kernel.Listing {
	l := kernel.Listing{Columns: mappingColumns, Table: "authserver_xaa_subjects", At: "created_at", ID: "id"}
	if idp != "" {
		l.And("idp_id = ?", idp)
	}
	return l
}

// Mappings returns a page of an identity provider's mappings. If idp is empty, it returns the mappings of all
// providers.
func (x *XAA) Mappings(ctx context.Context, idp string, p kernel.Page) ([]*Mapping, error) {
	return kernel.Rows(ctx, x.Server, Mappings(idp).Find, p, scanMapping)
}

// TotalMappings returns the number of mappings on all pages of Mappings, up to limit.
func (x *XAA) TotalMappings(ctx context.Context, idp string, limit int) (int, error) {
	return kernel.CountRows(ctx, x.Server, Mappings(idp).Find, limit)
}

// Place returns the position of a mapping in a list, for paging.
func (m *Mapping) Place() kernel.Place { return kernel.Place{At: m.CreatedAt.UnixMicro(), ID: m.ID} }

// CreateMapping stores a mapping with a new id, and sets its fields ID and CreatedAt. If the subject is mapped already,
// the error is ErrExists.
func (x *XAA) CreateMapping(ctx context.Context, m *Mapping) error {
	if m.Subject == "" || len(m.Subject) > maxSubject || strings.IndexByte(m.Subject, 0) >= 0 {
		return refuse("idp_subject", "must have 1 to 1024 characters")
	}
	now := x.Now().Truncate(time.Microsecond)
	m.ID, m.CreatedAt = kernel.NewID(), now
	return x.change(ctx, func(c store.Conn) (int64, error) {
		if err := errors.Join(checkIdPExists(c, m.IdP), checkRowExists(c, "authserver_users", m.User,
			refuse("local_user_id", "must be the id of an existing user"))); err != nil {
			return 0, err
		}
		return c.Exec("INSERT INTO authserver_xaa_subjects ("+mappingColumns+") VALUES (?, ?, ?, ?, ?)",
			m.ID, m.IdP, m.Subject, m.User, now.UnixMicro())
	})
}

// DeleteMapping removes a mapping and returns it. If there is no mapping with the id, the error is ErrUnknown.
func (x *XAA) DeleteMapping(ctx context.Context, id string) (m *Mapping, err error) {
	err = x.change(ctx, func(c store.Conn) (int64, error) {
		m, err = scanMapping(c.Row("DELETE FROM authserver_xaa_subjects WHERE id = ? RETURNING "+mappingColumns, id))
		if errors.Is(err, sql.ErrNoRows) {
			return 0, nil
		}
		return 1, err
	})
	return m, err
}

// userOf returns the id of the user to whom a subject is mapped, or "" if the subject is not mapped.
func (x *XAA) userOf(ctx context.Context, idp, subject string) (user string, err error) {
	err = x.Read(ctx, func(c store.Conn) error {
		return c.Row("SELECT user_id FROM authserver_xaa_subjects WHERE idp_id = ? AND idp_subject = ?",
			idp, subject).Scan(&user)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return user, err
}
