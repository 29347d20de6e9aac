// Package brokers manages broker providers. These are third-party services; clients obtain the tokens of such a service
// from this server by exchange. The package stores the rows of the providers, checks the configuration of each
// protocol, and requests tokens from the providers.
package brokers

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/tollgate-gateway/tollgate/backends/authserver/encryption"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/outbound"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// The protocols of providers.
const (
	OAuth          = "oauth"           // each user connects an account
	APIKey         = "api_key"         // each user has a key, which an administrator stores
	ServiceAccount = "service_account" // this server has one key for all users
)

// The errors of methods that change rows.
var (
	ErrUnknown = errors.New("there is no such provider")
	ErrExists  = errors.New("a provider with this slug already exists")
	ErrInUse   = errors.New("resources use this provider: change or delete these resources first")
)

// Provider is a row of authserver_brokers.
type Provider struct {
	ID, Slug, DisplayName, Protocol string
	// Config is config_data without the client secret. It is checked when the provider is used, by the rules of its
	// protocol.
	Config    json.RawMessage
	CreatedAt time.Time
	UpdatedAt time.Time

	secret string // the encrypted client_secret, or empty
}

// Options are the settings of Brokers.
type Options struct {
	// Encryptor encrypts client secrets. If it is nil, a provider cannot have a secret in its row.
	Encryptor encryption.Encryptor
	// Networks are the private networks in which providers may be. Public addresses are always allowed.
	Networks []netip.Prefix
	// Env looks up environment variables. Default: os.LookupEnv.
	Env func(name string) (string, bool)
	// Timeout is the time limit of a request to a provider. Default: 10 s.
	Timeout time.Duration
}

// Brokers manages all providers.
type Brokers struct {
	*kernel.Server
	options Options
	client  *http.Client
	list    *kernel.Cache[*snapshot] // under the empty key
}

const (
	// topic is the topic of the changes that are announced to the other nodes.
	topic        = "brokers"
	maxProviders = 1000
	// maxName and maxConfig are the maximum lengths of a provider's name and configuration, in bytes.
	maxName, maxConfig = 1020, 64 << 10
)

// Sealed is the column of the encrypted client secrets.
var Sealed = encryption.Column{Table: "authserver_brokers", ID: "id", Column: "secret"}

// place returns the additional authenticated data that binds an encrypted client secret to its row.
func place(id string) []byte { return encryption.Place(Sealed.Table, id, Sealed.Column) }

// snapshot holds all stored providers.
type snapshot struct {
	all    []*Provider          // ordered by slug
	byName map[string]*Provider // by id and by slug
}

// New returns the providers of a server.
func New(s *kernel.Server, o Options) *Brokers {
	if o.Env == nil {
		o.Env = os.LookupEnv
	}
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	b := &Brokers{Server: s, options: o, client: outbound.NewClient(o.Networks, o.Timeout)}
	b.client.Transport = s.Follow(b.client.Transport)
	b.list = kernel.NewCache(1, s.Now, b.read)
	s.Watch(topic, func(string) { b.list.Drop("") })
	return b
}

// read loads all providers for the cache.
func (b *Brokers) read(ctx context.Context, _ string) (*snapshot, error) {
	s := &snapshot{byName: make(map[string]*Provider)}
	err := b.Read(ctx, func(c store.Conn) (err error) {
		s.all, err = store.List(c, scan, "SELECT "+columns+" FROM authserver_brokers ORDER BY slug LIMIT ?", maxProviders)
		return err
	})
	for _, p := range s.all {
		s.byName[p.Slug] = p
	}
	for _, p := range s.all { // ids are set after the slugs: if a slug equals the id of another provider, the id wins
		s.byName[p.ID] = p
	}
	return s, err
}

// All returns all providers, ordered by slug. The caller must not modify them.
func (b *Brokers) All(ctx context.Context) ([]*Provider, error) {
	s, err := b.list.Get(ctx, "")
	if err != nil {
		return nil, err
	}
	return s.all, nil
}

// Find returns the provider with an id or a slug. If there is no such provider, the error is ErrUnknown.
func (b *Brokers) Find(ctx context.Context, name string) (*Provider, error) {
	s, err := b.list.Get(ctx, "")
	if err != nil {
		return nil, err
	}
	if p := s.byName[name]; p != nil {
		return p, nil
	}
	return nil, ErrUnknown
}

