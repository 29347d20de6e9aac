package webhook

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/sealed"
)

const (
	secretPrefix = "whsec_"
	// plainPrefix marks a secret that was stored without a keyring.
	plainPrefix = "plain."
)

// NewSecret makes a secret for a webhook with a URL. sealed is the stored form, which cannot be used with another URL.
// The caller shows the secret once to the person who adds the webhook.
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

// Sealed returns the column of the sealed secrets of a service's webhooks, whose tables begin with prefix.
func Sealed(prefix string) sealed.Columns {
	table := prefix + "_webhooks"
	return sealed.Columns{{
		Table: table, ID: "id", Number: true, Text: "secret", Where: "secret NOT LIKE '" + plainPrefix + "%'", Row: "url",
		Place: func(address string) string { return string(place(table, address)) },
	}}
}
