// Package connections manages the accounts that users have connected at broker providers. It stores the providers'
// tokens encrypted and renews them. Authorized clients obtain them by token exchange only.
package connections

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/singleflight"

	"github.com/tollgate-gateway/tollgate/backends/authserver/brokers"
	"github.com/tollgate-gateway/tollgate/backends/authserver/encryption"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Options are the settings of Connections. Brokers and Catalog are required.
type Options struct {
	Brokers *brokers.Brokers
	Catalog *resources.Catalog
	// Encryptor encrypts the credentials. If it is nil, no provider can be connected.
	Encryptor encryption.Encryptor
	// StateSecret signs the state parameter that the browser carries to a provider and back. Required for connecting.
	StateSecret string
	// Base is the base URL to which providers redirect, without a trailing slash. Default: the issuer.
	Base string
	// ReturnURLs are the URLs to which a user may be redirected at the end of a flow, in addition to those of a
	// resource. An entry that ends with /* allows all URLs below it.
	ReturnURLs []string
}

// Connections manages all connections.
type Connections struct {
	*kernel.Server
	options Options

	renewing singleflight.Group         // renewals, by the id of the connection
	accounts sync.Mutex                 // guards tokens
	tokens   map[string]brokers.Granted // of service accounts, by provider and scope
	asserted singleflight.Group         // requests for tokens of service accounts, by the key of tokens
	holder   string                     // identifies this process in leases
	ended    chan struct{}              // closed when the server closes
	running  sync.WaitGroup             // renewals and background functions
}

// New returns the connections of a server.
func New(s *kernel.Server, o Options) *Connections {
	if o.Base == "" {
		o.Base = s.Issuer
	}
	x := &Connections{
		Server: s, options: o, tokens: make(map[string]brokers.Granted), holder: kernel.NewID(),
		ended: make(chan struct{}),
	}
	s.Closing(func() {
		close(x.ended)
		x.running.Wait()
	})
	return x
}

// Connection is a row of authserver_connections. Its credential is encrypted.
type Connection struct {
	ID, User, Provider string
	Scope              []string // in the provider's terms
	Revoked            bool
	CreatedAt          time.Time
	UpdatedAt          time.Time
	ExpiresAt          time.Time // when the access token expires; zero if unknown

	version    int64  // incremented with each new credential
	credential string // encrypted
	lease      string // see Connections.lease; empty if no process has a lease
	leaseUntil int64  // in microseconds since 1970
}

// Sealed is the column of the encrypted credentials. A ciphertext is bound to its user and provider.
var Sealed = encryption.Column{
	Table: "authserver_connections", ID: "id", Column: "credential",
	Row: "user_id || ' ' || provider_id",
}

// place returns the additional authenticated data that binds an encrypted credential to its user and provider.
func place(user, provider string) []byte {
	return encryption.Place(Sealed.Table, user+" "+provider, Sealed.Column)
}

// columns are the columns of authserver_connections, in the order of scan.
const columns = "id, user_id, provider_id, credential, scope, version, revoked_at, expires_at, lease, lease_until, created_at, updated_at"

// scan reads a row with columns.
func scan(r store.Row) (*Connection, error) {
	c := new(Connection)
	var scope string
	var revoked, expires, created, updated int64
	err := r.Scan(&c.ID, &c.User, &c.Provider, &c.credential, &scope, &c.version, &revoked, &expires, &c.lease,
		&c.leaseUntil, &created, &updated)
	c.Scope, c.Revoked, c.CreatedAt, c.UpdatedAt = strings.Fields(scope), revoked != 0, time.UnixMicro(created),
		time.UnixMicro(updated)
	if expires != 0 {
		c.ExpiresAt = time.UnixMicro(expires)
	}
	return c, err
}

// errNone means that the user has not connected the provider.
var errNone = apierror.New(http.StatusNotFound, "not_found", "there is no such connection")