// columns are the columns of authserver_brokers, in the order of scan.
const columns = "id, slug, display_name, protocol, config, secret, created_at, updated_at"

// scan returns a row as a provider, or ErrUnknown if the query found no row.
func scan(r store.Row) (*Provider, error) {
	p := new(Provider)
	var config string
	var created, updated int64
	err := r.Scan(&p.ID, &p.Slug, &p.DisplayName, &p.Protocol, &config, &p.secret, &created, &updated)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, ErrUnknown
	}
	p.Config, p.CreatedAt, p.UpdatedAt = json.RawMessage(config), time.UnixMicro(created), time.UnixMicro(updated)
	return p, err
}

// slug matches the slug of a provider.
var slug = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// Check returns an error if a provider is invalid. It does not check config_data.
func (p *Provider) Check() error {
	refuse := func(member, message string) error {
		return apierror.New(http.StatusBadRequest, "invalid_value", "%s %s", member, message).With(member)
	}
	switch {
	case !slug.MatchString(p.Slug):
		return refuse("slug", "must be 1 to 100 letters, digits, dots, hyphens and underscores, beginning with a letter or digit")
	case len(p.DisplayName) > maxName || strings.ContainsFunc(p.DisplayName, unicode.IsControl):
		return refuse("display_name", "must have at most 1020 bytes and must not contain control characters")
	case p.Protocol != OAuth && p.Protocol != APIKey && p.Protocol != ServiceAccount:
		return refuse("protocol", "must be oauth, api_key or service_account")
	case len(p.Config) > maxConfig:
		return refuse("config_data", "must have at most 64 KiB")
	}
	var members map[string]json.RawMessage
	if len(p.Config) > 0 && json.Unmarshal(p.Config, &members) != nil {
		return refuse("config_data", "must be an object")
	}
	return nil
}

// clientSecret is the member of config_data that is stored in a separate column.
const clientSecret = "client_secret"

// seal moves the client secret from the configuration to its encrypted form. If the configuration has no secret, the
// stored secret is kept.
func (b *Brokers) seal(ctx context.Context, p *Provider) error {
	members := make(map[string]json.RawMessage)
	if len(p.Config) > 0 {
		if err := json.Unmarshal(p.Config, &members); err != nil {
			return err
		}
	}
	if members == nil { // the configuration is null
		members = make(map[string]json.RawMessage)
	}
	for name := range members {
		// A secret under another spelling would stay in the configuration, which the API shows.
		if name != clientSecret && strings.EqualFold(name, clientSecret) {
			return apierror.New(http.StatusBadRequest, "invalid_value", "config_data.%s must be spelled client_secret",
				name).With("config_data." + name)
		}
	}
	if raw, ok := members[clientSecret]; ok {
		var secret string
		if err := json.Unmarshal(raw, &secret); err != nil {
			return apierror.New(http.StatusBadRequest, "invalid_value",
				"config_data.client_secret must be a string").With("config_data.client_secret")
		}
		delete(members, clientSecret)
		var err error
		if p.secret, err = b.encrypted(ctx, p.ID, secret); err != nil {
			return err
		}
	}
	p.Config = json.RawMessage(kernel.JSON(members))
	return nil
}

// encrypted returns the stored form of the client secret of the provider with an id. An empty secret is stored as "".
func (b *Brokers) encrypted(ctx context.Context, id, secret string) (string, error) {
	if secret == "" {
		return "", nil
	}
	if b.options.Encryptor == nil {
		return "", apierror.New(http.StatusUnprocessableEntity, "",
			"config_data.client_secret: %s; use client_secret_ref with the name of an environment variable instead",
			encryption.ErrNone).With("config_data.client_secret")
	}
	return b.options.Encryptor.Seal(ctx, []byte(secret), place(id))
}

