package management

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/cascade"
	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/modelaccess"
	"github.com/tollgate-gateway/tollgate/backends/gateway/ownprices"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// offerRoutes returns the routes by which operators see the catalog's models and set prices.
func (s *Service) offerRoutes() []rest.Route {
	return []rest.Route{
		{
			Method: "GET", Path: "/operator/models", Serve: s.forOperator(s.offer), Answer: "OfferList",
			Summary: "List the models on offer",
			Description: "The answer has their prices, who may use them, and the health of the shared keys as this node knows it. " +
				"Limits of single gateway keys are left out.",
		},
		{
			Method: "GET", Path: "/operator/prices", Serve: s.forOperator(s.prices), Answer: "OwnPriceList",
			Summary:     "List the own prices",
			Description: "They replace list prices. Those of the configured file are left out.",
		},
		{
			Method: "PUT", Path: "/operator/prices/{name...}", Serve: s.forOperator(s.setPrice), Body: "OwnPriceInput",
			Answer: "OwnPrice", Errors: []int{404, 409},
			Summary: "Set an own price",
			Description: "The name is that of a model or, with a star at its end as in openai/*, a prefix of names. The price applies from the next request, on other nodes within 5 seconds; " +
				"earlier spending does not change.",
		},
		{
			Method: "DELETE", Path: "/operator/prices/{name...}", Serve: s.forOperator(s.removePrice), Errors: []int{404},
			Summary: "Remove an own price",
		},
	}
}

// offered is a model of the catalog as operators see it.
type offered struct {
	ID            string         `json:"id"`
	Provider      string         `json:"provider"`
	ProviderName  string         `json:"provider_name"`
	Name          string         `json:"name"`
	Tiers         []catalog.Tier `json:"tiers"`
	ContextWindow int            `json:"context_window"`
	// Price is nil if the price is unknown. It has the form of price files.
	Price *catalog.Price `json:"price"`
	// OwnPrice is the name of the operator's price from which Price was computed, or null for a list price.
	OwnPrice *string            `json:"own_price"`
	Access   modelaccess.Access `json:"access"`
	// Health is nil if no key for this model serves more than one user.
	Health *condition `json:"health"`
}

// offer lists the models of the enabled providers for operators.
func (s *Service) offer(c *rest.Call) (any, error) {
	cat := s.Catalog()
	access, err := modelaccess.Read(c.R.Context(), s.Keychain.DB(), cat, time.Now())
	if err != nil {
		return nil, err
	}
	rows := make([]offered, 0, 128)
	for _, p := range cat.Providers() {
		for _, m := range cat.Models(p.Code) {
			model := offered{
				ID: m.EntryID(), Provider: p.Code, ProviderName: p.Name, Name: m.Name, Tiers: orEmpty(m.Tiers),
				ContextWindow: m.ContextWindow, OwnPrice: text(m.OwnPrice), Access: access.To(m),
			}
			if m.Price.Known {
				model.Price = &m.Price
			}
			keys := access.SharedKeys(p.Code)
			if model.Access.Keys.Operator {
				keys = append(slices.Clone(keys), p.KeyID)
			}
			model.Health = s.modelHealth(p.Code, m.ID, keys)
			rows = append(rows, model)
		}
	}
	return listInData(rows, nil)
}

// modelHealth returns the health of a model. keyIDs are the ids of the usable keys; if there are none, the result is
// nil. The health with one key is the worse of the key's health and of the model's cooldown with that key.
// modelHealth returns the best health of all keys. While the whole provider is cooling down, the result is no better
// than the health of the provider.
func (s *Service) modelHealth(provider, model string, keyIDs []string) *condition {
	if len(keyIDs) == 0 {
		return nil
	}
	table, now := s.Engine.Memory.Health, s.Engine.Now()
	var best *condition
	for _, id := range keyIDs {
		health := conditionOf(table.Lookup(provider, id, ""), now)
		ofModel := table.Lookup(provider, id, model)
		if !ofModel.Until.IsZero() && statusOrder[ofModel.Status] > statusOrder[health.Status] {
			health = conditionOf(ofModel, now)
		}
		if best == nil || statusOrder[health.Status] < statusOrder[best.Status] {
			best = &health
		}
	}
	ofProvider := table.Provider(provider, "")
	if ofProvider.Status == cascade.CoolingDown && statusOrder[ofProvider.Status] > statusOrder[best.Status] {
		health := conditionOf(ofProvider, now)
		return &health
	}
	return best
}

// ownPrice is a stored price of the operator.
type ownPrice struct {
	Name  string          `json:"name"`
	Price json.RawMessage `json:"price"`
}

func (s *Service) prices(c *rest.Call) (any, error) {
	list, err := ownprices.List(c.R.Context(), s.Keychain)
	rows := make([]ownPrice, len(list))
	for i, e := range list {
		rows[i] = ownPrice{e.Name, json.RawMessage(e.Text)}
	}
	return listInData(rows, err)
}

func (s *Service) setPrice(c *rest.Call) (any, error) {
	var in json.RawMessage
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	entry, err := ownprices.Put(c.R.Context(), s.Keychain, s.Catalog(), c.Path("name"), in)
	if err != nil {
		return nil, err
	}
	return ownPrice{entry.Name, json.RawMessage(entry.Text)}, s.Reprice(c.R.Context())
}

func (s *Service) removePrice(c *rest.Call) (any, error) {
	if err := ownprices.Remove(c.R.Context(), s.Keychain, c.Path("name")); err != nil {
		return nil, err
	}
	return nil, s.Reprice(c.R.Context())
}
