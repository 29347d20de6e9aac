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

// NewSecret makes a secret for the webhook whose URL is address. sealed is the stored form of the secret, which
// cannot be used with another URL. The caller shows the secret once to the person who adds the webhook.
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
	if sealed, err = ring.Seal(ctx, []byte(secret), associatedData(h.hooks, address)); err != nil {
		return "", "", fmt.Errorf("encrypting the secret of a webhook: %w", err)
	}
	return secret, sealed, nil
}

// openSecret decrypts the stored form of a webhook's secret. It returns an error that wraps keyring.ErrOpen for a
// secret that cannot be decrypted, and another error if the keyring cannot be used for now.
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
	secret, err := ring.Open(ctx, sealed, associatedData(h.hooks, address))
	if err != nil {
		return nil, fmt.Errorf("decrypting the secret of a webhook: %w", err)
	}
	return secret, nil
}

// associatedData returns the data that binds an encrypted secret to the table and to the webhook's URL.
func associatedData(table, address string) []byte { return []byte(table + "/secret/" + address) }

// Sealed returns the column that holds the sealed secrets of a service's webhooks. The names of the service's webhook
// tables begin with prefix.
func Sealed(prefix string) sealed.Columns {
	table := prefix + "_webhooks"
	return sealed.Columns{{
		Table: table, ID: "id", Number: true, Text: "secret", Where: "secret NOT LIKE '" + plainPrefix + "%'", Row: "url",
		Place: func(address string) string { return string(associatedData(table, address)) },
	}}
}