// Create stores a provider with a new id.
func (b *Brokers) Create(ctx context.Context, p *Provider) error {
	if err := p.Check(); err != nil {
		return err
	}
	p.ID = kernel.NewID()
	if err := b.seal(ctx, p); err != nil {
		return err
	}
	p.CreatedAt = b.Now().Truncate(time.Microsecond)
	p.UpdatedAt = p.CreatedAt
	return exists(b.Change(ctx, topic, "", func(c store.Conn) error {
		if err := kernel.CheckRoom(c, "authserver_brokers", maxProviders); err != nil {
			return err
		}
		_, err := c.Exec("INSERT INTO authserver_brokers ("+columns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			p.ID, p.Slug, p.DisplayName, p.Protocol, string(p.Config), p.secret, p.CreatedAt.UnixMicro(),
			p.UpdatedAt.UnixMicro())
		return err
	}))
}

// exists returns ErrExists for the violation of a unique constraint, and any other error unchanged.
func exists(err error) error {
	if store.IsUniqueViolation(err) {
		return ErrExists
	}
	return err
}

// Edit changes a provider. It calls edit with the stored provider. If edit returns an error, nothing is changed. If the
// provider is changed concurrently, Edit calls edit again.
func (b *Brokers) Edit(ctx context.Context, name string, edit func(p *Provider) error) (*Provider, error) {
	for {
		p, err := kernel.Read(ctx, b.Server, func(c store.Conn) (*Provider, error) {
			return scan(c.Row("SELECT "+columns+" FROM authserver_brokers WHERE id = ? OR slug = ? ORDER BY id = ? DESC LIMIT 1", name, name, name))
		})
		if err != nil {
			return nil, err
		}
		previousUpdate, previousSecret := p.UpdatedAt, p.secret
		if err := edit(p); err != nil {
			return nil, err
		}
		if err := p.Check(); err != nil {
			return nil, err
		}
		if err := b.seal(ctx, p); err != nil { // before the transaction, which must not wait for a server that seal may call
			return nil, err
		}
		p.UpdatedAt = b.Now().Truncate(time.Microsecond)
		if !p.UpdatedAt.After(previousUpdate) { // the time also serves as the version of the row
			p.UpdatedAt = previousUpdate.Add(time.Microsecond)
		}
		var changed int64
		err = exists(b.Change(ctx, topic, "", func(c store.Conn) (err error) {
			changed, err = c.Exec("UPDATE authserver_brokers SET slug = ?, display_name = ?, config = ?, secret = ?, updated_at = ? WHERE id = ? AND updated_at = ? AND secret = ?",
				// The secret is compared too, since it may have been encrypted with another key in the meantime.
				p.Slug, p.DisplayName, string(p.Config), p.secret, p.UpdatedAt.UnixMicro(), p.ID,
				previousUpdate.UnixMicro(), previousSecret)
			return err
		}))
		if err != nil {
			return nil, err
		}
		if changed > 0 {
			return p, nil
		}
	}
}

// Delete deletes a provider that no resource uses, and all connections to the provider. It first calls each function of
// checks with the stored provider. If one returns an error, nothing is deleted.
func (b *Brokers) Delete(ctx context.Context, id string, checks ...func(p *Provider) error) error {
	return b.Change(ctx, topic, "", func(c store.Conn) error {
		p, err := scan(c.Row("SELECT "+columns+" FROM authserver_brokers WHERE id = ?"+c.Lock(), id))
		if err != nil {
			return err
		}
		if err := kernel.Allow(checks, p); err != nil {
			return err
		}
		var users int // resources that use the provider
		if err := c.Row("SELECT count(*) FROM authserver_resources WHERE provider_id = ?", id).Scan(&users); err != nil {
			return err
		}
		if users > 0 {
			return ErrInUse
		}
		_, err = c.Exec("DELETE FROM authserver_brokers WHERE id = ?", id)
		return err
	})
}

// Seed stores the providers of a list whose slugs do not exist yet.
func (b *Brokers) Seed(ctx context.Context, list []Provider) error {
	for i := range list {
		p := list[i]
		_, err := b.Find(ctx, p.Slug)
		if errors.Is(err, ErrUnknown) {
			if err = b.Create(ctx, &p); errors.Is(err, ErrExists) {
				err = nil // another node has stored it
			}
		}
		if err != nil {
			return fmt.Errorf("broker_providers[%d] %q: %w", i, p.Slug, err)
		}
	}
	return nil
}
