package keychain

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// CustomProvider is the provider code of custom models, which users add with their own base URL.
const CustomProvider = "custom"

// ModelEntry is a row of a user's effective model table, which consists of the catalog's models with the user's changes
// and of the user's own models.
type ModelEntry struct {
	// ID is the id of the override or custom entry. For an untouched model of the catalog it is the entry's name.
	ID string `json:"id"`
	// Entry is the name that clients send: provider/model.
	Entry    string `json:"model_entry"`
	Provider string `json:"provider"`
	// Tier is absent for a model without a tier, which is used only if a request names the model.
	Tier    catalog.Tier `json:"tier,omitempty"`
	Enabled bool         `json:"enabled"`
	// Priority orders the models inside a tier: a model with a lower number is tried earlier. The default is 0. Models
	// with equal priorities keep the order of the catalog.
	Priority          int64 `json:"priority"`
	IsCustom          bool  `json:"is_custom"`
	ProviderConnected bool  `json:"provider_connected"`
	// BaseURL and Model are set for custom entries only.
	BaseURL string `json:"base_url,omitempty"`
	Model   string `json:"model,omitempty"`
	// Wire is set for custom entries whose server does not speak the chat format.
	Wire string `json:"wire,omitempty"`
}

// CustomModel is a model at a base URL that the user chose.
type CustomModel struct {
	// Entry is the name that clients send. It must contain a slash, so that it differs from the gateway's own names.
	Entry string
	// BaseURL is the address to which /chat/completions, or the path of another Wire, is appended.
	BaseURL string
	// Wire is the format that the server speaks: chat, responses or messages. Default: chat.
	Wire string
	// Model is the name of the model at the server.
	Model string
	Tier  catalog.Tier
	// APIKey is sent as a Bearer token, or as x-api-key if Wire is messages. It is empty if the server needs no key.
	APIKey   string
	Priority int64

	found bool // whether Discover has found it
}

// ModelChange is a change of an entry. Nil fields stay unchanged.
type ModelChange struct {
	Enabled  *bool
	Priority *int64
}

// modelRow is an override (of a catalog model) or a custom entry.
type modelRow struct {
	ID, Entry      string
	Custom         bool
	Enabled        bool
	Priority       *int64
	Tier           string
	BaseURL, Model string
	Wire           string // empty means chat
	Sealed         string // the encrypted API key; empty if there is none
	Found          bool   // whether Discover has found it
	CreatedAt      time.Time
}

// associated returns the associated data that binds the encrypted API key to its row.
func (m *modelRow) associated() []byte { return []byte("gateway_models/" + m.ID) }

// maxModelRows is the largest number of rows that a user can have.
const maxModelRows = 1000

// AddModel adds a custom entry. The error has status 409 if the user has a custom entry of that name already.
func (s *Service) AddModel(ctx context.Context, userID string, m CustomModel) (*ModelEntry, error) {
	if err := checkText("model_entry", m.Entry, 3, 200); err != nil {
		return nil, err
	}
	if prefix, name, ok := strings.Cut(m.Entry, "/"); !ok || prefix == "" || name == "" ||
		strings.ContainsAny(m.Entry, " \t") {
		return nil, invalid("model_entry", "model_entry must look like local/my-model, without spaces")
	}
	if err := checkText("model", m.Model, 1, 500); err != nil {
		return nil, err
	}
	host, err := checkBaseURL(m.BaseURL)
	if err != nil {
		return nil, err
	}
	if m.Tier == 0 {
		return nil, invalid("tier", "tier must be one of low, medium, high")
	}
	switch m.Wire {
	case catalog.WireChat:
		m.Wire = "" // as it is stored, see modelRow
	case "", catalog.WireResponses, catalog.WireMessages:
		// These are stored as they are.
	default:
		return nil, invalid("wire", "wire must be one of chat, responses, messages")
	}
	if len(m.APIKey) > 1000 || strings.ContainsFunc(m.APIKey, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, invalid("api_key", "api_key must be at most 1,000 printable ASCII characters without spaces")
	}
	row := &modelRow{
		ID: "me_" + random(20), Entry: m.Entry, Custom: true, Enabled: true, Priority: &m.Priority,
		Tier: m.Tier.String(), BaseURL: strings.TrimRight(m.BaseURL, "/"), Model: m.Model, Wire: m.Wire, Found: m.found,
		CreatedAt: s.now(),
	}
	if s.CheckHost != nil {
		if err := s.CheckHost(ctx, host); err != nil {
			return nil, invalid("base_url",
				"base_url must have a public address: %.100q is not public and not in a network of allow_networks, "+
					"which the global option tollgate sets for users' own models", host)
		}
	}
	if m.APIKey != "" {
		if row.Sealed, err = s.ring.Seal(ctx, []byte(m.APIKey), row.associated()); err != nil {
			return nil, err
		}
	}
	err = s.changeAccount(ctx, userID, func(c store.Conn) error {
		if err := s.requireUser(c, userID); err != nil {
			return err
		}
		return s.insertModel(c, userID, row)
	})
	if err != nil {
		return nil, err
	}
	entry := row.entry()
	return &entry, nil
}

// checkBaseURL returns the host of a valid base URL. A query or fragment, even an empty one, is refused because it
// would swallow the path that is appended.
func checkBaseURL(text string) (host string, err error) {
	base, err := url.Parse(text)
	if err != nil || (base.Scheme != "http" && base.Scheme != "https") || base.Hostname() == "" || base.User != nil ||
		strings.ContainsAny(text, "?#") || len(text) > 500 {
		return "", invalid("base_url",
			"base_url must be an http or https URL of at most 500 characters such as http://127.0.0.1:11434/v1, without user, query (?) and fragment (#)")
	}
	return base.Hostname(), nil
}

