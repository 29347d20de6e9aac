package keyring

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/osfile"
)

// MasterKeySize is the size of a master key in bytes.
const MasterKeySize = 32

const (
	aesPrefix = "aes1."
	saltSize  = 16
	idSize    = 4
)

// AES is a Keyring that seals with AES-256-GCM. Each text has a separate key, derived from the master key and a random
// salt by HKDF-SHA-256 (RFC 5869). No nonce is therefore used twice with the same key, however many texts there are.
//
// A sealed text is "aes1." + base64url(key id (4 bytes) | salt (16) | ciphertext and tag).
type AES struct {
	current *masterKey                  // the newest key, which seals
	keys    map[[idSize]byte]*masterKey // all keys by id
	order   []*masterKey                // all keys, the newest first
}

// masterKey is a master key with its id, which is derived from the key.
type masterKey struct {
	id     [idSize]byte
	secret []byte
}

// NewAES makes a keyring from master keys. The keyring seals with the first key and opens with any: to rotate, put the
// new key first, seal everything again, and remove the old key.
func NewAES(masterKeys ...[]byte) (*AES, error) {
	if len(masterKeys) == 0 {
		return nil, errors.New("a keyring needs at least one master key")
	}
	a := &AES{keys: make(map[[idSize]byte]*masterKey)}
	for i, secret := range masterKeys {
		if len(secret) != MasterKeySize {
			return nil, fmt.Errorf("master key %d has %d bytes, it must have %d", i+1, len(secret), MasterKeySize)
		}
		k := &masterKey{secret: bytes.Clone(secret)}
		id, err := hkdf.Key(sha256.New, secret, nil, "tollgate keyring id", idSize)
		if err != nil {
			return nil, fmt.Errorf("deriving the id of master key %d: %w", i+1, err)
		}
		copy(k.id[:], id)
		if existing := a.keys[k.id]; existing != nil {
			if !bytes.Equal(existing.secret, secret) { // has a chance of one in four billion
				return nil, fmt.Errorf("master key %d has the same id as another master key, replace it", i+1)
			}
			continue
		}
		if i == 0 {
			a.current = k
		}
		a.keys[k.id] = k
		a.order = append(a.order, k)
	}
	return a, nil
}

// aead returns the cipher for the text with the given salt.
func (k *masterKey) aead(salt []byte) (cipher.AEAD, error) {
	return AEAD(k.secret, salt, "tollgate keyring text")
}

// AEAD returns AES-256-GCM with a key that HKDF-SHA256 derives from secret, salt and info. info names the purpose of
// the key.
func AEAD(secret, salt []byte, info string) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, secret, salt, info, 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// Seal implements Keyring.
func (a *AES) Seal(_ context.Context, plaintext, associated []byte) (string, error) {
	head := make([]byte, idSize+saltSize, idSize+saltSize+len(plaintext)+16)
	copy(head, a.current.id[:])
	salt := head[idSize:]
	_, _ = rand.Read(salt) // never fails since Go 1.24
	aead, err := a.current.aead(salt)
	if err != nil {
		return "", fmt.Errorf("sealing: %w", err)
	}
	// The key is used for this text only, so the nonce may be constant.
	sealed := aead.Seal(head, make([]byte, aead.NonceSize()), plaintext, associated) //nolint:gosec // G407: one key, one text
	return aesPrefix + base64.RawURLEncoding.EncodeToString(sealed), nil
}

// Open implements Keyring.
func (a *AES) Open(_ context.Context, sealed string, associated []byte) ([]byte, error) {
	raw, key, ok := a.split(sealed)
	if !ok {
		return nil, ErrOpen
	}
	aead, err := key.aead(raw[idSize : idSize+saltSize])
	if err != nil {
		return nil, fmt.Errorf("opening: %w", err)
	}
	plaintext, err := aead.Open(nil, make([]byte, aead.NonceSize()), raw[idSize+saltSize:], associated)
	if err != nil {
		return nil, ErrOpen
	}
	return plaintext, nil
}

