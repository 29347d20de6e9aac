package cascade

import (
	"net/http"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/chat/native"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/formats"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// PseudoModels are the model names that choose a tier, in the order in which they are listed.
var PseudoModels = []struct {
	ID   string
	Tier catalog.Tier
}{
	{"keychain-low", catalog.Low},
	{"keychain-medium", catalog.Medium},
	{"keychain-high", catalog.High},
	{"vendor-haiku-4-5", catalog.Low},
	{"vendor-sonnet-4-6", catalog.Medium},
	{"vendor-opus-4-6", catalog.High},
}

// families are the parts of vendor model names that choose a tier.
var families = []struct {
	part string
	tier catalog.Tier
}{
	{"haiku", catalog.Low},
	{"sonnet", catalog.Medium},
	{"opus", catalog.High},
	{"fable", catalog.High},
	{"mythos", catalog.High},
}

// ResolveTier returns the tier to which a model name refers. The suffixes and prefixes that clients add (a date, [1m],
// anthropic/) do not matter, since the name of the family may stand anywhere in the model name.
func ResolveTier(model string) (catalog.Tier, bool) {
	if tier, ok := PseudoTier(model); ok {
		return tier, true
	}
	lower := strings.ToLower(model)
	for _, f := range families {
		if strings.Contains(lower, f.part) {
			return f.tier, true
		}
	}
	return 0, false
}

// PseudoTier returns the tier of a pseudo-model.
func PseudoTier(model string) (catalog.Tier, bool) {
	for i := range PseudoModels {
		if PseudoModels[i].ID == model {
			return PseudoModels[i].Tier, true
		}
	}
	return 0, false
}

// plan returns the candidates of a request in the order in which they are tried. The errors are 400 no_provider_keys,
// 403 permission_denied, 404 model_not_found, 409 no_models_available and 400 context_length_exceeded.
func (r *run) plan() ([]*keychain.Candidate, error) {
	cat := r.Catalog()
	routing := r.req.Account.RoutingFor(cat, r.req.TeamID)
	r.resolve(routing)
	model := r.model
	entry, isEntry := routing.Entry(model)
	exact := r.exactMatches(routing)
	entryRequested := isEntry && !isPseudo(model)
	var tier catalog.Tier
	if entryRequested {
		tier = entry.Tier
	} else {
		var known bool
		if tier, known = r.tierOf(model, exact); !known {
			return nil, notFound(r.req, model, routing)
		}
		r.result.Tier = tier
	}
	if entryRequested && !r.Options.EntryFallback { // no other candidate may answer
		if list := r.req.forbids(entry); list != "" {
			return nil, notAllowed(model, list)
		}
	}
	if !routing.Connected {
		return nil, noProviderKeys()
	}
	r.stay = r.stayed()
	// The requested entry, or the models of exactly the requested name, come before the rest of their tier. The lower
	// tiers follow, so that some model answers.
	usable := filter{run: r}
	if entryRequested {
		usable.add([]*keychain.Candidate{entry})
	} else {
		usable.add(exact)
	}
	if !entryRequested || r.Options.EntryFallback {
		for t := tier; t >= catalog.Low; t-- {
			usable.add(r.tier(routing, t))
		}
	}
	if len(usable.list) == 0 {
		return nil, usable.noCandidates()
	}
	return usable.list, nil
}

// tierOf returns the tier of a request whose model is not an entry's name. exact are the models with exactly that
// name. A tier of 0 means that only these models may answer. known is false if no model has the name, the name refers
// to no tier, and there is no default tier.
func (r *run) tierOf(model string, exact []*keychain.Candidate) (tier catalog.Tier, known bool) {
	if len(exact) > 0 && len(exact[0].Model.Tiers) > 0 {
		return exact[0].Tier, true
	}
	if tier, named := ResolveTier(model); named {
		return r.byEffort(tier), true
	}
	return r.Options.DefaultTier, r.Options.DefaultTier != 0 || len(exact) > 0
}

// resolve replaces the client's model name by the target of its alias. Routing and permissions are decided as if the
// client had sent the target.
func (r *run) resolve(routing *keychain.Routing) {
	if target := routing.Resolve(r.model); target != r.model {
		r.model, r.aliased = target, true
	}
}

// exactMatches returns the candidates that have the requested name as their model id and that the sender may use. An
// entry is left out if its whole name with the provider was requested, since such a name asks for that entry alone.
func (r *run) exactMatches(routing *keychain.Routing) []*keychain.Candidate {
	if isPseudo(r.model) {
		return nil
	}
	named := routing.Named(strings.TrimSuffix(r.model, "[1m]"))
	if r.req.Forbids == nil {
		return named
	}
	var allowed []*keychain.Candidate
	for _, c := range named {
		if r.req.forbids(c) == "" {
			allowed = append(allowed, c)
		}
	}
	return allowed
}

// noProviderKeys returns the error with status 400 for a user without provider keys.
func noProviderKeys() error {
	return &apierror.Error{
		Status: http.StatusBadRequest, Code: "no_provider_keys", Type: "invalid_request_error", NoRetry: true,
		Message: "no provider keys are configured for this user: add one with `tollgate keychain provider-keys add`",
	}
}

// notAllowed returns the error for a model that is missing from a list of allowed models. listName is the name of
// that list.
func notAllowed(model, listName string) error {
	return &apierror.Error{
		Status: http.StatusForbidden, Code: "permission_denied", Type: "permission_error", Param: "model", NoRetry: true,
		Message: "this key may not use the model \"" + wire.Mask(model, 100) + "\": it is not one of " + listName,
	}
}

// byEffort returns the tier of a request after its reasoning effort was taken into account. A tier that the client
// requested by its name does not change.
func (r *run) byEffort(tier catalog.Tier) catalog.Tier {
	if isPseudo(r.model) || r.req.EffortMode == keychain.EffortModelWins {
		return tier
	}
	var effortTier catalog.Tier
	switch r.clientFormat.TierEffort(r.req.Hub) {
	case "low":
		effortTier = catalog.Low
	case "medium":
		effortTier = catalog.Medium
	case "high", "xhigh", "max":
		effortTier = catalog.High
	default:
		return tier
	}
	if r.req.EffortMode == keychain.EffortMax {
		return max(tier, effortTier)
	}
	return effortTier
}

// hasRemoteImage reports whether the request refers to an image by an address instead of including it.
func (r *run) hasRemoteImage() bool {
	if r.req.Chat != nil {
		return r.req.Chat.Traits&native.TraitRemoteImage != 0
	}
	for i := range r.req.Hub.Messages {
		for _, p := range r.req.Hub.Messages[i].Parts {
			if p.Kind == hub.PartImage && !strings.HasPrefix(p.URL, "data:") {
				return true
			}
		}
	}
	return false
}

// formatFor returns the format in which a candidate would be asked.
func (r *run) formatFor(c *keychain.Candidate) formats.Upstream { return r.chooseFormat(c, r.shape(c)) }

// cannotExpress reports whether the format for a candidate cannot express a need of the request.
func (r *run) cannotExpress(c *keychain.Candidate, need wire.Needs) bool {
	return r.formatFor(c).Facts().Lacks&need != 0
}

// refusesHTTPImage reports whether the request has an image at an http address and the format for a candidate accepts
// only https addresses.
func (r *run) refusesHTTPImage(c *keychain.Candidate) bool {
	if !r.hasRemoteImage() || r.clientFormat.Facts().HTTPSImages || !r.formatFor(c).Facts().HTTPSImages {
		return false
	}
	h, err := r.hub()
	return err == nil && slices.ContainsFunc(h.Messages, func(m hub.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p hub.Part) bool {
			return p.Kind == hub.PartImage && !strings.HasPrefix(p.URL, "data:") && !strings.HasPrefix(p.URL, "https://")
		})
	})
}

