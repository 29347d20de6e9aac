// Package transit provides the guest module tollgate.keyring.transit, whose master keys are encrypted by a key
// management server.
package transit

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/transit"
	"github.com/tollgate-gateway/tollgate/modules/placeholder"
)

func init() {
	caddy.RegisterModule(new(Transit))
}

// Transit encrypts like the keyring aes, with master keys that a key management server with a transit engine (OpenBao
// and others) has encrypted, each a text vault:v1:… (envelope encryption). The server decrypts them once, when the
// process starts: no request waits for the server, and none fails when it is down. The keys stay in memory for as long
// as a configuration with this keyring runs, whatever happens to the server and its key meanwhile.
//
// A start waits half a minute for a server that does not answer, and then fails.
//
// Without keys in the configuration Transit uses a file, and makes it with a new key if it does not exist:
// tollgate.wrapped beside the SQLite database, or in the folder data. The file is of no use without the server, and the
// database is of no use without the file: back it up, and give all nodes the same file. No file is made for a database
// that has secrets already.
type Transit struct {
	// Keys are the master keys, encrypted by the server; see: tollgate keyring wrap. The first one seals; all of them
	// open.
	Keys []string `json:"keys,omitempty"`

	// File has the keys, one per line, if Keys is empty. Default: tollgate.wrapped beside the database.
	File string `json:"file,omitempty"`

	// AES has the master keys of a keyring aes that was used before. They only open, until everything is sealed again.
	AES []string `json:"aes,omitempty"`

	// Address is the URL of the server, such as https://kms.example.com:8200. Required.
	Address string `json:"address,omitempty"`

	// Mount is the path of the engine. Default: transit.
	Mount string `json:"mount,omitempty"`

	// Name is the name of the key, which has the type aes256-gcm96. Default: tollgate.
	Name string `json:"key,omitempty"`

	// Token is the token to log in with. Either Token or AppRole is required.
	Token string `json:"token,omitempty"`

	// AppRole is the role to log in with.
	AppRole *AppRole `json:"approle,omitempty"`

	// CA is a file with the root certificates for the server. Default: those of the system.
	CA string `json:"ca,omitempty"`

	// Timeout limits one request to the server. Default: 10s.
	Timeout caddy.Duration `json:"timeout,omitempty"`

	aes     [][]byte
	key     *transit.Key
	digest  [sha256.Size]byte
	patient time.Duration // how long Open waits
}

// AppRole is a role with which a program logs in.
type AppRole struct {
	// RoleID is the id of the role.
	RoleID string `json:"role_id,omitempty"`
	// SecretID is the secret of the role.
	SecretID string `json:"secret_id,omitempty"`
	// Mount is the path of the authentication method. Default: approle.
	Mount string `json:"mount,omitempty"`
}

const (
	defaultMount, defaultKey = "transit", "tollgate"
	defaultFile              = "tollgate.wrapped"
	// maxFile is the limit for the file, in bytes.
	maxFile = 64 << 10
	// patience is how long a start waits for the server, which is asked at intervals of pollInterval.
	patience     = 30 * time.Second
	pollInterval = time.Second
)

// place is the associated data that binds the encrypted master keys to their purpose.
var place = []byte("tollgate keyring")

// CaddyModule returns the Caddy module information.
func (*Transit) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "tollgate.keyring.transit",
		New: func() caddy.Module { return new(Transit) },
	}
}

// Provision resolves the placeholders. It does not contact the server.
func (t *Transit) Provision(caddy.Context) error {
	t.patient = patience
	if t.AppRole == nil {
		t.AppRole = new(AppRole)
	}
	for name, setting := range map[string]*string{
		"file": &t.File, "address": &t.Address, "mount": &t.Mount, "key": &t.Name, "ca": &t.CA, "token": &t.Token,
		"approle.role_id": &t.AppRole.RoleID, "approle.secret_id": &t.AppRole.SecretID,
		"approle.mount": &t.AppRole.Mount,
	} {
		resolved, err := placeholder.Resolve(*setting)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		*setting = strings.TrimSpace(resolved)
	}
	for i, text := range t.AES {
		resolved, err := placeholder.Resolve(text)
		if err != nil {
			return fmt.Errorf("aes[%d]: %w", i, err)
		}
		key, err := keyring.ParseMasterKey(resolved)
		if err != nil {
			return fmt.Errorf("aes[%d]: %w", i, err)
		}
		t.aes = append(t.aes, key)
	}
	for i := range t.Keys {
		resolved, err := placeholder.Resolve(t.Keys[i])
		if err != nil {
			return fmt.Errorf("keys[%d]: %w", i, err)
		}
		if t.Keys[i] = strings.TrimSpace(resolved); transit.CipherVersion(t.Keys[i]) == 0 {
			return fmt.Errorf(
				"keys[%d]: this is not a text vault:v1:… that a key management server has encrypted; make one with: tollgate keyring wrap",
				i)
		}
	}
	if len(t.Keys) > 0 && t.File != "" {
		return errors.New("keys and file exclude each other")
	}
	if t.Mount == "" {
		t.Mount = defaultMount
	}
	if t.Name == "" {
		t.Name = defaultKey
	}
	return t.connect()
}

