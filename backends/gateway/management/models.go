package management

import (
	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

func (s *Service) listModels(c *rest.Call, user string) (any, error) {
	models, err := s.Keychain.Models(c.R.Context(), s.Catalog(), user)
	return listIn("models", models, err)
}

// modelInput is the body for a custom model.
type modelInput struct {
	Entry    string `json:"model_entry"`
	BaseURL  string `json:"base_url"`
	Model    string `json:"model"`
	Tier     string `json:"tier"`
	Wire     string `json:"wire"`
	APIKey   string `json:"api_key"`
	Priority int64  `json:"priority"`
}

func (s *Service) addModel(c *rest.Call, user string) (any, error) {
	var in modelInput
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	tier, err := catalog.ParseTier(in.Tier)
	if err != nil {
		return nil, apierror.New(400, "invalid_value", "tier must be one of low, medium, high").With("tier")
	}
	return s.Keychain.AddModel(c.R.Context(), user, keychain.CustomModel{
		Entry: in.Entry, BaseURL: in.BaseURL, Wire: in.Wire, Model: in.Model, Tier: tier, APIKey: in.APIKey,
		Priority: in.Priority,
	})
}

// modelChange is the body of an update. Absent members leave their values unchanged.
type modelChange struct {
	Enabled  *bool  `json:"enabled"`
	Priority *int64 `json:"priority"`
}

func (s *Service) changeModel(c *rest.Call, user string) (any, error) {
	var in modelChange
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	return s.Keychain.ChangeModel(c.R.Context(), s.Catalog(), user, c.Path("model_id"), keychain.ModelChange(in))
}

func (s *Service) removeModel(c *rest.Call, user string) (any, error) {
	return nil, s.Keychain.RemoveModel(c.R.Context(), user, c.Path("model_id"))
}

func (s *Service) preferences(c *rest.Call, user string) (any, error) {
	p, err := s.Keychain.Preferences(c.R.Context(), user)
	return withLists(p), err
}

func (s *Service) setPreferences(c *rest.Call, user string) (any, error) {
	var in keychain.Preferences
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	return withLists(in), s.Keychain.SetPreferences(c.R.Context(), s.Catalog(), user, in)
}

// withLists replaces nil lists by empty lists, so that JSON has arrays.
func withLists(p keychain.Preferences) keychain.Preferences {
	p.PreferredProviders, p.ExcludedProviders, p.ExcludedModels = orEmpty(p.PreferredProviders),
		orEmpty(p.ExcludedProviders), orEmpty(p.ExcludedModels)
	return p
}
