// Package keyring encrypts what must not be readable in the database: provider keys, broker tokens, stored answers.
package keyring

import (
	"context"
	"errors"
)

// ErrOpen is in the chain of every error of Open which means that the sealed text cannot be opened with the configured
// keys: another key, other associated data, or a changed byte. It says no more on purpose.
var ErrOpen = errors.New("sealed text does not open with the configured keys")

// Keyring seals and opens small secrets.
//
// associated binds the sealed text to its place (for example
// "provider_keys/api_key/<row id>"): text moved to another row does not open.
type Keyring interface {
	// Seal encrypts plaintext and returns printable text that names the key.
	Seal(ctx context.Context, plaintext, associated []byte) (string, error)
	// Open decrypts what Seal returned. The error wraps ErrOpen if that is not possible.
	Open(ctx context.Context, sealed string, associated []byte) ([]byte, error)
	// Derive returns keys of 32 bytes for the purpose label: first that of the newest master key, then those of the
	// others.
	Derive(ctx context.Context, label string) ([][]byte, error)
	// Current reports whether sealed was made with the newest key. If not, it should be sealed again (rotation).
	Current(sealed string) bool
	// As returns the keyring with the key that made sealed as the newest one. The error wraps ErrOpen if there is no
	// such key.
	As(sealed string) (Keyring, error)
}

// Advance makes every node seal with the newest key from now on, if ring is one that a database keeps in step. Other
// keyrings do so anyway.
func Advance(ctx context.Context, ring Keyring) error {
	if held, ok := ring.(interface {
		Advance(ctx context.Context) error
	}); ok {
		return held.Advance(ctx)
	}
	return nil
}