// connect makes the client. It does not contact the server.
func (t *Transit) connect() error {
	o := transit.Options{
		Address: t.Address, Token: t.Token, Timeout: time.Duration(t.Timeout),
		AppRole: transit.AppRole{Mount: t.AppRole.Mount, RoleID: t.AppRole.RoleID, SecretID: t.AppRole.SecretID},
	}
	if t.CA != "" {
		text, err := os.ReadFile(t.CA)
		if err != nil {
			return fmt.Errorf("ca: %w", err)
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(text) {
			return fmt.Errorf("ca: %s has no certificate in PEM", t.CA)
		}
		o.TLS = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	client, err := transit.New(o)
	if err != nil {
		return err
	}
	t.key = client.Key(t.Mount, t.Name)
	all, err := json.Marshal(t)
	t.digest = sha256.Sum256(all)
	return err
}

// KeyFile returns the file that holds the keys, or "" if the configuration has them.
func (t *Transit) KeyFile(dir string) string {
	switch {
	case len(t.Keys) > 0:
		return ""
	case t.File != "":
		return t.File
	}
	return filepath.Join(dir, defaultFile)
}

// Missing returns the key file that Open would make, or "" if it would make none.
func (t *Transit) Missing(dir string) string {
	file := t.KeyFile(dir)
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return file
	}
	return ""
}

// identity identifies a keyring: equal values mean the same keyring. It holds no secret.
type identity [sha256.Size]byte

// Key identifies the keyring among the configurations of this process.
func (t *Transit) Key() any { return identity(t.digest) }

// Open lets the server decrypt the master keys. It repeats the attempt while the server is unavailable, for at most
// half a minute. dir is the folder of the default file.
func (t *Transit) Open(dir string, logger *zap.Logger) (keyring.Keyring, error) {
	ctx, cancel := context.WithTimeout(context.Background(), t.patient)
	defer cancel()
	for warned := false; ; warned = true {
		keys, err := t.open(ctx, dir, logger)
		if err == nil {
			return keyring.NewAES(append(keys, t.aes...)...)
		}
		if !errors.Is(err, transit.ErrUnavailable) || ctx.Err() != nil {
			return nil, err
		}
		if !warned {
			logger.Warn("the key management server does not answer yet", zap.Error(err))
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(min(pollInterval, t.patient/4)):
		}
	}
}

// open makes one attempt of Open.
func (t *Transit) open(ctx context.Context, dir string, logger *zap.Logger) ([][]byte, error) {
	if file := t.Missing(dir); file != "" && len(t.Keys) == 0 {
		wrapped, err := t.Wrap(ctx, keyring.NewMasterKey())
		if err != nil {
			return nil, err
		}
		if err := keyring.MakeKeyFile(file, wrapped+"\n"); err != nil {
			return nil, err
		}
		logger.Warn("made a file with a master key that the key management server has encrypted; give all nodes the same, and keep a copy of it: without it the stored secrets cannot be read",
			zap.String("file", file))
	}
	return t.Unwrap(ctx, dir)
}

// Wrap lets the server encrypt a master key.
func (t *Transit) Wrap(ctx context.Context, key []byte) (string, error) {
	return t.key.Encrypt(ctx, key, place)
}

// Unwrap lets the server decrypt the master keys. The key that seals comes first.
func (t *Transit) Unwrap(ctx context.Context, dir string) ([][]byte, error) {
	wrapped := t.Keys
	if len(wrapped) == 0 {
		text, err := keyring.ReadKeyFile(t.KeyFile(dir), maxFile)
		if err != nil {
			return nil, err
		}
		wrapped = strings.Fields(text)
	}
	keys := make([][]byte, len(wrapped))
	for i, text := range wrapped {
		key, err := t.key.Decrypt(ctx, text, place)
		if err != nil {
			return nil, fmt.Errorf("master key %d: %w", i+1, err)
		}
		keys[i] = key
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("the key file %s is empty", t.KeyFile(dir))
	}
	return keys, nil
}
