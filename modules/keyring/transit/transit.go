// Package transit provides the guest module tollgate.keyring.transit, whose master keys are encrypted by a key
// management server.
package transit

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
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

// Transit encrypts like the keyring aes. Its master keys are encrypted by a key management server with a transit engine
// (OpenBao and others), each as a text vault:v1:… (envelope encryption). The server decrypts them once, when the
// process starts. So requests do not wait for the server, and do not fail when the server is down. The keys stay in
// memory as long as a configuration with this keyring runs, even if the server or its key becomes unavailable.
//
// If the server does not answer, the start waits half a minute and then fails.
//
// Without keys in the configuration, Transit uses a file: tollgate.wrapped beside the SQLite database, or in the folder
// data. It creates the file with a new key if it does not exist, unless the database has secrets already. The file is
// of no use without the server, and the secrets in the database are of no use without the file. Back up the file, and
// give all nodes the same file.
type Transit struct {
	// Keys are the master keys, encrypted by the server; see: tollgate keyring wrap. The first key encrypts, and all keys
	// decrypt.
	Keys []string `json:"keys,omitempty"`

	// File is the file with the keys, one per line, if Keys is empty. Default: tollgate.wrapped beside the database.
	File string `json:"file,omitempty"`

	// AES are the master keys of a keyring aes that was used before. They only decrypt, and are needed until all secrets
	// are encrypted again.
	AES []string `json:"aes,omitempty"`

	// Address is the URL of the server, such as https://kms.example.com:8200. Required.
	Address string `json:"address,omitempty"`

	// Mount is the path of the transit engine. Default: transit.
	Mount string `json:"mount,omitempty"`

	// Name is the name of the server's key, which must have the type aes256-gcm96. Default: tollgate.
	Name string `json:"key,omitempty"`

	// Token is the token to log in with. Either Token or AppRole is required.
	Token string `json:"token,omitempty"`

	// AppRole is the role to log in with.
	AppRole *AppRole `json:"approle,omitempty"`

	// CA is a file with root certificates that verify the server's certificate. Default: the system's root certificates.
	CA string `json:"ca,omitempty"`

	// Timeout limits one request to the server. Default: 10s.
	Timeout caddy.Duration `json:"timeout,omitempty"`

	aes       [][]byte          // AES, decoded
	key       *transit.Key      // the server's key
	digest    [sha256.Size]byte // of all options
	startWait time.Duration     // how long Open waits for the server
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
	// maxFile is the maximum size of the key file in bytes.
	maxFile = 64 << 10
	// defaultStartWait is how long a start waits for the server. The server is asked at intervals of pollInterval.
	defaultStartWait = 30 * time.Second
	pollInterval     = time.Second
)

// associatedData is the associated data of the encryption, which binds the encrypted master keys to their purpose.
var associatedData = []byte("tollgate keyring")

// CaddyModule returns the Caddy module information.
func (*Transit) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "tollgate.keyring.transit",
		New: func() caddy.Module { return new(Transit) },
	}
}

// Provision resolves the placeholders and checks the options. It does not contact the server.
func (t *Transit) Provision(caddy.Context) error {
	t.startWait = defaultStartWait
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
				"keys[%d]: must be a text vault:v1:… from a key management server; create one with: tollgate keyring wrap", i)
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

// connect creates the client. It does not contact the server.
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

// KeyFile returns the file that contains the keys, or "" if the configuration contains them. dir is the folder of the
// default file.
func (t *Transit) KeyFile(dir string) string {
	if len(t.Keys) > 0 {
		return ""
	}
	return cmp.Or(t.File, filepath.Join(dir, defaultFile))
}

// identity identifies a keyring: equal values mean the same keyring. It contains no secret.
type identity [sha256.Size]byte

// Key returns a value that identifies the keyring among the configurations of this process.
func (t *Transit) Key() any { return identity(t.digest) }

// Open opens the keyring: it makes the server decrypt the master keys. While the server is unavailable it tries again,
// for at most half a minute. dir is the folder of the default file.
func (t *Transit) Open(dir string, logger *zap.Logger) (keyring.Keyring, error) {
	ctx, cancel := context.WithTimeout(context.Background(), t.startWait)
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
		case <-time.After(min(pollInterval, t.startWait/4)):
		}
	}
}

// open makes one attempt of Open, and returns the decrypted master keys. It creates the key file if it does not exist.
func (t *Transit) open(ctx context.Context, dir string, logger *zap.Logger) ([][]byte, error) {
	if file := t.KeyFile(dir); keyring.KeyFileMissing(file) {
		wrapped, err := t.Wrap(ctx, keyring.NewMasterKey())
		if err != nil {
			return nil, err
		}
		if err := keyring.MakeKeyFile(file, wrapped+"\n"); err != nil {
			return nil, err
		}
		logger.Warn("created a file with a master key that the key management server has encrypted; "+
			"give all nodes the same file, and keep a copy of it: without it the stored secrets cannot be read",
			zap.String("file", file))
	}
	return t.Unwrap(ctx, dir)
}

// Wrap makes the server encrypt a master key. The result is a text of the form vault:v1:….
func (t *Transit) Wrap(ctx context.Context, key []byte) (string, error) {
	return t.key.Encrypt(ctx, key, associatedData)
}

// Unwrap returns the master keys, which the server decrypts. They are in Keys or, if that is empty, in the key file.
// The first key encrypts secrets; the others only decrypt. dir is the folder of the key file, unless its path is
// configured.
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
		key, err := t.key.Decrypt(ctx, text, associatedData)
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