// Of returns the connections of a user, newest first.
func (x *Connections) Of(ctx context.Context, user string) ([]*Connection, error) {
	return kernel.Read(ctx, x.Server, func(c store.Conn) ([]*Connection, error) {
		return store.List(c, scan, "SELECT "+
			columns+" FROM authserver_connections WHERE user_id = ? AND revoked_at = 0 ORDER BY updated_at DESC, id DESC LIMIT ?", user, maxListed)
	})
}

// maxListed is the maximum number of connections that Of returns. There are no more providers than that.
const maxListed = 1000

// find returns the connection of a user to a provider, or errNone. The provider may have ended the connection.
func (x *Connections) find(ctx context.Context, user, provider string) (*Connection, error) {
	connection, err := kernel.Read(ctx, x.Server, func(c store.Conn) (*Connection, error) {
		return scan(c.Row("SELECT "+columns+" FROM authserver_connections WHERE user_id = ? AND provider_id = ?",
			user, provider))
	})
	return connection, kernel.IfNoRows(err, errNone)
}

// seal returns the encrypted form of a credential.
func (x *Connections) seal(ctx context.Context, user, provider string, credential brokers.Credential) (string, error) {
	if x.options.Encryptor == nil {
		return "", apierror.New(http.StatusUnprocessableEntity, "", "connections: %s", encryption.ErrNone)
	}
	raw, err := json.Marshal(credential)
	if err != nil {
		return "", err
	}
	return x.options.Encryptor.Seal(ctx, raw, place(user, provider))
}

// open returns the decrypted credential of a connection.
func (x *Connections) open(ctx context.Context, c *Connection) (credential brokers.Credential, err error) {
	if x.options.Encryptor == nil {
		return credential, encryption.ErrNone
	}
	raw, err := x.options.Encryptor.Open(ctx, c.credential, place(c.User, c.Provider))
	if err != nil {
		return credential, err
	}
	return credential, json.Unmarshal(raw, &credential)
}

// storeCredential stores a user's credential for a provider, together with the scope that the provider has granted.
// It replaces an existing connection of the user to the provider.
func (x *Connections) storeCredential(
	ctx context.Context, user, provider string, credential brokers.Credential, scope []string,
) error {
	sealed, err := x.seal(ctx, user, provider, credential)
	if err != nil {
		return err
	}
	now := x.Micros()
	return x.Write(ctx, func(c store.Conn) error {
		_, err := c.Exec("INSERT INTO authserver_connections (id, user_id, provider_id, credential, scope, expires_at, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"+
			" ON CONFLICT (user_id, provider_id) DO UPDATE SET credential = excluded.credential, scope = excluded.scope, expires_at = excluded.expires_at, updated_at = excluded.updated_at,"+
			" version = authserver_connections.version + 1, revoked_at = 0, lease = '', lease_until = 0",
			kernel.NewID(), user, provider, sealed, strings.Join(scope, " "), credential.Expires, now, now)
		return err
	})
}

// SetKey stores a user's API key for a provider of the protocol api_key.
func (x *Connections) SetKey(ctx context.Context, user string, p *brokers.Provider, key string) error {
	if p.Protocol != brokers.APIKey {
		return apierror.New(http.StatusUnprocessableEntity, "invalid_value",
			"keys can be stored only for providers with the protocol api_key; %s has the protocol %s", p.Slug, p.Protocol)
	}
	if key == "" || len(key) > maxKey || strings.ContainsFunc(key, func(c rune) bool { return c <= ' ' || c >= 0x7f }) {
		return apierror.New(http.StatusBadRequest, "invalid_value",
			"api_key must have 1 to 8192 visible ASCII characters").With("api_key")
	}
	return x.storeCredential(ctx, user, p.ID, brokers.Credential{Access: key}, nil)
}

// maxKey is the maximum length of an API key, in bytes.
const maxKey = 8192

// Disconnect removes a user's connection to a provider. If possible, it revokes the credential at the provider, in the
// background.
func (x *Connections) Disconnect(ctx context.Context, user string, p *brokers.Provider) error {
	return x.remove(ctx, p, "user_id = ? AND provider_id = ?", user, p.ID)
}

