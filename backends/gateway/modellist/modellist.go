// Package modellist describes models in the forms that clients read: an object with the members of both the chat API
// and the messages API, and the form for Codex.
package modellist

import (
	"slices"
	"strconv"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
)

// Model is a model in the form that serves clients of every API. A value that is not published is absent, or null where
// a client's type requires the member.
type Model struct {
	ID          string    `json:"id"`
	Object      string    `json:"object"`
	Type        string    `json:"type"`
	Created     int64     `json:"created"`
	CreatedAt   time.Time `json:"created_at"`
	DisplayName string    `json:"display_name"`
	OwnedBy     string    `json:"owned_by"`

	// For clients of the messages API.
	MaxInputTokens *int          `json:"max_input_tokens"`
	MaxTokens      *int          `json:"max_tokens"`
	Capabilities   *capabilities `json:"capabilities"`
	Lifecycle      string        `json:"lifecycle"`
	DeprecatedAt   *time.Time    `json:"deprecated_at"`
	RetiresAt      *time.Time    `json:"retires_at"`
	Line           *string       `json:"line"`

	// For clients of the chat API.
	ContextWindow       int           `json:"context_window,omitempty"`
	ContextLength       int           `json:"context_length,omitempty"`
	MaxOutputTokens     int           `json:"max_output_tokens,omitempty"`
	MaxCompletionTokens int           `json:"max_completion_tokens,omitempty"`
	Architecture        *architecture `json:"architecture,omitempty"`
	Pricing             *pricing      `json:"pricing,omitempty"`
	Parameters          []string      `json:"supported_parameters,omitempty"`
	Deprecated          bool          `json:"deprecated"`
	// AliasOf is the name to which an alias resolves.
	AliasOf string `json:"alias_of,omitempty"`

	model   *catalog.Model // nil for a tier without a model
	efforts []string       // the reasoning efforts that the model accepts
}

type architecture struct {
	InputModalities  []string `json:"input_modalities"`
	OutputModalities []string `json:"output_modalities"`
}

// pricing is in US dollars per token, as decimal strings.
type pricing struct {
	Prompt     string `json:"prompt"`
	Completion string `json:"completion"`
	CacheRead  string `json:"input_cache_read,omitempty"`
	CacheWrite string `json:"input_cache_write,omitempty"`
}

// pseudoCreated is the creation date of names that the gateway defines, such as tiers.
var pseudoCreated = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Tier describes a tier under the name id. The limits and the price are those of first, the candidate that would be
// tried first. A nil first means that the tier has no model.
func Tier(id string, tier catalog.Tier, first *keychain.Candidate) Model {
	name := map[catalog.Tier]string{catalog.Low: "Fast", catalog.Medium: "Balanced", catalog.High: "Best"}[tier]
	m := newModel(id, name+" ("+tier.String()+")", "tollgate", pseudoCreated)
	if first != nil {
		m.describe(first, time.Time{})
	}
	return m
}

// Entry describes a candidate under the name id. The result is marked as deprecated if the model is deprecated at the
// time now. A zero now skips the mark.
func Entry(id string, c *keychain.Candidate, now time.Time) Model {
	m := newModel(id, c.Model.Name, c.Provider.Code, c.Model.Created)
	m.describe(c, now)
	return m
}

// Alias returns the model under another name, with AliasOf set to the model's own name.
func (m Model) Alias(name string) Model {
	if name != m.ID {
		m.ID, m.AliasOf = name, m.ID
	}
	return m
}

// newModel returns a model with the members that every name has. A zero created means pseudoCreated.
func newModel(id, name, owner string, created time.Time) Model {
	if created.IsZero() {
		created = pseudoCreated
	}
	return Model{
		ID: id, Object: "model", Type: "model", Created: created.Unix(), CreatedAt: created.UTC(), DisplayName: name,
		OwnedBy:   owner,
		Lifecycle: "active",
	}
}

