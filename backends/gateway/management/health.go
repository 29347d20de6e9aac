package management

import (
	"math"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/cascade"
	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// condition is the health of a provider, of a key, or of a model used through a key, according to this node.
type condition struct {
	Status          cascade.Status `json:"status"`
	Reason          *string        `json:"reason"`
	CooldownSeconds int64          `json:"cooldown_seconds"`
	LastSuccess     *time.Time     `json:"last_success_at"`
	LastFailure     *time.Time     `json:"last_failure_at"`
	Last429         *time.Time     `json:"last_429_at"`
}

type providerHealth struct {
	Provider string `json:"provider"`
	Name     string `json:"name"`
	condition
	LastMinute int64       `json:"requests_last_minute"`
	LastDay    int64       `json:"requests_last_day"`
	Keys       []keyHealth `json:"keys"`
}

// keyHealth is the health of a key that the user can use. Masked shows a part of a key that belongs to the user. It is
// empty for keys of others.
type keyHealth struct {
	ID     string `json:"key_id"`
	Label  string `json:"key_label"`
	Masked string `json:"masked"`
	condition
	LastMinute int64          `json:"requests_last_minute"`
	LastDay    int64          `json:"requests_last_day"`
	Models     []coolingModel `json:"cooling_models"`
}

// coolingModel is a model that is cooling down with one key.
type coolingModel struct {
	Model string `json:"model"`
	condition
}

// sharedLabels replace the labels of keys that do not belong to the user.
var sharedLabels = map[string]string{
	keychain.OnTeam:         "key of the team",
	keychain.OnOrganisation: "key of the organisation",
	keychain.OperatorKey:    "key of the operator",
}

// health lists the health of the providers for which the user can use a key, and of the user's own servers. A shared
// key has the same health for all its users.
func (s *Service) health(c *rest.Call, user string) (any, error) {
	keys, err := s.Keychain.ProviderKeys(c.R.Context(), user)
	if err != nil {
		return nil, err
	}
	cat := s.Catalog()
	models, err := s.Keychain.Models(c.R.Context(), cat, user)
	if err != nil {
		return nil, err
	}
	account, err := s.Keychain.Account(c.R.Context(), user)
	if err != nil {
		return nil, err
	}
	list := []providerHealth{}
	usable := account.KeysFor(cat, account.Team()) // by provider; includes the keys of others that the user may use
	for _, p := range cat.Providers() {
		provider := providerHealth{Provider: p.Code, Name: p.Name, Keys: []keyHealth{}}
		for i := range keys {
			if keys[i].Provider == p.Code {
				provider.Keys = append(provider.Keys, s.ownKeyHealth(p.Code, &keys[i], cat.Models(p.Code)))
			}
		}
		for i := range usable[p.Code] {
			if key := &usable[p.Code][i]; key.Shared() {
				shown := keychain.ProviderKey{ID: key.PublicID(), Label: sharedLabels[key.Owner]}
				provider.Keys = append(provider.Keys, s.keyHealth(p.Code, &shown, key, cat.Models(p.Code)))
			}
		}
		if len(provider.Keys) > 0 {
			s.summarizeKeys(&provider, p.Code, user)
			list = append(list, provider)
		}
	}
	for i := range models {
		if m := &models[i]; m.IsCustom {
			server := providerHealth{Provider: m.Provider, Name: m.Entry}
			key := keychain.ProviderKey{ID: m.ID, Label: m.Entry}
			server.Keys = []keyHealth{s.ownKeyHealth(m.BaseURL, &key, []*catalog.Model{{ID: m.Model}})}
			s.summarizeKeys(&server, m.BaseURL, user)
			list = append(list, server)
		}
	}
	return listIn("providers", list, nil)
}

// ownKeyHealth returns the health of one of the user's own keys. The parameters are those of keyHealth.
func (s *Service) ownKeyHealth(scope string, key *keychain.ProviderKey, models []*catalog.Model) keyHealth {
	return s.keyHealth(scope, key, &keychain.Key{ID: key.ID, Mine: key.ID}, models)
}

// keyHealth returns the health of a key and the user's traffic through it. scope names the provider in the health
// table of the engine: its code or, for a custom model, its base URL. shownKey has the key's id and labels for the
// response. Of the given models, the result lists those that are cooling down with the key.
func (s *Service) keyHealth(
	scope string, shownKey *keychain.ProviderKey, key *keychain.Key, models []*catalog.Model,
) keyHealth {
	memory, now := s.Engine.Memory, s.Engine.Now()
	k := keyHealth{
		ID: shownKey.ID, Label: shownKey.Label, Masked: shownKey.Masked, Models: []coolingModel{},
		condition: conditionOf(memory.Health.Key(scope, key, ""), now),
	}
	k.LastMinute, k.LastDay = memory.Traffic.Lookup(scope, key.Mine)
	for _, m := range models {
		if state := memory.Health.Key(scope, key, m.ID); !state.Until.IsZero() {
			k.Models = append(k.Models, coolingModel{m.ID, conditionOf(state, now)})
		}
	}
	return k
}

// statusOrder orders the statuses, the best one first.
var statusOrder = map[cascade.Status]int{
	cascade.Active: 0, cascade.Untested: 1, cascade.CoolingDown: 2, cascade.NoCredit: 3, cascade.InvalidKey: 4,
}

// summarizeKeys sets the health of provider p, and its numbers of requests, from p.Keys, which must not be empty. The
// numbers are the sums over all keys, and the times are the latest times of all keys. The status is that of the key
// with the best status, because requests are sent through this key. If the provider itself is cooling down, for the
// user or for all users, the status is that of the provider. scope names the provider in the health table, as for
// keyHealth.
func (s *Service) summarizeKeys(p *providerHealth, scope, user string) {
	p.condition = conditionOf(s.Engine.Memory.Health.Provider(scope, user), s.Engine.Now())
	best := &p.Keys[0]
	for i := range p.Keys {
		k := &p.Keys[i]
		p.LastMinute += k.LastMinute
		p.LastDay += k.LastDay
		p.LastSuccess = later(p.LastSuccess, k.LastSuccess)
		p.LastFailure = later(p.LastFailure, k.LastFailure)
		p.Last429 = later(p.Last429, k.Last429)
		for j := range k.Models {
			p.Last429 = later(p.Last429, k.Models[j].Last429)
		}
		if statusOrder[k.Status] < statusOrder[best.Status] {
			best = k
		}
	}
	if p.Status != cascade.CoolingDown {
		p.Status, p.Reason, p.CooldownSeconds = best.Status, best.Reason, best.CooldownSeconds
	}
}

// conditionOf converts an entry of the cascade's health table for the response. The remaining cooldown is counted from
// now.
func conditionOf(state cascade.State, now time.Time) condition {
	c := condition{
		Status: state.Status, LastSuccess: optionalTime(state.LastSuccess), LastFailure: optionalTime(state.LastFailure),
		Last429: optionalTime(state.Last429),
	}
	if !state.Until.IsZero() {
		c.CooldownSeconds = seconds(state.Until.Sub(now))
	}
	if state.Reason != "" {
		c.Reason = &state.Reason
	}
	return c
}

// seconds returns a duration in seconds, rounded up, or 0 if it is negative.
func seconds(d time.Duration) int64 { return int64(math.Ceil(max(0, d.Seconds()))) }

// optionalTime returns t in UTC, truncated to milliseconds, or nil for the zero time.
func optionalTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC().Truncate(time.Millisecond)
	return &t
}

