// Package encryption seals (encrypts and authenticates) texts that must not be readable in the database: private keys
// and the credentials of other servers. A sealed text is bound to its place, which is its table, row and column, and
// cannot be opened at another place.
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
	"github.com/tollgate-gateway/tollgate/internal/sealed"
)

// Encryptor seals and opens texts for a place. If a text cannot be opened, the error of Open wraps keyring.ErrOpen.
type Encryptor = sealed.Sealer

// ErrNone means that no encryptor is configured.
var ErrNone = errors.New("data_encryption.driver is not set, so nothing can be stored encrypted")

// Place returns the place of a text in the database. Seal binds the text to it.
func Place(table, row, column string) []byte { return []byte(table + "/" + row + "/" + column) }

const (
	version   = 1
	idSize    = 4
	nonceSize = 12
	// label is the salt for deriving keys.
	label = "tollgate authserver data encryption"
)

// Master seals with AES-256-GCM. Each place has a separate key, which is derived from the master key with HKDF-SHA-256.
// A sealed text is base64url(version (1) | key id (4) | nonce (12) | ciphertext and tag).
type Master struct {
	current masterKey
	old     *masterKey // only for opening
}

type masterKey struct {
	id     [idSize]byte
	secret []byte
}

// NewMaster returns an encryptor that seals with the master key currentKey, which consists of 64 hex digits. The
// encryptor also opens texts that were sealed with the former master key formerKey, which may be empty.
func NewMaster(currentKey, formerKey string) (*Master, error) {
	key, err := parse(currentKey)
	if err != nil {
		return nil, err
	}
	m := &Master{current: key}
	if formerKey == "" {
		return m, nil
	}
	former, err := parse(formerKey)
	if err != nil {
		return nil, fmt.Errorf("the old key: %w", err)
	}
	m.old = &former
	return m, nil
}

// parse parses a master key. The error does not contain the text.
func parse(text string) (k masterKey, err error) {
	k.secret, err = hex.DecodeString(text)
	if err != nil || len(k.secret) != 32 {
		return masterKey{}, errors.New("a master key must have 64 hex digits")
	}
	sum := sha256.Sum256(k.secret)
	copy(k.id[:], sum[:])
	return k, nil
}

// aead returns the cipher for a place, with a key that is derived from the master key.
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

// split decodes a sealed text and returns the master key whose id it contains. The key is nil if this encryptor does
// not have it.
func (m *Master) split(sealed string) (raw []byte, key *masterKey) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(sealed)
	if err != nil || base64.RawURLEncoding.EncodedLen(len(raw)) != len(sealed) || len(raw) < 1+idSize+nonceSize ||
		raw[0] != version {
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
