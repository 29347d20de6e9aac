package management

import (
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

type providerKeyInput struct {
	Provider string `json:"provider"`
	APIKey   string `json:"api_key"`
	Label    string `json:"key_label"`
}

func (s *Service) listProviderKeys(c *rest.Call, user string) (any, error) {
	keys, err := s.Keychain.ProviderKeys(c.R.Context(), user)
	return listIn("keys", keys, err)
}

func (s *Service) addProviderKey(c *rest.Call, user string) (any, error) {
	var in providerKeyInput
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	cat := s.Catalog()
	if err := keychain.RefuseOwnKeys(cat); err != nil {
		return nil, err
	}
	return s.Keychain.AddProviderKey(c.R.Context(), user, in.Provider, in.APIKey, in.Label, knownTo(cat))
}

func (s *Service) removeProviderKey(c *rest.Call, user string) (any, error) {
	return nil, s.Keychain.DeleteProviderKey(c.R.Context(), user, c.Path("key_id"))
}
