package keychain

import (
	"context"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// ProviderKey is a user's key at a provider. Its text is stored sealed and
// never shown again.
type ProviderKey struct {
	ID        string    `json:"id"`
	Provider  string    `json:"provider"`
	Label     string    `json:"key_label"`
	Masked    string    `json:"masked"`
	CreatedAt time.Time `json:"created_at"`
}

// associated binds a sealed provider key to its row.
func (k *ProviderKey) associated() []byte { return []byte("gateway_provider_keys/" + k.ID) }

// maxProviderKeys bounds the keys of one user: all of them are decrypted
// together.
const maxProviderKeys = 200

// AddProviderKey seals and stores a key. known tells the provider codes that
// are enabled; another one is refused.
func (s *Service) AddProviderKey(ctx context.Context, userID, provider, key, label string, known func(code string) bool) (*ProviderKey, error) {
	key = strings.TrimSpace(key)
	if !known(provider) {
		return nil, invalid("provider", "provider %q is not one of the enabled provider codes", provider)
	}
	if err := checkText("api_key", key, 1, 1000); err != nil {
		return nil, err
	}
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, invalid("api_key", "api_key must be printable ASCII without spaces")
	}
	if err := checkText("key_label", label, 0, 100); err != nil {
		return nil, err
	}
	row := &ProviderKey{
		ID: "pk_" + random(20), Provider: provider, Label: label, Masked: mask(key),
		CreatedAt: s.now().UTC().Truncate(time.Microsecond),
	}
	sealed, err := s.ring.Seal(ctx, []byte(key), row.associated())
	if err != nil {
		return nil, err
	}
	err = s.changeAccount(ctx, userID, func(c store.Conn) error {
		if err := s.requireUser(c, userID); err != nil {
			return err
		}
		return s.insertProviderKey(c, userID, row, sealed)
	})
	if err != nil {
		return nil, err
	}
	return row, nil
}

// ProviderKeys lists a user's provider keys, oldest first.
func (s *Service) ProviderKeys(ctx context.Context, userID string) ([]ProviderKey, error) {
	rows, err := s.selectProviderKeys(ctx, userID)
	if err != nil {
		return nil, err
	}
	keys := make([]ProviderKey, len(rows))
	for i := range rows {
		keys[i] = rows[i].ProviderKey
	}
	return keys, nil
}

// DeleteProviderKey removes a key of the user.
func (s *Service) DeleteProviderKey(ctx context.Context, userID, id string) error {
	return s.changeAccount(ctx, userID, func(c store.Conn) error {
		return s.deleteProviderKey(c, userID, id)
	})
}
