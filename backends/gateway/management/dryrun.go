package management

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/tidwall/sjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/cascade"
	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/formats"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// dryRunInput either names a model or contains a client's request.
type dryRunInput struct {
	Model   string          `json:"model"`
	Surface string          `json:"surface"`
	Request json.RawMessage `json:"request"`
	// KeyID is the gateway key that the request would be sent with. If it is empty only the limits of the user apply.
	KeyID string `json:"key_id"`
}

type dryRunAnswer struct {
	Model      string         `json:"model"`
	Tier       *string        `json:"tier"` // null if the model is an entry
	Candidates []plannedModel `json:"candidates"`
	Skipped    []plannedModel `json:"skipped"`
	// Error is the error that a client would get before any provider is tried. It is null if there is no such error.
	Error *dryRunError `json:"error"`
}

type plannedModel struct {
	Entry           string  `json:"model_entry"`
	Provider        string  `json:"provider"`
	Tier            string  `json:"tier,omitempty"`
	Reason          *string `json:"reason"` // a code; null if the model would be tried
	Message         *string `json:"message"`
	CooldownSeconds int64   `json:"cooldown_seconds"`
	// Key is the id of the provider key that would be used, or "operator" for the operator's key. It is null for a
	// skipped model.
	Key *string `json:"provider_key_id"`
}

