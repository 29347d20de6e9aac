package encryption

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/transit"
)

// transitTag is the prefix of a ciphertext of a key management server.
const transitTag = "transit:"

// Transit seals and opens with a key of a key management server. A sealed text is a tag followed by the server's
// ciphertext.
type Transit struct {
	key    *transit.Key
	newest atomic.Int64 // the newest version of the key that has been seen
}

// NewTransit returns an encryptor with a key of the type aes256-gcm96.
func NewTransit(key *transit.Key) *Transit { return &Transit{key: key} }

// Seal implements Encryptor.
func (t *Transit) Seal(ctx context.Context, plaintext, place []byte) (string, error) {
	text, err := t.key.Encrypt(ctx, plaintext, place)
	if err != nil {
		return "", err
	}
	t.setNewest(text)
	return transitTag + text, nil
}

// Open implements Encryptor.
func (t *Transit) Open(ctx context.Context, sealed string, place []byte) ([]byte, error) {
	text, ok := strings.CutPrefix(sealed, transitTag)
	if !ok || transit.CipherVersion(text) == 0 {
		return nil, keyring.ErrOpen
	}
	plaintext, err := t.key.Decrypt(ctx, text, place)
	if refused, ok := errors.AsType[*transit.RefusedError](err); ok && refused.Status == http.StatusBadRequest {
		return nil, keyring.ErrOpen
	}
	if err == nil {
		t.setNewest(text)
	}
	return plaintext, err
}

// Current implements Encryptor. It compares the text's key version with the newest version that this process has seen.
func (t *Transit) Current(sealed string) bool {
	text, ok := strings.CutPrefix(sealed, transitTag)
	return ok && int64(transit.CipherVersion(text)) >= max(1, t.newest.Load())
}

// Refresh determines the newest version of the key.
func (t *Transit) Refresh(ctx context.Context) error {
	_, err := t.Seal(ctx, nil, []byte("newest"))
	return err
}

// setNewest records the key version of a ciphertext if it is newer than all versions seen before.
func (t *Transit) setNewest(text string) {
	for version := int64(transit.CipherVersion(text)); ; {
		newest := t.newest.Load()
		if version <= newest || t.newest.CompareAndSwap(newest, version) {
			return
		}
	}
}

// chain seals with the first encryptor and opens with any.
type chain []Encryptor

// Chain returns an encryptor that seals with the first of several encryptors and opens texts of any of them. Nil
// encryptors are ignored. If all are nil, Chain returns nil.
func Chain(encryptors ...Encryptor) Encryptor {
	var c chain
	for _, e := range encryptors {
		if e != nil {
			c = append(c, e)
		}
	}
	switch len(c) {
	case 0:
		return nil
	case 1:
		return c[0]
	}
	return c
}

// Seal implements Encryptor.
func (c chain) Seal(ctx context.Context, plaintext, place []byte) (string, error) {
	return c[0].Seal(ctx, plaintext, place)
}

// Open implements Encryptor.
func (c chain) Open(ctx context.Context, sealed string, place []byte) (plaintext []byte, err error) {
	for _, e := range c {
		if plaintext, err = e.Open(ctx, sealed, place); !errors.Is(err, keyring.ErrOpen) {
			return plaintext, err
		}
	}
	return nil, err
}

// Current implements Encryptor.
func (c chain) Current(sealed string) bool { return c[0].Current(sealed) }

// Refresh determines the newest key of the first encryptor.
func (c chain) Refresh(ctx context.Context) error { return refresh(ctx, c[0]) }

// refresh calls the method Refresh of an encryptor, if it has one.
func refresh(ctx context.Context, e Encryptor) error {
	if refresher, ok := e.(interface {
		Refresh(ctx context.Context) error
	}); ok {
		return refresher.Refresh(ctx)
	}
	return nil
}

// Interface guards
var (
	_ Encryptor = (*Transit)(nil)
	_ Encryptor = chain(nil)
)
