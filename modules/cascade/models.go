package cascade

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway"
	"github.com/tollgate-gateway/tollgate/backends/gateway/cascade"
	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/modellist"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
)

// usableModels is the set of models that a key can use.
type usableModels struct {
	h        *Handler
	routing  *keychain.Routing
	identity *keychain.Identity
	now      time.Time
}

// models answers GET /v1/models and GET /v1/models/{id}.
func (h *Handler) models(w http.ResponseWriter, r *http.Request, id string) error {
	gw, identity, err := h.client(r)
	if err != nil {
		return err
	}
	account, err := gw.Keychain.Account(r.Context(), identity.UserID)
	if err != nil {
		return statusError(gateway.Unavailable(err))
	}
	o := &usableModels{h, account.RoutingFor(h.app.Catalog(), identity.TeamID), identity, time.Now()}
	if id != "" {
		if m, ok := o.named(id); ok {
			return writeJSON(w, m)
		}
		return refuse(http.StatusNotFound, "model_not_found",
			"there is no model \""+wire.Mask(id, 100)+"\" for this key; GET /v1/models lists all")
	}
	all := o.list()
	if r.Header.Get("Anthropic-Version") == "" { // only clients of the messages format send it
		answer := struct {
			Object string                 `json:"object"`
			Data   []modellist.Model      `json:"data"`
			Models []modellist.CodexModel `json:"models,omitempty"`
		}{Object: "list", Data: all}
		if r.URL.Query().Has("client_version") { // only Codex sends this parameter
			answer.Models = modellist.Codex(all)
		}
		return writeJSON(w, answer)
	}
	if h.ClaudeNames {
		all = o.forClaude(all)
	}
	page, hasMore, err := selectPage(all, r)
	if err != nil {
		return err
	}
	answer := struct {
		Data    []modellist.Model `json:"data"`
		HasMore bool              `json:"has_more"`
		FirstID *string           `json:"first_id"`
		LastID  *string           `json:"last_id"`
	}{Data: page, HasMore: hasMore}
	if len(page) > 0 {
		answer.FirstID, answer.LastID = &page[0].ID, &page[len(page)-1].ID
	}
	return writeJSON(w, answer)
}

// named returns the model or tier that would serve a request for a name, for GET /v1/models/{id}. Since clients look up
// a name before they use it, named accepts all names that requests may use; list leaves out most names of tiers. It
// returns false if the key may not use the entry with that name. It also returns false if neither a model nor a tier
// has the name and there is no default tier.
func (o *usableModels) named(id string) (modellist.Model, bool) {
	target := o.routing.Resolve(id)
	if tier, known := cascade.PseudoTier(target); known {
		return o.tier(target, tier).Alias(id), true
	}
	if c, isEntry := o.routing.Entry(target); isEntry {
		return modellist.Entry(target, c, o.now).Alias(id), o.identity.Forbids(c) == ""
	}
	for _, c := range o.routing.Named(strings.TrimSuffix(target, "[1m]")) {
		if o.identity.Forbids(c) == "" {
			return modellist.Entry(c.Entry, c, o.now).Alias(id), true
		}
	}
	tier, known := cascade.ResolveTier(target)
	if !known {
		tier, known = o.h.options.DefaultTier, o.h.options.DefaultTier != 0
	}
	return o.tier(id, tier), known
}

// tier describes a name that the gateway defines for a tier.
func (o *usableModels) tier(id string, tier catalog.Tier) modellist.Model {
	for _, c := range o.routing.Tier(tier) {
		if o.identity.Forbids(c) == "" {
			return modellist.Tier(id, tier, c)
		}
	}
	return modellist.Tier(id, tier, nil)
}

// list returns the names that the gateway defines, then the aliases, then the user's entries that the key may use.
func (o *usableModels) list() []modellist.Model {
	names, aliases := o.routing.Entries(), o.routing.Aliases()
	all := make([]modellist.Model, 0, len(cascade.PseudoModels)+len(aliases)+len(names))
	for _, p := range cascade.PseudoModels {
		all = append(all, o.tier(p.ID, p.Tier))
	}
	for _, name := range aliases {
		if m, ok := o.named(name); ok && m.AliasOf != "" {
			all = append(all, m)
		}
	}
	for _, name := range names {
		if c, _ := o.routing.Entry(name); o.identity.Forbids(c) == "" {
			all = append(all, modellist.Entry(name, c, o.now))
		}
	}
	return all
}

// forClaude puts additional names in front of the list: those of tiers, aliases and other vendors' models, with the
// prefix "claude-". Clients that show only Anthropic's names then show these names too.
func (o *usableModels) forClaude(models []modellist.Model) []modellist.Model {
	var prefixed []modellist.Model
	for _, m := range models {
		lower := strings.ToLower(m.ID)
		anthropic := strings.HasPrefix(lower, "claude") || strings.HasPrefix(lower, "anthropic") ||
			strings.HasPrefix(lower, "vendor-")
		if name := keychain.Claude + m.ID; !anthropic && o.routing.Resolve(name) != name {
			prefixed = append(prefixed, m.Alias(name))
		}
	}
	return append(prefixed, models...)
}

// selectPage returns the page that the query parameters limit (1 to 1000, default 20), after_id and before_id select.
// more reports whether the list continues after the page or, with before_id, before it.
func selectPage(models []modellist.Model, r *http.Request) (page []modellist.Model, more bool, err error) {
	query := r.URL.Query()
	limit := 20
	if text := query.Get("limit"); text != "" {
		limit, err = strconv.Atoi(text)
		if err != nil || limit < 1 || limit > 1000 {
			return nil, false, refuse(http.StatusBadRequest, "invalid_value", "limit must be from 1 to 1000")
		}
	}
	index := func(param string) (int, error) { // of the model that a parameter names
		i := slices.IndexFunc(models, func(m modellist.Model) bool { return m.ID == query.Get(param) })
		if i < 0 {
			return 0, refuse(http.StatusBadRequest, "invalid_value", param+" is not the id of a model in this list")
		}
		return i, nil
	}
	switch {
	case query.Has("after_id") && query.Has("before_id"):
		return nil, false, refuse(http.StatusBadRequest, "invalid_value", "after_id and before_id cannot be used together")
	case query.Has("after_id"):
		last, err := index("after_id")
		if err != nil {
			return nil, false, err
		}
		models = models[last+1:]
	case query.Has("before_id"):
		end, err := index("before_id")
		if err != nil {
			return nil, false, err
		}
		return models[max(0, end-limit):end], end > limit, nil
	}
	return models[:min(len(models), limit)], len(models) > limit, nil
}

// writeJSON sends value as a JSON answer with status 200.
func writeJSON(w http.ResponseWriter, value any) error {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(text.Len()))
	_, err := w.Write([]byte(text.String()))
	return err
}
