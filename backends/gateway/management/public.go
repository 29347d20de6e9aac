package management

import (
	"net/http"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// liveness reports whether the gateway can work now.
func (s *Service) liveness(c *rest.Call) (any, error) {
	answer := struct {
		Status string            `json:"status"`
		Parts  map[string]string `json:"parts"`
	}{"ok", make(map[string]string)}
	for name, err := range s.Parts(c.R.Context()) {
		answer.Parts[name] = "ok"
		if err != nil {
			answer.Parts[name], answer.Status = "unavailable", "unavailable"
			c.Status = http.StatusServiceUnavailable
		}
	}
	c.W.Header().Set("Cache-Control", "no-store")
	return answer, nil
}

// providers lists the enabled providers of the catalog.
func (s *Service) providers(*rest.Call) (any, error) {
	type provider struct {
		Code string   `json:"code"`
		Name string   `json:"name"`
		Docs string   `json:"docs_url,omitempty"`
		Keys string   `json:"key_url,omitempty"`
		Env  []string `json:"env"`
	}
	list := make([]provider, 0, 16)
	for _, p := range s.Catalog().Providers() {
		list = append(list, provider{p.Code, p.Name, p.DocsURL, p.KeyURL, orEmpty(p.Env)})
	}
	return listIn("providers", list, nil)
}

// price is the price of a model as it is billed.
type price struct {
	Input       float64 `json:"input_usd_per_million_tokens"`
	CachedInput float64 `json:"cached_input_usd_per_million_tokens"`
	Output      float64 `json:"output_usd_per_million_tokens"`

	CacheWrite     float64 `json:"cache_write_usd_per_million_tokens,omitempty"`
	CacheWriteHour float64 `json:"cache_write_1h_usd_per_million_tokens,omitempty"`

	Factors map[string]float64 `json:"factors,omitempty"`
	Calls   map[string]float64 `json:"usd_per_call,omitempty"`
}

// priceOf returns the price of a model, or nil if the price is unknown.
func priceOf(m *catalog.Model) *price {
	if !m.Price.Known {
		return nil
	}
	return &price{
		m.Price.Input, m.Price.CachedInput, m.Price.Output, m.Price.CacheWrite, m.Price.CacheWriteHour, m.Price.Factors,
		m.Price.Calls,
	}
}

// registry lists the models of the enabled providers, with their abilities and prices.
func (s *Service) registry(*rest.Call) (any, error) {
	type model struct {
		ID            string         `json:"id"`
		Provider      string         `json:"provider"`
		Model         string         `json:"model"`
		Name          string         `json:"name"`
		Tiers         []catalog.Tier `json:"tiers"`
		ContextWindow int            `json:"context_window,omitempty"`
		MaxOutput     int            `json:"max_output,omitempty"`
		Modalities    []string       `json:"modalities"`
		Tools         bool           `json:"tools"`
		JSONSchema    bool           `json:"json_schema"`
		Reasoning     bool           `json:"reasoning"`
		Embeddings    bool           `json:"embeddings"`
		Price         *price         `json:"price"`
	}
	cat := s.Catalog()
	list := make([]model, 0, 64)
	for _, p := range cat.Providers() {
		for _, m := range cat.Models(p.Code) {
			entry := model{
				ID: m.EntryID(), Provider: m.Provider, Model: m.ID, Name: m.Name, Tiers: orEmpty(m.Tiers),
				ContextWindow: m.ContextWindow,
				MaxOutput:     m.MaxOutput, Modalities: m.Modalities, Tools: m.Tools, JSONSchema: m.JSONSchema,
				Reasoning: m.Reasoning, Embeddings: m.Embeddings, Price: priceOf(m),
			}
			list = append(list, entry)
		}
	}
	return struct {
		Updated any     `json:"updated"`
		Models  []model `json:"models"`
	}{cat.Updated, list}, nil
}