// Derive implements Keyring with HKDF-SHA-256.
func (a *AES) Derive(_ context.Context, label string) ([][]byte, error) {
	keys := make([][]byte, 0, len(a.order))
	for _, k := range a.order {
		key, err := hkdf.Key(sha256.New, k.secret, nil, "tollgate derived "+label, 32)
		if err != nil {
			return nil, fmt.Errorf("deriving a key: %w", err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// Current implements Keyring.
func (a *AES) Current(sealed string) bool {
	_, key, ok := a.split(sealed)
	return ok && key == a.current
}

// As implements Keyring.
func (a *AES) As(sealed string) (Keyring, error) {
	_, key, ok := a.split(sealed)
	if !ok {
		return nil, ErrOpen
	}
	if key == a.current {
		return a, nil
	}
	others := slices.DeleteFunc(slices.Clone(a.order), func(k *masterKey) bool { return k == key })
	return &AES{current: key, keys: a.keys, order: append([]*masterKey{key}, others...)}, nil
}

// split decodes a sealed text and finds its master key. ok is false if the text is malformed or the key is unknown.
func (a *AES) split(sealed string) (raw []byte, key *masterKey, ok bool) {
	text, ok := strings.CutPrefix(sealed, aesPrefix)
	if !ok {
		return nil, nil, false
	}
	// Strict decoding without line ends ensures that each sealed text has only one spelling.
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) < idSize+saltSize || strings.ContainsAny(text, "\r\n") {
		return nil, nil, false
	}
	key = a.keys[[idSize]byte(raw[:idSize])]
	return raw, key, key != nil
}

// ParseMasterKey parses a master key written as 64 hex digits or as 32 bytes in base64.
func ParseMasterKey(text string) ([]byte, error) {
	text = strings.TrimSpace(text)
	if key, err := hex.DecodeString(text); err == nil && len(key) == MasterKeySize {
		return key, nil
	}
	text = strings.TrimRight(text, "=")
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		if key, err := encoding.DecodeString(text); err == nil && len(key) == MasterKeySize {
			return key, nil
		}
	}
	return nil, errors.New("a master key is 32 bytes as base64 or hex; make one with: openssl rand -base64 32")
}

// LoadOrCreateKeyFile reads the master key in a file. If the file does not exist it makes the file (mode 0600) with a
// random key, and returns created as true. Two processes that call it at the same time get the same key.
func LoadOrCreateKeyFile(path string) (key []byte, created bool, err error) {
	key, err = readKeyFile(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, false, err
	}
	newKey := NewMasterKey()
	if err := MakeKeyFile(path, base64.StdEncoding.EncodeToString(newKey)+"\n"); err != nil {
		return nil, false, err
	}
	key, err = readKeyFile(path) // another process may have created the file first
	return key, err == nil && bytes.Equal(key, newKey), err
}

// NewMasterKey returns a random master key.
func NewMasterKey() []byte {
	key := make([]byte, MasterKeySize)
	_, _ = rand.Read(key) // never fails since Go 1.24
	return key
}

// MakeKeyFile makes a file with the given text that only this user can read (mode 0600), and its folder. If the file
// exists, also because another process made it at the same time, it stays unchanged.
func MakeKeyFile(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("creating the folder of the key file: %w", err)
	}
	// The file is written under another name and then linked, so that it appears complete and only once.
	temp, err := os.CreateTemp(filepath.Dir(path), ".key-*") // mode 0600
	if err != nil {
		return fmt.Errorf("creating the key file: %w", err)
	}
	defer func() { _ = os.Remove(temp.Name()) }()
	_, err = temp.WriteString(text)
	err = errors.Join(err, temp.Sync(), temp.Close())
	if err != nil {
		return fmt.Errorf("writing the key file: %w", err)
	}
	if err := os.Link(temp.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("creating the key file: %w", err)
	}
	_ = osfile.SyncFolder(filepath.Dir(path)) // some file systems cannot do it
	return nil
}

// KeyFileMissing reports whether a key file does not exist. It returns false for an empty path, which stands for a
// keyring without a file.
func KeyFileMissing(path string) bool {
	_, err := os.Stat(path)
	return path != "" && errors.Is(err, fs.ErrNotExist)
}

// readKeyFile reads the master key in a file.
func readKeyFile(path string) ([]byte, error) {
	text, err := ReadKeyFile(path, 1024)
	if err != nil {
		return nil, err
	}
	key, err := ParseMasterKey(text)
	if err != nil {
		return nil, fmt.Errorf("key file %s: %w", path, err)
	}
	return key, nil
}

// ReadKeyFile reads a file of at most limit bytes. It returns an error if other users may read the file.
func ReadKeyFile(path string, limit int64) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !osfile.Private(info) {
		return "", fmt.Errorf("the key file %s can be read by others; run: chmod 600 %s", path, path)
	}
	if info.Size() > limit {
		return "", fmt.Errorf("the key file %s is larger than %d bytes", path, limit)
	}
	text, err := os.ReadFile(path)
	return string(text), err
}
