package webhook

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/sealed"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

const (
	secretPrefix = "whsec_"
	// plainPrefix marks a secret that was stored without a keyring.
	plainPrefix = "plain."
)

// NewSecret makes a secret and also returns it sealed for the URL, so that it can sign only what goes there. The caller
// shows the secret once to the person who asked for it.
func (h *Hooks) NewSecret(ctx context.Context, address string) (secret, sealed string, err error) {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // never fails
	secret = secretPrefix + base64.RawURLEncoding.EncodeToString(raw)
	ring, err := h.Keyring()
	if err != nil {
		return "", "", err
	}
	if ring == nil {
		return secret, plainPrefix + secret, nil
	}
	if sealed, err = ring.Seal(ctx, []byte(secret), place(h.hooks, address)); err != nil {
		return "", "", fmt.Errorf("sealing the secret of a webhook: %w", err)
	}
	return secret, sealed, nil
}

func (h *Hooks) openSecret(ctx context.Context, address, sealed string) ([]byte, error) {
	if secret, ok := strings.CutPrefix(sealed, plainPrefix); ok {
		return []byte(secret), nil
	}
	ring, err := h.Keyring()
	if err != nil {
		return nil, err
	}
	if ring == nil {
		return nil, keyring.ErrOpen
	}
	secret, err := ring.Open(ctx, sealed, place(h.hooks, address))
	if err != nil {
		return nil, fmt.Errorf("opening the secret of a webhook: %w", err)
	}
	return secret, nil
}

// place returns the associated data that binds a secret to its URL.
func place(table, address string) []byte { return []byte(table + "/secret/" + address) }

// SealedSample returns the sealed texts of a service's webhooks, as a sample for package sealed.
func SealedSample(ctx context.Context, db *store.DB, prefix string) (sample []sealed.Text, err error) {
	h := New(Options{DB: db, Prefix: prefix})
	texts, err := h.sealedSecrets(ctx)
	for _, t := range texts {
		sample = append(sample, sealed.Text{Sealed: t.sealed, Associated: string(place(h.hooks, t.url))})
	}
	return sample, err
}

type sealedSecret struct {
	id          int64
	url, sealed string
}

func (h *Hooks) sealedSecrets(ctx context.Context) (texts []sealedSecret, err error) {
	err = h.DB.Read(ctx, func(c store.Conn) error {
		texts, err = store.List(c, func(r store.Row) (t sealedSecret, err error) {
			return t, r.Scan(&t.id, &t.url, &t.sealed)
		}, "SELECT id, url, secret FROM "+h.hooks+" WHERE secret NOT LIKE '"+plainPrefix+"%' ORDER BY id")
		return err
	})
	return texts, err
}

// Reencrypt makes all nodes seal with the first key of the keyring, which all must have, and seals again the secrets
// that are sealed with another one. Secrets that cannot be opened are counted in unreadable and stay as they are.
func (h *Hooks) Reencrypt(ctx context.Context) (resealed, unreadable int, err error) {
	ring, err := h.Keyring()
	if err != nil || ring == nil {
		return 0, 0, err
	}
	if err := keyring.Advance(ctx, ring); err != nil {
		return 0, 0, err
	}
	texts, err := h.sealedSecrets(ctx)
	if err != nil {
		return 0, 0, err
	}
	for _, t := range texts {
		if ring.Current(t.sealed) {
			continue
		}
		secret, err := ring.Open(ctx, t.sealed, place(h.hooks, t.url))
		if errors.Is(err, keyring.ErrOpen) {
			unreadable++
			continue
		}
		fresh := ""
		if err == nil {
			fresh, err = ring.Seal(ctx, secret, place(h.hooks, t.url))
		}
		if err == nil {
			err = h.DB.Write(ctx, func(c store.Conn) error {
				_, err := c.Exec("UPDATE "+h.hooks+" SET secret = ? WHERE id = ? AND secret = ?", fresh, t.id, t.sealed)
				return err
			})
		}
		if err != nil {
			return resealed, unreadable, err
		}
		resealed++
	}
	return resealed, unreadable, nil
}
