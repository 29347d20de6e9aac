// Package keychain serves what the model gateway tells of itself, and has the
// commands that manage its users and keys.
package keychain

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

func init() {
	caddy.RegisterModule(Handler{})
	httpcaddyfile.RegisterHandlerDirective("keychain", func(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
		handler := new(Handler)
		return handler, handler.UnmarshalCaddyfile(h.Dispenser)
	})
}

// Handler serves the public routes of the model gateway; they need no key:
//
//	GET /health     200, or 503 while a part is down: {"status","parts"}
//	GET /providers  the providers on offer
//	GET /models     every model of theirs with its tiers, limits and prices
//
// Every other path goes to the next handler.
type Handler struct {
	app *tollgate.App
}

// CaddyModule returns the Caddy module information.
func (Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.keychain",
		New: func() caddy.Module { return new(Handler) },
	}
}

// Provision gets the app.
func (h *Handler) Provision(ctx caddy.Context) error {
	app, err := tollgate.From(ctx)
	if err != nil {
		return fmt.Errorf("loading the app tollgate: %w", err)
	}
	h.app = app
	return nil
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	var answer func(w http.ResponseWriter) error
	switch r.URL.Path {
	case "/health":
		answer = h.health
	case "/providers":
		answer = h.providers
	case "/models":
		answer = h.models
	default:
		return next.ServeHTTP(w, r)
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		return caddyhttp.Error(http.StatusMethodNotAllowed,
			apierror.New(http.StatusMethodNotAllowed, "method_not_allowed", "%s is not allowed here, use GET", r.Method))
	}
	return answer(w)
}

func (h *Handler) health(w http.ResponseWriter) error {
	status, database := http.StatusOK, "ok"
	if h.app.Database().Ready() != nil {
		status, database = http.StatusServiceUnavailable, "unavailable"
	}
	if _, err := h.app.Gateway(); err != nil {
		status = http.StatusServiceUnavailable
	}
	word := "ok"
	if status != http.StatusOK {
		word = "unavailable"
	}
	w.Header().Set("Cache-Control", "no-store")
	return writeJSON(w, status, map[string]any{"status": word, "parts": map[string]string{"database": database}})
}

func (h *Handler) providers(w http.ResponseWriter) error {
	type provider struct {
		Code string   `json:"code"`
		Name string   `json:"name"`
		Docs string   `json:"docs_url,omitempty"`
		Keys string   `json:"key_url,omitempty"`
		Env  []string `json:"env"`
	}
	list := make([]provider, 0, 16)
	for _, p := range h.app.ModelCatalog().Providers() {
		list = append(list, provider{p.Code, p.Name, p.DocsURL, p.KeyURL, p.Env})
	}
	return writeJSON(w, http.StatusOK, map[string]any{"providers": list})
}

func (h *Handler) models(w http.ResponseWriter) error {
	type price struct {
		Input       float64 `json:"input_usd_per_million_tokens"`
		CachedInput float64 `json:"cached_input_usd_per_million_tokens"`
		Output      float64 `json:"output_usd_per_million_tokens"`
	}
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
		Price         *price         `json:"price"`
	}
	cat := h.app.ModelCatalog()
	list := make([]model, 0, 64)
	for _, p := range cat.Providers() {
		for _, m := range cat.Models(p.Code) {
			one := model{
				ID: m.EntryID(), Provider: m.Provider, Model: m.ID, Name: m.Name, Tiers: m.Tiers, ContextWindow: m.ContextWindow,
				MaxOutput: m.MaxOutput, Modalities: m.Modalities, Tools: m.Tools, JSONSchema: m.JSONSchema, Reasoning: m.Reasoning,
			}
			if one.Tiers == nil {
				one.Tiers = []catalog.Tier{}
			}
			if m.Price.Known {
				one.Price = &price{m.Price.Input, m.Price.CachedInput, m.Price.Output}
			}
			list = append(list, one)
		}
	}
	return writeJSON(w, http.StatusOK, map[string]any{"updated": cat.Updated, "models": list})
}

func writeJSON(w http.ResponseWriter, status int, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)+1))
	w.WriteHeader(status)
	_, err = w.Write(append(text, '\n'))
	return err
}

// UnmarshalCaddyfile sets up the handler; it has no options.
func (h *Handler) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // keychain
	if d.NextArg() {
		return d.ArgErr()
	}
	for d.NextBlock(0) {
		return d.Errf("keychain has no option %q", d.Val())
	}
	return nil
}

// Interface guards
var (
	_ caddy.Provisioner           = (*Handler)(nil)
	_ caddyhttp.MiddlewareHandler = (*Handler)(nil)
	_ caddyfile.Unmarshaler       = (*Handler)(nil)
)