type dryRunError struct {
	Status  int    `json:"status"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// dryRun returns the candidates for a request, in order, and the reasons for which other models are skipped. The
// request is not sent.
func (s *Service) dryRun(c *rest.Call, user string) (any, error) {
	var in dryRunInput
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	req := &cascade.Request{ID: wire.NewID("req_"), User: user}
	ctx, cat := c.R.Context(), s.Catalog()
	if err := s.setIdentity(c, user, in.KeyID, req); err != nil {
		return nil, err
	}
	model, err := readRequest(&in, req)
	if err != nil {
		return nil, err
	}
	if req.Account, err = s.Keychain.Account(ctx, user); err != nil {
		return nil, err
	}
	answer := &dryRunAnswer{Model: model, Candidates: []plannedModel{}, Skipped: []plannedModel{}}
	plan, err := s.Engine.Explain(ctx, req)
	if err != nil {
		refusal, ok := apierror.From(err)
		if !ok {
			return nil, err
		}
		answer.Error = &dryRunError{refusal.Status, refusal.Code, refusal.Message}
		plan = &cascade.Plan{}
		if tier, ok := cascade.ResolveTier(model); ok {
			plan.Tier = tier
		}
	}
	s.addPlan(answer, plan)
	table, err := s.Keychain.Models(ctx, cat, user)
	if err != nil {
		return nil, err
	}
	preferences, err := s.Keychain.Preferences(ctx, user)
	if err != nil {
		return nil, err
	}
	answer.addSkipped(table, preferences, plan.Tier)
	return answer, nil
}

// addPlan adds the tier and the models of a plan to the answer, and an error if no model can be tried.
func (s *Service) addPlan(a *dryRunAnswer, plan *cascade.Plan) {
	if plan.Tier != 0 {
		name := plan.Tier.String()
		a.Tier = &name
	}
	for _, step := range plan.Tried {
		a.Candidates = append(a.Candidates, s.planned(step))
	}
	for _, step := range plan.Skipped {
		a.Skipped = append(a.Skipped, s.planned(step))
	}
	if a.Error == nil && len(plan.Tried) == 0 {
		a.Error = &dryRunError{http.StatusConflict, "no_models_available", "no candidate can be tried now: see skipped"}
	}
}

// addSkipped adds to a.Skipped those entries of the user's model table that the plan does not mention: entries that
// the user has disabled or that the preferences p exclude, and entries whose provider has no key. It considers the
// entries of the tier and of lower tiers, and the entry a.Model. tier is 0 if the request names an entry rather than
// a tier.
func (a *dryRunAnswer) addSkipped(table []keychain.ModelEntry, p keychain.Preferences, tier catalog.Tier) {
	inAnswer := make(map[string]bool) // by entry
	for _, m := range slices.Concat(a.Candidates, a.Skipped) {
		inAnswer[m.Entry] = true
	}
	for i := range table {
		m := &table[i]
		inTiers := tier != 0 && m.Tier != 0 && m.Tier <= tier
		if inAnswer[m.Entry] || (!inTiers && m.Entry != a.Model) {
			continue
		}
		var code, message string
		switch {
		case !m.Enabled:
			code, message = "disabled", "you have disabled this model"
		case !m.ProviderConnected:
			code, message = "provider_not_connected",
				"you have no key of this provider, and your team, the organisation and the operator have none for you"
		case slices.Contains(p.ExcludedProviders, m.Provider):
			code, message = "provider_excluded", "your preferences exclude this provider"
		case slices.Contains(p.ExcludedModels, m.Entry):
			code, message = "model_excluded", "your preferences exclude this model"
		default:
			continue
		}
		inAnswer[m.Entry] = true
		a.Skipped = append(a.Skipped, plannedModel{
			Entry: m.Entry, Provider: m.Provider, Tier: m.Tier.String(), Reason: &code, Message: &message,
		})
	}
}

// planned converts a step of a plan for the response.
func (s *Service) planned(step cascade.Step) plannedModel {
	c := step.Candidate
	m := plannedModel{Entry: c.Entry, Provider: c.Provider.Code, Tier: c.Tier.String(), Key: text(step.Key)}
	if step.Code != "" {
		m.Reason, m.Message = &step.Code, &step.Reason
	}
	if !step.Until.IsZero() {
		m.CooldownSeconds = seconds(step.Until.Sub(s.Engine.Now()))
	}
	return m
}

// setIdentity sets the fields of req that depend on the gateway key with the id keyID, which must be a key of the user.
// If keyID is empty, only the limits of the user apply.
func (s *Service) setIdentity(c *rest.Call, user, keyID string, req *cascade.Request) error {
	var identity *keychain.Identity
	if keyID == "" {
		var err error
		if identity, err = s.Keychain.Keyless(c.R.Context(), user); err != nil {
			return err
		}
	} else {
		keys, err := s.Keychain.Keys(c.R.Context(), user)
		if err != nil {
			return err
		}
		index := slices.IndexFunc(keys, func(k keychain.GatewayKey) bool { return k.ID == keyID })
		if index < 0 {
			return apierror.New(http.StatusNotFound, "not_found", "there is no gateway key %q", rest.Quote(keyID)).With("key_id")
		}
		identity = keys[index].Identity()
	}
	req.EffortMode, req.TeamID = identity.EffortMode, identity.TeamID
	if identity.Restricted() {
		req.Forbids = identity.Forbids
	}
	if identity.RestrictsTools() {
		req.AdmitTools = identity.AdmitTools
	}
	return nil
}

// readRequest parses the request in the input, or creates a short one for the model in the input. It returns the
// requested model.
func readRequest(input *dryRunInput, req *cascade.Request) (model string, err error) {
	hasRequest := input.Request != nil
	if !hasRequest {
		if input.Model == "" || input.Surface != "" {
			return "", apierror.New(http.StatusBadRequest, "missing_required_parameter",
				"give a model, or a surface and a request").With("model")
		}
		text, err := sjson.SetBytes([]byte(`{"messages":[{"role":"user","content":"Hi"}]}`), "model", input.Model)
		if err != nil {
			return "", err
		}
		input.Surface, input.Request = formats.Chat().Facts().Surface, text
	}
	format, ok := formats.OfSurface(input.Surface)
	if !ok {
		return "", apierror.New(http.StatusBadRequest, "invalid_value", "surface must be one of %s",
			surfaces).With("surface")
	}
	if input.Model != "" && hasRequest && format.Facts().ModelPath == "" { // the model is not in the path
		return "", apierror.New(http.StatusBadRequest, "invalid_value",
			"give either model or request: the request names its own model").With("model")
	}
	if err := req.Read(format, input.Request, hub.ReadOptions{Model: input.Model}); err != nil {
		if e, ok := apierror.From(err); ok && e.Param != "" {
			e.Param = "request." + e.Param
		}
		return "", err
	}
	_, model, _ = req.Asked()
	return model, nil
}

// surfaces lists the names of all surfaces, for error messages.
var surfaces = formats.Names(formats.All(), func(f *hub.Facts) string { return f.Surface })