// isPseudo reports whether a model name is one of the gateway's own names of tiers, such as keychain-low.
func isPseudo(model string) bool { return strings.HasPrefix(model, catalog.TierPrefix) }

// notFound returns the error for an unknown model. It lists the names that would be accepted, as GET /v1/models does.
func notFound(req *Request, model string, routing *keychain.Routing) error {
	names := make([]string, 0, 8)
	for _, p := range PseudoModels {
		names = append(names, p.ID)
	}
	entries := slices.DeleteFunc(routing.Entries(), func(name string) bool {
		entry, _ := routing.Entry(name)
		return req.forbids(entry) != ""
	})
	ending := ""
	if len(entries) > 20 {
		entries, ending = entries[:20], ", … (GET /v1/models lists all)"
	}
	return &apierror.Error{
		Status: http.StatusNotFound, Code: "model_not_found", Type: "not_found_error", Param: "model", NoRetry: true,
		Message: "there is no model \"" + wire.Mask(model, 100) + "\" for this key; use one of " +
			strings.Join(append(names, entries...), ", ") + ending,
	}
}

// filter collects candidates that can carry the request.
type filter struct {
	run      *run
	list     []*keychain.Candidate
	examined int    // number of candidates added or left out
	tooSmall int    // candidates left out for their context window
	missing  string // what the candidate left out last lacks; empty if it lacks nothing but may not be used
	// forbidden is the name of a list of allowed models. A candidate that can carry the request was left out because it is
	// missing from this list. The name is empty if no candidate was left out for this reason.
	forbidden string
}

// add appends the usable candidates of one tier. The candidate with which the conversation stays comes first. A
// candidate comes last if its provider is failing, or if it has no JSON schemas and the request needs them.
func (f *filter) add(tier []*keychain.Candidate) {
	var last []*keychain.Candidate
	start := len(f.list)
	for _, c := range tier {
		if f.has(c) {
			continue
		}
		f.examined++
		lack, list := f.lacks(c), f.run.req.forbids(c)
		if lack != "" || list != "" {
			f.leaveOut(c, lack, list)
			continue
		}
		failing := f.run.Memory.Health.failing(ProviderScope(c), f.run.req.User)
		if failing {
			f.run.markMoved()
		}
		switch {
		case failing || f.run.emulatesSchema(c):
			last = append(last, c)
		case c.Entry == f.run.stay.entry:
			f.list = slices.Insert(f.list, start, c)
		default:
			f.list = append(f.list, c)
		}
	}
	f.list = append(f.list, last...)
}

