package board

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/sealed"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// newWebhookSecret makes a secret, sealed for the address: it signs nothing that
// goes elsewhere.
func (s *Service) newWebhookSecret(ctx context.Context, address string) (secret, sealed string, err error) {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // never fails
	secret = webhookSecretPrefix + base64.RawURLEncoding.EncodeToString(raw)
	ring, err := s.keyring()
	if err != nil {
		return "", "", err
	}
	if ring == nil {
		return secret, plainPrefix + secret, nil
	}
	sealed, err = ring.Seal(ctx, []byte(secret), webhookPlace(address))
	return secret, sealed, kernel.Wrap("sealing the secret of a webhook", err)
}

func (s *Service) openWebhookSecret(ctx context.Context, address, sealed string) ([]byte, error) {
	if secret, ok := strings.CutPrefix(sealed, plainPrefix); ok {
		return []byte(secret), nil
	}
	ring, err := s.keyring()
	if err != nil {
		return nil, err
	}
	if ring == nil {
		return nil, keyring.ErrOpen
	}
	secret, err := ring.Open(ctx, sealed, webhookPlace(address))
	return secret, kernel.Wrap("opening the secret of a webhook", err)
}

func webhookPlace(address string) []byte { return []byte("board_webhooks/secret/" + address) }

// SealedSample is some of the sealed texts in a database.
func SealedSample(ctx context.Context, db *store.DB) (sample []sealed.Text, err error) {
	texts, err := sealedSecrets(ctx, db)
	for _, t := range texts {
		sample = append(sample, sealed.Text{Sealed: t.sealed, Associated: string(webhookPlace(t.url))})
	}
	return sample, err
}

type sealedSecret struct {
	id          int64
	url, sealed string
}

func sealedSecrets(ctx context.Context, db *store.DB) (texts []sealedSecret, err error) {
	err = db.Read(ctx, func(c store.Conn) error {
		texts = nil
		return c.All("SELECT id, url, secret FROM board_webhooks ORDER BY id", nil, func(r store.Row) error {
			var t sealedSecret
			err := r.Scan(&t.id, &t.url, &t.sealed)
			if !strings.HasPrefix(t.sealed, plainPrefix) {
				texts = append(texts, t)
			}
			return err
		})
	})
	return texts, err
}

// Reencrypt makes the first key of the keyring the one that all nodes seal with,
// which they must have, and seals the secrets of webhooks anew that are under another
// one. Those of unreadable stay as they are.
func (s *Service) Reencrypt(ctx context.Context) (resealed, unreadable int, err error) {
	ring, err := s.keyring()
	if err != nil || ring == nil {
		return 0, 0, err
	}
	if err := keyring.Advance(ctx, ring); err != nil {
		return 0, 0, kernel.Unavailable(err)
	}
	texts, err := sealedSecrets(ctx, s.DB)
	if err != nil {
		return 0, 0, kernel.Unavailable(err)
	}
	for _, t := range texts {
		if ring.Current(t.sealed) {
			continue
		}
		secret, err := ring.Open(ctx, t.sealed, webhookPlace(t.url))
		if errors.Is(err, keyring.ErrOpen) {
			unreadable++
			continue
		}
		fresh := ""
		if err == nil {
			fresh, err = ring.Seal(ctx, secret, webhookPlace(t.url))
		}
		if err == nil {
			err = s.Write(ctx, func(c store.Conn) error {
				_, err := c.Exec("UPDATE board_webhooks SET secret = ? WHERE id = ? AND secret = ?", fresh, t.id, t.sealed)
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

// keyring is what encrypts secrets; nil: there is none.
func (s *Service) keyring() (keyring.Keyring, error) {
	if s.Options.Keyring == nil {
		return nil, nil //nolint:nilnil // a board need not have one
	}
	ring, err := s.Options.Keyring()
	if err != nil {
		return nil, apierror.Unavailable("the keyring", err)
	}
	return ring, nil
}
