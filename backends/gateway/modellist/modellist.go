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

	model   *catalog.Model
	efforts []string
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

// Tier describes the tier with the name id by the limits and the price of first, the model that would be tried first. A
// nil first means that the tier has no model.
func Tier(id string, tier catalog.Tier, first *keychain.Candidate) Model {
	name := map[catalog.Tier]string{catalog.Low: "Fast", catalog.Medium: "Balanced", catalog.High: "Best"}[tier]
	m := named(id, name+" ("+tier.String()+")", "tollgate", pseudoCreated)
	if first != nil {
		m.describe(first, time.Time{})
	}
	return m
}

// Entry describes a candidate under the name id. The result is marked as deprecated if the model is deprecated at the
// time now. A zero now skips the mark.
func Entry(id string, c *keychain.Candidate, now time.Time) Model {
	m := named(id, c.Model.Name, c.Provider.Code, c.Model.Created)
	m.describe(c, now)
	return m
}

// Alias returns the same model under another name, with AliasOf set.
func (m Model) Alias(name string) Model {
	if name != m.ID {
		m.ID, m.AliasOf = name, m.ID
	}
	return m
}

func named(id, name, owner string, created time.Time) Model {
	if created.IsZero() {
		created = pseudoCreated
	}
	return Model{
		ID: id, Object: "model", Type: "model", Created: created.Unix(), CreatedAt: created.UTC(), DisplayName: name,
		OwnedBy:   owner,
		Lifecycle: "active",
	}
}

func (m *Model) describe(c *keychain.Candidate, now time.Time) {
	model := c.Model
	m.model, m.efforts = model, efforts(c)
	m.MaxInputTokens, m.MaxTokens = known(model.ContextWindow), known(model.MaxOutput)
	m.ContextWindow, m.ContextLength = model.ContextWindow, model.ContextWindow
	m.MaxOutputTokens, m.MaxCompletionTokens = model.MaxOutput, model.MaxOutput
	output := []string{"text"}
	if model.Embeddings {
		output = []string{"embeddings"}
	}
	m.Architecture = &architecture{model.Modalities, output}
	m.Pricing = priceOf(&model.Price)
	if !c.Custom { // the abilities of custom models are not known
		m.Capabilities = capabilitiesOf(c)
		m.Parameters = parametersOf(c)
	}
	if !now.IsZero() && model.DeprecatedBy(now) {
		m.Deprecated, m.Lifecycle = true, "deprecated"
		m.DeprecatedAt, m.RetiresAt = moment(model.Deprecated), moment(model.Retires)
	}
}

// known returns a pointer to n, or nil for 0.
func known(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}

// moment returns a pointer to t, or nil for the zero time.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func priceOf(p *catalog.Price) *pricing {
	if !p.Known {
		return nil
	}
	token := func(rate float64) string { return strconv.FormatFloat(rate/1e6, 'f', -1, 64) }
	out := &pricing{Prompt: token(p.Input), Completion: token(p.Output)}
	if p.CachedInput != 0 {
		out.CacheRead = token(p.CachedInput)
	}
	if p.CacheWrite != 0 {
		out.CacheWrite = token(p.CacheWrite)
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

// efforts returns the reasoning efforts that a model accepts.
func efforts(c *keychain.Candidate) []string {
	switch {
	case !c.Model.Reasoning:
		return nil
	case c.Model.ReasoningEfforts != nil:
		return c.Model.ReasoningEfforts
	}
	return c.Provider.Shape.ReasoningEfforts
}

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

func capabilitiesOf(c *keychain.Candidate) *capabilities {
	m := c.Model
	native := c.Provider.NativeTools && slices.Contains(c.Provider.Wires, catalog.WireMessages)
	full, thinks := support{native}, support{m.Reasoning}
	known := efforts(c)
	effort := map[string]any{"supported": len(known) > 0}
	for _, level := range [...]string{"low", "medium", "high", "xhigh", "max"} {
		effort[level] = support{slices.Contains(known, level)}
	}
	return &capabilities{
		Citations: full, CodeExecution: full, ImageInput: support{m.Accepts(catalog.ModalityImage)},
		PDFInput: support{m.Accepts(catalog.ModalityFile)}, StructuredOutputs: support{m.JSONSchema}, Effort: effort,
		ContextManagement: map[string]any{
			"supported": native, "clear_thinking_20251015": full, "clear_tool_uses_20250919": full, "compact_20260112": full,
		},
		ServerTools: map[string]any{"supported": native, "code_execution": full, "web_search": full},
		Thinking: map[string]any{"supported": m.Reasoning, "types": map[string]any{
			"adaptive": thinks, "enabled": thinks, "between_tools": thinks, "disabled": support{slices.Contains(known, "none")},
		}},
	}
}