// leaveOut records why the candidate c is left out. If a plan has no candidates, its error names the reason for the
// candidate that was left out last. lack names the feature that c lacks. If lack is empty, c is missing from a list
// of allowed models, and listName is the name of that list.
func (f *filter) leaveOut(c *keychain.Candidate, lack, listName string) {
	switch lack {
	case "":
		f.forbidden = listName
	case lackWindow:
		f.tooSmall++
	}
	f.missing = lack
	if f.run.explains {
		f.run.skip(c, lack, listName)
	}
}

// has reports whether a candidate's entry is already in the list. An entry may belong to several tiers.
func (f *filter) has(c *keychain.Candidate) bool {
	for _, other := range f.list {
		if other.Entry == c.Entry {
			return true
		}
	}
	return false
}

const (
	lackWindow        = "a context window that is large enough"
	lackFiles         = "file input"
	lackPrefill       = "support for continuing an assistant message (assistant prefill)"
	lackOwnFormat     = "support for the client's API format"
	lackOtherEndpoint = "support for this endpoint: use POST /v1/embeddings"
)

// lacks returns the name of the first feature of the request that a candidate lacks, or "" if the candidate can carry
// the request.
func (f *filter) lacks(c *keychain.Candidate) string {
	m, needs := c.Model, f.run.needs
	switch {
	case m.Embeddings:
		return lackOtherEndpoint
	case len(m.Endpoints) > 0:
		return "support for this endpoint: use POST /v1/" + m.Endpoints[0]
	case needs == 0: // only the context window remains to be compared
	case needs&wire.NeedOwnFormat != 0 && (!c.Provider.NativeTools || !f.run.keepsClientBytes(c, f.run.formatFor(c))):
		return lackOwnFormat
	case needs&wire.NeedImage != 0 && !m.Accepts(catalog.ModalityImage):
		return "image input"
	case needs&wire.NeedImage != 0 && c.Provider.Shape.DataURLImages && f.run.hasRemoteImage():
		return "support for images at remote addresses (include the image as a data URL)"
	case needs&wire.NeedImage != 0 && f.run.refusesHTTPImage(c):
		return "support for images at http addresses (use https)"
	case needs&wire.NeedFile != 0 && !m.Accepts(catalog.ModalityFile):
		return lackFiles
	case needs&wire.NeedAudio != 0 && (!m.Accepts(catalog.ModalityAudio) || f.run.cannotExpress(c, wire.NeedAudio)):
		return "audio input"
	case needs&wire.NeedTools != 0 && !m.Tools:
		return "tools"
	case needs&wire.NeedPrefill != 0 && !m.Prefill:
		return lackPrefill
	case needs&wire.NeedChoices != 0 &&
		(f.run.cannotExpress(c, wire.NeedChoices) || !f.run.acceptsUnchanged(c, f.run.shape(c))):
		return "support for several choices (n above 1)"
	}
	// Usual texts have fewer than six bytes a token, so a prompt that exceeds the window by this measure cannot fit. A
	// prompt that may fit is tried.
	if m.ContextWindow > 0 && f.run.promptBytes/6 > int64(m.ContextWindow) {
		return lackWindow
	}
	return ""
}

// untranslatable returns the error for a request that cannot be translated, so that only an upstream of the client's
// own format can carry it. It returns nil for any other request.
func (r *run) untranslatable() *apierror.Error {
	if r.req.Hub == nil {
		return nil
	}
	err, _ := apierror.From(r.req.Hub.OwnFormatError)
	return err
}

// noCandidates returns the error for a plan without candidates.
func (f *filter) noCandidates() error {
	if f.examined > 0 && f.tooSmall == f.examined {
		return contextTooLong()
	}
	message := "no model is available for this request: all candidates of the tier and below are disabled, excluded, or of providers without a key"
	if f.examined > 0 {
		message = "no model is available for this request: no candidate of the tier and below "
		if f.missing != "" {
			message += "has " + f.missing
		} else {
			message += "is one of " + f.forbidden
		}
	}
	if untranslatable := f.run.untranslatable(); untranslatable != nil && f.forbidden != "" {
		return &apierror.Error{
			Status: http.StatusConflict, Code: "no_models_available", Type: "invalid_request_error", Param: untranslatable.Param,
			NoRetry: true,
			Message: "no model is available for this request, since the models that can carry it are not among " + f.forbidden +
				": " + untranslatable.Message,
		}
	} else if untranslatable != nil && f.missing == lackOwnFormat {
		return untranslatable
	}
	status := http.StatusConflict
	mistakes := f.run.clientFormat.Facts().Mistakes // needs whose lack is reported as the client's mistake
	if mistakes&wire.NeedFile != 0 && f.missing == lackFiles ||
		mistakes&wire.NeedPrefill != 0 && f.missing == lackPrefill {
		status = http.StatusBadRequest
	}
	return &apierror.Error{
		Status: status, Code: "no_models_available", Type: "invalid_request_error", Message: message, NoRetry: true,
	}
}
