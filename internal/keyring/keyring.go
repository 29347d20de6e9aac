// Package keyring encrypts data that must not be readable in the database: provider keys, broker tokens, stored
// answers.
package keyring

import (
	"context"
	"errors"
)

// ErrOpen is wrapped by the error of Open for a sealed text that cannot be opened with the configured keys: it was
// sealed with another key or other associated data, or a byte has changed. The error does not distinguish these cases,
// on purpose.
var ErrOpen = errors.New("sealed text does not open with the configured keys")

// Keyring seals and opens small secrets.
//
// The associated data binds a sealed text to its place (for example "provider_keys/api_key/<row id>"): text moved to
// another row does not open.
type Keyring interface {
	// Seal encrypts plaintext and returns printable text that contains the master key's id.
	Seal(ctx context.Context, plaintext, associated []byte) (string, error)
	// Open decrypts a text that Seal returned. The error wraps ErrOpen if that is not possible.
	Open(ctx context.Context, sealed string, associated []byte) ([]byte, error)
	// Derive returns keys of 32 bytes for the purpose that label names, one for each master key. The first one is that of
	// the newest master key.
	Derive(ctx context.Context, label string) ([][]byte, error)
	// Current reports whether sealed was made with the newest key. If not, it should be sealed again (rotation).
	Current(sealed string) bool
	// As returns a keyring like this one, except that its newest key is the key with which sealed was made. The error
	// wraps ErrOpen if this keyring does not have that key.
	As(sealed string) (Keyring, error)
}

// Advance makes every node seal with the newest key from now on. It calls the method Advance of a keyring that has one,
// such as a sealed.Ring, whose nodes seal with the key that a database records. For other keyrings it does nothing,
// because they always seal with the newest key.
func Advance(ctx context.Context, ring Keyring) error {
	if shared, ok := ring.(interface {
		Advance(ctx context.Context) error
	}); ok {
		return shared.Advance(ctx)
	}
	return nil
}