// later returns the later of two times. A nil time is earlier than any other.
func later(a, b *time.Time) *time.Time {
	if a == nil || (b != nil && b.After(*a)) {
		return b
	}
	return a
}

// testKey sends a small request through one of the user's provider keys.
func (s *Service) testKey(c *rest.Call, user string) (any, error) {
	account, err := s.Keychain.Account(c.R.Context(), user)
	if err != nil {
		return nil, err
	}
	candidate, key, err := account.Probe(s.Catalog(), c.Path("key_id"))
	if err != nil {
		return nil, err
	}
	return s.probe(c, user, candidate, key)
}

// probe sends a small request of a user through a key.
func (s *Service) probe(c *rest.Call, user string, candidate *keychain.Candidate, key keychain.Key) (any, error) {
	probe, err := s.Engine.Probe(c.R.Context(), user, candidate, key)
	if err != nil {
		return nil, err
	}
	answer := struct {
		OK        bool           `json:"ok"`
		Provider  string         `json:"provider"`
		Model     string         `json:"model"`
		LatencyMS int64          `json:"latency_ms"`
		Status    cascade.Status `json:"status"`
		Error     *probeFailure  `json:"error"`
	}{OK: probe.OK, Provider: candidate.Provider.Code, Model: probe.Model, LatencyMS: probe.Latency.Milliseconds()}
	answer.Status = s.Engine.Memory.Health.Lookup(cascade.ProviderScope(candidate), key.ID, "").Status
	if f := probe.Failure; f != nil {
		answer.Error = &probeFailure{f.Status, f.Code, f.Message}
	}
	return answer, nil
}

type probeFailure struct {
	Status  int    `json:"status"` // 0 means no HTTP response
	Code    string `json:"code"`
	Message string `json:"message"`
}
