package cascade

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/cascade"
	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/modules/gateway"
)

// listedModel is a model in the shape that serves both kinds of clients
// (specification 2.3).
type listedModel struct {
	ID          string    `json:"id"`
	Object      string    `json:"object"`
	Type        string    `json:"type"`
	Created     int64     `json:"created"`
	CreatedAt   time.Time `json:"created_at"`
	DisplayName string    `json:"display_name"`
	OwnedBy     string    `json:"owned_by"`
}

// pseudoCreated dates the names that the gateway itself made up.
var pseudoCreated = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func listed(id, name, owner string, created time.Time) listedModel {
	if created.IsZero() {
		created = pseudoCreated
	}
	return listedModel{ID: id, Object: "model", Type: "model", Created: created.Unix(), CreatedAt: created.UTC(), DisplayName: name, OwnedBy: owner}
}

// models answers GET /v1/models and /v1/models/{id}.
func (h *Handler) models(w http.ResponseWriter, r *http.Request, id string) error {
	kept, identity, err := h.client(r)
	if err != nil {
		return err
	}
	account, err := kept.Keychain.Account(r.Context(), identity.UserID)
	if err != nil {
		return statusError(gateway.Unavailable(err))
	}
	routing := account.Routing(h.app.Catalog())
	if id != "" {
		if m, ok := h.named(routing, identity, id); ok {
			return writeJSON(w, m)
		}
		return refuse(http.StatusNotFound, "model_not_found", "there is no model \""+wire.Mask(id, 100)+"\" for this key; GET /v1/models lists all")
	}
	all := list(routing, identity)
	if r.Header.Get("Anthropic-Version") == "" {
		return writeJSON(w, struct {
			Object string        `json:"object"`
			Data   []listedModel `json:"data"`
		}{"list", all})
	}
	page, more, err := cut(all, r)
	if err != nil {
		return err
	}
	answer := struct {
		Data    []listedModel `json:"data"`
		HasMore bool          `json:"has_more"`
		FirstID *string       `json:"first_id"`
		LastID  *string       `json:"last_id"`
	}{Data: page, HasMore: more}
	if len(page) > 0 {
		answer.FirstID, answer.LastID = &page[0].ID, &page[len(page)-1].ID
	}
	return writeJSON(w, answer)
}

// named is what a request with that name would be answered by: an entry that the key may
// use or a tier. Clients look a name up before they ask, and most names of a tier are in
// no list.
func (h *Handler) named(routing *keychain.Routing, identity *keychain.Identity, id string) (listedModel, bool) {
	tier, known := cascade.PseudoTier(id)
	if !known {
		if c, isEntry := routing.Entry(id); isEntry {
			return listed(id, c.Model.Name, c.Provider.Code, c.Model.Created), identity.Forbids(c) == ""
		}
		if tier, known = cascade.ResolveTier(id); !known {
			tier, known = h.options.DefaultTier, h.options.DefaultTier != 0
		}
	}
	return ofTier(id, tier), known
}

// ofTier is a name of the gateway's own.
func ofTier(id string, tier catalog.Tier) listedModel {
	name := map[catalog.Tier]string{catalog.Low: "Fast", catalog.Medium: "Balanced", catalog.High: "Best"}[tier]
	return listed(id, name+" ("+tier.String()+")", "tollgate", pseudoCreated)
}

// list is the gateway's own names, then the user's entries that the key may use.
func list(routing *keychain.Routing, identity *keychain.Identity) []listedModel {
	names := routing.Entries()
	all := make([]listedModel, 0, len(cascade.PseudoModels)+len(names))
	for _, p := range cascade.PseudoModels {
		all = append(all, ofTier(p.ID, p.Tier))
	}
	for _, name := range names {
		c, _ := routing.Entry(name)
		if identity.Forbids(c) != "" {
			continue
		}
		all = append(all, listed(name, c.Model.Name, c.Provider.Code, c.Model.Created))
	}
	return all
}

// cut takes the page that limit (1 to 1000, default 20), after_id and before_id
// ask for.
func cut(all []listedModel, r *http.Request) (page []listedModel, more bool, err error) {
	query := r.URL.Query()
	limit := 20
	if text := query.Get("limit"); text != "" {
		limit, err = strconv.Atoi(text)
		if err != nil || limit < 1 || limit > 1000 {
			return nil, false, refuse(http.StatusBadRequest, "invalid_value", "limit must be from 1 to 1000")
		}
	}
	index := func(param string) (int, error) {
		id := query.Get(param)
		for i, m := range all {
			if m.ID == id {
				return i, nil
			}
		}
		return 0, refuse(http.StatusBadRequest, "invalid_value", param+" names no model of this list")
	}
	from, to := 0, len(all)
	switch {
	case query.Has("after_id") && query.Has("before_id"):
		return nil, false, refuse(http.StatusBadRequest, "invalid_value", "after_id and before_id exclude each other")
	case query.Has("after_id"):
		at, err := index("after_id")
		if err != nil {
			return nil, false, err
		}
		from = at + 1
	case query.Has("before_id"):
		at, err := index("before_id")
		if err != nil {
			return nil, false, err
		}
		to = at
		return all[max(0, to-limit):to], to > limit, nil
	}
	return all[from:min(to, from+limit)], to-from > limit, nil
}

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
