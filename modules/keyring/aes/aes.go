// Package aes provides the guest module tollgate.keyring.aes, whose master keys come from the configuration or a file.
package aes

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/modules/directive"
	"github.com/tollgate-gateway/tollgate/modules/placeholder"
)

func init() {
	caddy.RegisterModule(AES{})
}

// AES encrypts provider keys and other secrets of the database with AES-256-GCM.
//
// Without keys in the configuration it uses a key file: tollgate.key beside the SQLite database, or in the folder data.
// It creates the file if it does not exist, unless the database has secrets already. A person with the database and
// this file can read the provider keys, so store a copy of the file apart from backups of the database.
type AES struct {
	// Keys are the master keys, each 32 bytes as base64 or hex, usually {env.TOLLGATE_MASTER_KEY} or {file./path}. The
	// first key encrypts, and all keys decrypt. To replace a key, put the new key in front of the old key until all
	// secrets are encrypted again.
	Keys []string `json:"keys,omitempty"`

	// File is the key file if Keys is empty. Default: tollgate.key beside the database.
	File string `json:"file,omitempty"`

	keys [][]byte // Keys, decoded
	file string   // File with its placeholders replaced
}

// CaddyModule returns the Caddy module information.
func (AES) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "tollgate.keyring.aes",
		New: func() caddy.Module { return new(AES) },
	}
}

// Provision resolves the placeholders and checks the keys.
func (a *AES) Provision(caddy.Context) error {
	for i, text := range a.Keys {
		resolved, err := placeholder.Resolve(text)
		if err != nil {
			return fmt.Errorf("keys[%d]: %w", i, err)
		}
		key, err := keyring.ParseMasterKey(resolved)
		if err != nil {
			return fmt.Errorf("keys[%d]: %w", i, err)
		}
		a.keys = append(a.keys, key)
	}
	var err error
	if a.file, err = placeholder.Resolve(a.File); err != nil {
		return fmt.Errorf("file: %w", err)
	}
	return nil
}

// Validate checks that the options do not contradict each other.
func (a *AES) Validate() error {
	if len(a.Keys) > 0 && a.File != "" {
		return fmt.Errorf("keys and file exclude each other")
	}
	return nil
}

// KeyFile returns the file that contains the key, or "" if the configuration contains keys. dir is the folder of the
// default file.
func (a *AES) KeyFile(dir string) string {
	if len(a.keys) > 0 {
		return ""
	}
	return cmp.Or(a.file, filepath.Join(dir, "tollgate.key"))
}

// Open opens the keyring. dir is the folder of the default key file.
func (a *AES) Open(dir string, logger *zap.Logger) (keyring.Keyring, error) {
	if len(a.keys) > 0 {
		return keyring.NewAES(a.keys...)
	}
	file := a.KeyFile(dir)
	key, created, err := keyring.LoadOrCreateKeyFile(file)
	if err != nil {
		return nil, err
	}
	if created {
		logger.Warn(
			"created a master key file; keep a copy of it apart from the database, without it the stored secrets cannot be read",
			zap.String("file", file))
	}
	return keyring.NewAES(key)
}

// key identifies a keyring: equal keys mean the same keyring. It contains no secret.
type key struct {
	digest [sha256.Size]byte
	file   string
}

// Key returns a value that identifies the keyring among the configurations of this process.
func (a *AES) Key() any { return key{sha256.Sum256(slices.Concat(a.keys...)), a.file} }

// UnmarshalCaddyfile sets up the module from its Caddyfile form:
//
//	aes [<key> [<old key>...]] {
//		file <path>
//	}
func (a *AES) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // the module name
	a.Keys = d.RemainingArgs()
	return directive.Options(d, func(option string) error {
		if option != "file" {
			return directive.NoOption(d, "unknown option %q; there is: file", option)
		}
		return directive.Text(d, &a.File)
	})
}

// Interface guards
var (
	_ caddy.Provisioner     = (*AES)(nil)
	_ caddy.Validator       = (*AES)(nil)
	_ caddyfile.Unmarshaler = (*AES)(nil)
)