// entry returns the row of a custom model as an entry of the model table.
func (m *modelRow) entry() ModelEntry {
	tier, _ := catalog.ParseTier(m.Tier)
	e := ModelEntry{
		ID: m.ID, Entry: m.Entry, Provider: CustomProvider, Tier: tier, Enabled: m.Enabled,
		IsCustom: true, ProviderConnected: true, BaseURL: m.BaseURL, Model: m.Model, Wire: m.Wire,
	}
	if m.Priority != nil {
		e.Priority = *m.Priority
	}
	return e
}

// ChangeModel enables, disables or prioritises an entry, which is identified by its id or name. The error has status
// 404 if neither the user nor the catalog has such an entry.
func (s *Service) ChangeModel(
	ctx context.Context, cat *catalog.Catalog, userID, name string, change ModelChange,
) (*ModelEntry, error) {
	if change.Priority != nil && (*change.Priority < -1_000_000 || *change.Priority > 1_000_000) {
		return nil, invalid("priority", "priority must be from -1,000,000 to 1,000,000")
	}
	err := s.changeAccount(ctx, userID, func(c store.Conn) error {
		if err := s.requireUser(c, userID); err != nil {
			return err
		}
		rows, err := s.modelRows(c, userID)
		if err != nil {
			return err
		}
		index := slices.IndexFunc(rows, func(m modelRow) bool { return m.ID == name || m.Entry == name })
		if index < 0 { // an entry of the catalog gets its row with the first change
			if !cat.Offers(name) {
				return notFound("model entry", name)
			}
			row := modelRow{ID: "me_" + random(20), Entry: name, Enabled: true, CreatedAt: s.now()}
			row.apply(change)
			return s.insertModel(c, userID, &row)
		}
		rows[index].apply(change)
		return s.updateModel(c, &rows[index])
	})
	if err != nil {
		return nil, err
	}
	return s.findModel(ctx, cat, userID, name)
}

// apply applies the change to the row.
func (m *modelRow) apply(change ModelChange) {
	if change.Enabled != nil {
		m.Enabled = *change.Enabled
	}
	if change.Priority != nil {
		m.Priority = change.Priority
	}
}

// inCatalog reports whether entry, in the form provider/model, is a model of an enabled provider. Unlike Catalog.Offers
// it includes retired models.
func inCatalog(cat *catalog.Catalog, entry string) bool {
	provider, model, ok := strings.Cut(entry, "/")
	if !ok {
		return false
	}
	_, ok = cat.Model(provider, model)
	return ok
}

// RemoveModel removes a custom entry, or the user's changes of a catalog model. name is the id or the name of the
// entry. The error has status 404 if the user has no such entry.
func (s *Service) RemoveModel(ctx context.Context, userID, name string) error {
	return s.changeAccount(ctx, userID, func(c store.Conn) error {
		return s.deleteModel(c, userID, name)
	})
}

// Models returns the user's effective model table, from the high tier to the low one and in the order of routing inside
// each tier. Models of no tier come last.
func (s *Service) Models(ctx context.Context, cat *catalog.Catalog, userID string) ([]ModelEntry, error) {
	account, err := s.Account(ctx, userID)
	if err != nil {
		return nil, err
	}
	return account.table(cat, account.team), nil
}

// findModel returns the entry with the given id or name from the user's model table.
func (s *Service) findModel(ctx context.Context, cat *catalog.Catalog, userID, name string) (*ModelEntry, error) {
	entries, err := s.Models(ctx, cat, userID)
	if err != nil {
		return nil, err
	}
	for i := range entries {
		if entries[i].ID == name || entries[i].Entry == name {
			return &entries[i], nil
		}
	}
	return nil, notFound("model entry", name)
}

// Preferences determine the order in which candidates are tried.
type Preferences struct {
	PreferredProviders []string `json:"preferred_providers"`
	ExcludedProviders  []string `json:"excluded_providers"`
	ExcludedModels     []string `json:"excluded_models"`
}

// Preferences returns the user's preferences, or the zero value if the user has not set any.
func (s *Service) Preferences(ctx context.Context, userID string) (Preferences, error) {
	account, err := s.Account(ctx, userID)
	if err != nil {
		return Preferences{}, err
	}
	return account.preferences, nil
}

// SetPreferences replaces the user's preferences. Unknown names are refused with 400.
func (s *Service) SetPreferences(ctx context.Context, cat *catalog.Catalog, userID string, p Preferences) error {
	account, err := s.Account(ctx, userID)
	if err != nil {
		return err
	}
	hasRow := func(entry string) bool {
		return slices.ContainsFunc(account.models, func(m modelRow) bool { return m.Entry == entry })
	}
	for param, list := range map[string][]string{
		"preferred_providers": p.PreferredProviders, "excluded_providers": p.ExcludedProviders,
	} {
		for _, code := range list {
			if _, ok := cat.Provider(code); !ok && code != CustomProvider {
				return invalid(param, "%s names the unknown provider %q", param, code)
			}
		}
	}
	for _, entry := range p.ExcludedModels {
		if !inCatalog(cat, entry) && !hasRow(entry) {
			return invalid("excluded_models", "excluded_models names the unknown model %q", entry)
		}
	}
	if len(p.PreferredProviders)+len(p.ExcludedProviders)+len(p.ExcludedModels) > maxModelRows {
		return apierror.New(http.StatusBadRequest, "invalid_value", "the preferences have more than %d names", maxModelRows)
	}
	return s.changeAccount(ctx, userID, func(c store.Conn) error {
		if err := s.requireUser(c, userID); err != nil {
			return err
		}
		return s.upsertPreferences(c, userID, p)
	})
}
