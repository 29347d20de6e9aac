// Package encryption seals what must not be readable in the database: private keys,
// credentials of other servers. A sealed text is bound to its place: table, row and
// column.
package encryption

import (
	"context"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/tollgate-gateway/tollgate/internal/keyring"
)

// Encryptor seals and opens. A keyring.Keyring is one.
type Encryptor interface {
	// Seal encrypts for a place.
	Seal(ctx context.Context, plaintext, place []byte) (string, error)
	// Open decrypts what was sealed for that place; the error wraps keyring.ErrOpen
	// when it cannot.
	Open(ctx context.Context, sealed string, place []byte) ([]byte, error)
	// Current reports whether a text was sealed with the newest key.
	Current(sealed string) bool
}

// ErrNone is the error of what needs an encryptor where none is configured.
var ErrNone = errors.New("data_encryption.driver is not set, so nothing can be stored encrypted")

// Place names a column of a row.
func Place(table, row, column string) []byte { return []byte(table + "/" + row + "/" + column) }

const (
	version   = 1
	idSize    = 4
	nonceSize = 12
	// label is the salt of the keys of single values.
	label = "tollgate authserver data encryption"
)

// Master seals with AES-256-GCM under a key for each place, which HKDF-SHA-256 makes of
// the master key. A sealed text is base64url(version (1) | key id (4) | nonce (12) |
// ciphertext and tag).
type Master struct {
	current masterKey
	old     *masterKey // opens only
}

type masterKey struct {
	id     [idSize]byte
	secret []byte
}

// NewMaster makes an encryptor of master keys of 64 hex digits. The old one, which may
// be empty, opens only.
func NewMaster(current, old string) (*Master, error) {
	key, err := parse(current)
	if err != nil {
		return nil, err
	}
	m := &Master{current: key}
	if old == "" {
		return m, nil
	}
	former, err := parse(old)
	if err != nil {
		return nil, fmt.Errorf("the old key: %w", err)
	}
	m.old = &former
	return m, nil
}

func parse(text string) (k masterKey, err error) {
	k.secret, err = hex.DecodeString(text)
	if err != nil || len(k.secret) != 32 {
		return masterKey{}, errors.New("a master key must have 64 hex digits") // which are not told
	}
	sum := sha256.Sum256(k.secret)
	copy(k.id[:], sum[:])
	return k, nil
}

func (k *masterKey) aead(place []byte) (cipher.AEAD, error) {
	return keyring.AEAD(k.secret, []byte(label), string(place))
}

// Seal implements Encryptor.
func (m *Master) Seal(_ context.Context, plaintext, place []byte) (string, error) {
	aead, err := m.current.aead(place)
	if err != nil {
		return "", fmt.Errorf("sealing: %w", err)
	}
	out := make([]byte, 1+idSize+nonceSize, 1+idSize+nonceSize+len(plaintext)+aead.Overhead())
	out[0] = version
	copy(out[1:], m.current.id[:])
	nonce := out[1+idSize:]
	_, _ = rand.Read(nonce) // never fails
	return base64.RawURLEncoding.EncodeToString(aead.Seal(out, nonce, plaintext, place)), nil
}

// Open implements Encryptor.
func (m *Master) Open(_ context.Context, sealed string, place []byte) ([]byte, error) {
	raw, key := m.split(sealed)
	if key == nil {
		return nil, keyring.ErrOpen
	}
	aead, err := key.aead(place)
	if err != nil {
		return nil, fmt.Errorf("opening: %w", err)
	}
	plaintext, err := aead.Open(nil, raw[1+idSize:1+idSize+nonceSize], raw[1+idSize+nonceSize:], place)
	if err != nil {
		return nil, keyring.ErrOpen
	}
	return plaintext, nil
}

// Current implements Encryptor.
func (m *Master) Current(sealed string) bool {
	_, key := m.split(sealed)
	return key == &m.current
}

// split finds the key of a sealed text by its id; nil: none of ours.
func (m *Master) split(sealed string) (raw []byte, key *masterKey) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(sealed)
	if err != nil || base64.RawURLEncoding.EncodedLen(len(raw)) != len(sealed) || len(raw) < 1+idSize+nonceSize || raw[0] != version {
		return nil, nil
	}
	switch id := [idSize]byte(raw[1 : 1+idSize]); {
	case id == m.current.id:
		return raw, &m.current
	case m.old != nil && id == m.old.id:
		return raw, m.old
	}
	return nil, nil
}

// Interface guards
var (
	_ Encryptor = (*Master)(nil)
	_ Encryptor = keyring.Keyring(nil)
)