// describe sets the members that describe the candidate's model. now is as for Entry.
func (m *Model) describe(c *keychain.Candidate, now time.Time) {
	model := c.Model
	m.model, m.efforts = model, c.Efforts()
	m.MaxInputTokens, m.MaxTokens = nonZero(model.ContextWindow), nonZero(model.MaxOutput)
	m.ContextWindow, m.ContextLength = model.ContextWindow, model.ContextWindow
	m.MaxOutputTokens, m.MaxCompletionTokens = model.MaxOutput, model.MaxOutput
	output := []string{"text"}
	if model.Embeddings {
		output = []string{"embeddings"}
	}
	m.Architecture = &architecture{model.Modalities, output}
	m.Pricing = pricingOf(&model.Price)
	if !c.Custom { // the abilities of custom models are not known
		m.Capabilities = capabilitiesOf(c)
		m.Parameters = parametersOf(c)
	}
	if !now.IsZero() && model.DeprecatedBy(now) {
		m.Deprecated, m.Lifecycle = true, "deprecated"
		m.DeprecatedAt, m.RetiresAt = nonZeroTime(model.Deprecated), nonZeroTime(model.Retires)
	}
}

// nonZero returns a pointer to n, or nil for 0.
func nonZero(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}

// nonZeroTime returns a pointer to t, or nil for the zero time.
func nonZeroTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// pricingOf converts a price, which is per million tokens. It returns nil if the price is unknown.
func pricingOf(p *catalog.Price) *pricing {
	if !p.Known {
		return nil
	}
	perToken := func(perMillion float64) string { return strconv.FormatFloat(perMillion/1e6, 'f', -1, 64) }
	out := &pricing{Prompt: perToken(p.Input), Completion: perToken(p.Output)}
	if p.CachedInput != 0 {
		out.CacheRead = perToken(p.CachedInput)
	}
	if p.CacheWrite != 0 {
		out.CacheWrite = perToken(p.CacheWrite)
	}
	return out
}

// parametersOf returns the members of a chat request that the model accepts, besides those that every model accepts.
func parametersOf(c *keychain.Candidate) (list []string) {
	if c.Model.Embeddings {
		return nil
	}
	if c.Model.MaxOutput != 0 {
		list = append(list, "max_tokens")
	}
	if c.Model.Tools {
		list = append(list, "tools", "tool_choice")
	}
	if c.Model.JSONSchema {
		list = append(list, "response_format", "structured_outputs")
	}
	if c.Model.Reasoning {
		list = append(list, "reasoning", "reasoning_effort")
	}
	return list
}

// support states whether a model has an ability.
type support struct {
	Supported bool `json:"supported"`
}

// capabilities are the abilities of a model in the form of the messages API.
type capabilities struct {
	Batch             support        `json:"batch"`
	Citations         support        `json:"citations"`
	CodeExecution     support        `json:"code_execution"`
	ContextManagement map[string]any `json:"context_management"`
	Effort            map[string]any `json:"effort"`
	ImageInput        support        `json:"image_input"`
	PDFInput          support        `json:"pdf_input"`
	ServerTools       map[string]any `json:"server_tools"`
	StructuredOutputs support        `json:"structured_outputs"`
	Thinking          map[string]any `json:"thinking"`
}

// capabilitiesOf returns the abilities of a candidate's model. Some abilities, such as citations, exist only at
// providers with the messages API. The result has them only if requests in this format are sent to the provider
// unchanged, with the provider's own tools.
func capabilitiesOf(c *keychain.Candidate) *capabilities {
	m := c.Model
	isNative := c.Provider.NativeTools && slices.Contains(c.Provider.Wires, catalog.WireMessages)
	native, reasoning := support{isNative}, support{m.Reasoning}
	accepted := c.Efforts()
	effort := map[string]any{"supported": len(accepted) > 0}
	for _, level := range [...]string{"low", "medium", "high", "xhigh", "max"} {
		effort[level] = support{slices.Contains(accepted, level)}
	}
	return &capabilities{
		Citations: native, CodeExecution: native, ImageInput: support{m.Accepts(catalog.ModalityImage)},
		PDFInput: support{m.Accepts(catalog.ModalityFile)}, StructuredOutputs: support{m.JSONSchema}, Effort: effort,
		ContextManagement: map[string]any{
			"supported": isNative, "clear_thinking_20251015": native, "clear_tool_uses_20250919": native,
			"compact_20260112": native,
		},
		ServerTools: map[string]any{"supported": isNative, "code_execution": native, "web_search": native},
		Thinking: map[string]any{"supported": m.Reasoning, "types": map[string]any{
			"adaptive": reasoning, "enabled": reasoning, "between_tools": reasoning,
			"disabled": support{slices.Contains(accepted, "none")},
		}},
	}
}