// Remove removes a connection by its id, like Disconnect, and returns it.
func (x *Connections) Remove(ctx context.Context, id string) (*Connection, error) {
	removed, err := kernel.Read(ctx, x.Server, func(c store.Conn) (*Connection, error) {
		return scan(c.Row("SELECT "+columns+" FROM authserver_connections WHERE id = ?", id))
	})
	if err != nil {
		return nil, kernel.IfNoRows(err, errNone)
	}
	p, err := x.options.Brokers.Find(ctx, removed.Provider)
	if err != nil {
		return nil, err
	}
	return removed, x.remove(ctx, p, "id = ?", id)
}

// remove deletes the connection that matches an SQL condition, and revokes its credential at the provider in the
// background. If no connection matches, it returns errNone.
func (x *Connections) remove(ctx context.Context, p *brokers.Provider, condition string, args ...any) error {
	var removed *Connection
	err := x.Write(ctx, func(c store.Conn) (err error) {
		removed, err = scan(c.Row("DELETE FROM authserver_connections WHERE "+condition+" RETURNING "+columns, args...))
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return errNone
	}
	if err == nil && p.Protocol == brokers.OAuth && !removed.Revoked {
		x.background(func() { x.revokeUpstream(p, removed) })
	}
	return err
}

// background runs a function in a goroutine. Closing the server waits for the function. Once the server is closed, the
// function is not run.
func (x *Connections) background(fn func()) {
	select {
	case <-x.ended:
		return
	default:
	}
	x.running.Go(fn)
}

// revokeUpstream revokes the credential of a removed connection at the provider. It only logs failures.
func (x *Connections) revokeUpstream(p *brokers.Provider, removed *Connection) {
	ctx, cancel := context.WithTimeout(context.Background(), leaseLasts)
	defer cancel()
	config, err := x.options.Brokers.OAuth(ctx, p)
	if err == nil {
		var credential brokers.Credential
		if credential, err = x.open(ctx, removed); err == nil {
			err = x.options.Brokers.Revoke(ctx, config, credential)
		}
	}
	if err != nil {
		x.Logger().Warn("the credential of a removed connection could not be revoked at the provider",
			zap.String("provider", p.Slug), zap.Error(err))
	}
}

// Sweep removes flows that were not completed in time, and returns their number.
func (x *Connections) Sweep(ctx context.Context) (int, error) {
	n, err := x.DB.Purge(ctx, 1000, "DELETE FROM authserver_connecting WHERE digest IN (SELECT digest FROM authserver_connecting WHERE expires_at <= ? LIMIT ?)", x.Micros())
	return int(n), err
}

// upstream returns the provider's names for scopes of a resource. A scope without such names has the same name at the
// provider.
func upstream(r *resources.Resource, scope []string) (list []string) {
	for _, s := range r.Scopes {
		if !slices.Contains(scope, s.Name) {
			continue
		}
		names := []string(s.Upstream)
		if len(names) == 0 {
			names = []string{s.Name}
		}
		for _, name := range names {
			if !slices.Contains(list, name) {
				list = append(list, name)
			}
		}
	}
	return list
}

// Granted returns the scopes of this server that a connection covers. Each scope maps to one or more scopes of the
// provider. The connection covers the scope if the provider has granted all of them.
func (x *Connections) Granted(ctx context.Context, connection *Connection) ([]string, error) {
	all, err := x.options.Catalog.All(ctx)
	if err != nil {
		return nil, err
	}
	list := []string{}
	for _, r := range all {
		if r.Kind != resources.Broker || r.Provider != connection.Provider {
			continue
		}
		for _, name := range r.Names() {
			if !slices.Contains(list, name) && containsAll(upstream(r, []string{name}), connection.Scope) {
				list = append(list, name)
			}
		}
	}
	return list, nil
}

// containsAll reports whether all scopes are among the allowed ones.
func containsAll(scopes, allowed []string) bool {
	return !slices.ContainsFunc(scopes, func(scope string) bool { return !slices.Contains(allowed, scope) })
}
