package management

import (
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// ownedKeyRoutes returns the routes for the provider keys of the organisation and of teams.
func (s *Service) ownedKeyRoutes() []rest.Route {
	return slices.Concat(
		s.keyRoutesOf("/operator/organisation/provider-keys", "the organisation", "They serve everybody.",
			keychain.OnOrganisation),
		[]rest.Route{{
			Method: "GET", Path: "/operator/provider-keys", Tag: tagOperator, Serve: s.forOperator(s.sharedKeys),
			Answer: "SharedKeyList", Errors: []int{403},
			Summary:     "List the provider keys of the organisation and of all teams",
			Description: "The answer has the keys' limits, health and spending. Keys of users are private and left out.",
		}},
		s.keyRoutesOf("/operator/teams/{team_id}/provider-keys", "a team",
			"The keys serve requests that count for the team. Also for the team's administrators.", keychain.OnTeam))
}

// keyRoutesOf returns the routes for the provider keys of one kind of owner. owner and remark are for the
// documentation: owner names the kind, and remark describes the keys.
func (s *Service) keyRoutesOf(path, owner, remark, kind string) []rest.Route {
	guard := s.forOwner(kind)
	keyPath := path + "/{key_id}"
	return []rest.Route{
		{
			Method: "GET", Path: path, Serve: guard(s.ownedKeys), Answer: "OwnedKeyList", Errors: []int{404},
			Summary: "List the provider keys of " + owner,
			Description: remark +
				" The answer has the keys' limits, health and spending. Their text is never shown.",
		},
		{
			Method: "POST", Path: path, Serve: guard(s.addOwnedKey), Body: "ProviderKeyInput", Answer: "ProviderKey",
			Status: 201, Errors: []int{404, 409},
			Summary: "Store a provider key of " + owner, Description: "It is encrypted before it is stored.",
		},
		{
			Method: "DELETE", Path: keyPath, Serve: guard(s.removeOwnedKey), Errors: []int{404},
			Summary: "Remove a provider key of " + owner,
		},
		{
			Method: "PUT", Path: keyPath + "/limits", Serve: guard(s.limitOwnedKey), Body: "KeyLimits", Answer: "OwnedKey",
			Errors:      []int{404},
			Summary:     "Replace the limits of a provider key of " + owner,
			Description: "A key that has spent a budget is not used until the budget's next period begins.",
		},
		{
			Method: "POST", Path: keyPath + "/test", Serve: guard(s.testOwnedKey), Answer: "ProbeResult", Errors: []int{404},
			Summary: "Try a provider key of " + owner, Description: "Sends one small request to the provider's cheapest model.",
		},
	}
}

// ownedKey is a provider key as shown to the users who may manage it.
type ownedKey struct {
	keychain.OwnedKey
	Health condition `json:"health"`
}

func (s *Service) ownedKeyOf(k *keychain.OwnedKey) ownedKey {
	return ownedKey{*k, conditionOf(s.Engine.Memory.Health.Lookup(k.Provider, k.ID, ""), s.Engine.Now())}
}

func (s *Service) ownedKeys(c *rest.Call, owner keychain.Owner) (any, error) {
	keys, err := s.Keychain.KeysOf(c.R.Context(), owner)
	rows := make([]ownedKey, len(keys))
	for i := range keys {
		rows[i] = s.ownedKeyOf(&keys[i])
	}
	return listInData(rows, err)
}

// sharedKeys lists the provider keys of the organisation and of all teams.
func (s *Service) sharedKeys(c *rest.Call) (any, error) {
	keys, err := s.Keychain.SharedKeys(c.R.Context())
	type row struct {
		Owner  string   `json:"owner"`
		TeamID *string  `json:"team_id"`
		Team   *string  `json:"team"`
		Key    ownedKey `json:"key"`
	}
	rows := make([]row, len(keys))
	for i := range keys {
		k := &keys[i]
		rows[i] = row{Owner: k.Owner.Kind, Key: s.ownedKeyOf(&k.Key)}
		if k.Owner.Kind == keychain.OnTeam {
			rows[i].TeamID, rows[i].Team = &k.Owner.ID, &k.Team
		}
	}
	return listInData(rows, err)
}

func (s *Service) addOwnedKey(c *rest.Call, owner keychain.Owner) (any, error) {
	var in providerKeyInput
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	return s.Keychain.AddKeyOf(c.R.Context(), owner, in.Provider, in.APIKey, in.Label, knownTo(s.Catalog()))
}

// knownTo returns a function that reports whether the catalog has an enabled provider with the code.
func knownTo(cat *catalog.Catalog) func(code string) bool {
	return func(code string) bool {
		_, ok := cat.Provider(code)
		return ok
	}
}

func (s *Service) removeOwnedKey(c *rest.Call, owner keychain.Owner) (any, error) {
	return nil, s.Keychain.DeleteKeyOf(c.R.Context(), owner, c.Path("key_id"))
}

func (s *Service) limitOwnedKey(c *rest.Call, owner keychain.Owner) (any, error) {
	var in keychain.KeyLimits
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	key, err := s.Keychain.LimitKey(c.R.Context(), owner, c.Path("key_id"), in)
	if err != nil {
		return nil, err
	}
	return s.ownedKeyOf(&key), nil
}

// testOwnedKey sends a small request through a key. Auditors must not do so; the guard refuses them because the method
// is POST.
func (s *Service) testOwnedKey(c *rest.Call, owner keychain.Owner) (any, error) {
	candidate, key, err := s.Keychain.ProbeOf(c.R.Context(), s.Catalog(), owner, c.Path("key_id"), c.User())
	if err != nil {
		return nil, err
	}
	return s.probe(c, c.User(), candidate, key)
}
