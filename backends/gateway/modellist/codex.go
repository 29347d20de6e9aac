package modellist

import (
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
)

// CodexModel is a model in the form that Codex reads. Codex finds such models in the member models of the response to
// GET /v1/models?client_version=…, and in the file that its option model_catalog_json names.
type CodexModel struct {
	Slug             string       `json:"slug"`
	DisplayName      string       `json:"display_name"`
	Description      string       `json:"description"`
	DefaultReasoning string       `json:"default_reasoning_level,omitempty"`
	Reasoning        []codexLevel `json:"supported_reasoning_levels"`
	ShellType        string       `json:"shell_type"`
	Visibility       string       `json:"visibility"`
	SupportedInAPI   bool         `json:"supported_in_api"`
	Priority         int          `json:"priority"`
	Instructions     string       `json:"base_instructions"`
	Summaries        bool         `json:"supports_reasoning_summaries"`
	Verbosity        bool         `json:"support_verbosity"`
	ApplyPatch       string       `json:"apply_patch_tool_type,omitempty"`
	Truncation       codexCut     `json:"truncation_policy"`
	ParallelCalls    bool         `json:"supports_parallel_tool_calls"`
	ContextWindow    int          `json:"context_window,omitempty"`
	Experimental     []string     `json:"experimental_supported_tools"`
	Modalities       []string     `json:"input_modalities"`
}

// codexLevel is a reasoning effort that a user of Codex can choose.
type codexLevel struct {
	Effort      string `json:"effort"`
	Description string `json:"description"`
}

// codexCut tells Codex how much output of a tool it sends to the model.
type codexCut struct {
	Mode  string `json:"mode"`
	Limit int    `json:"limit"`
}

// codexInstructions are the instructions that Codex gives to a model. Codex accepts no model without instructions.
const codexInstructions = `You are a coding agent that works in a terminal on the user's machine, in a folder that you share with them.
Look at the files that matter before you change them, and keep to the style and the tools of the project. Make the smallest change that
solves the task at its cause. Edit files with apply_patch. Run the tests and linters that the project has, and say what you ran. Do not
undo changes that you did not make, and do not commit unless you are asked to. Go on until the task is done or you need an answer that
only the user has. In the end tell in a few sentences what you changed, where, and what is left.`

// codexLevels are the reasoning efforts that Codex knows.
var codexLevels = []codexLevel{
	{"none", "No reasoning"},
	{"minimal", "The least reasoning"},
	{"low", "Little reasoning, quick answers"},
	{"medium", "Balanced"},
	{"high", "Much reasoning for hard tasks"},
	{"xhigh", "The most reasoning"},
}

// Codex describes those models of a list that answer in text and can use tools. The result keeps the order of the
// list.
func Codex(list []Model) []CodexModel {
	out := make([]CodexModel, 0, len(list))
	for i := range list {
		m := &list[i]
		if m.model == nil || m.model.Embeddings || !m.model.Tools {
			continue
		}
		c := CodexModel{
			Slug: m.ID, DisplayName: m.DisplayName, Description: m.OwnedBy + ", by this gateway", ShellType: "shell_command",
			Visibility:     "list",
			SupportedInAPI: true, Priority: len(out) + 1, Instructions: codexInstructions, Summaries: m.model.Reasoning,
			ApplyPatch: "freeform",
			Truncation: codexCut{"tokens", 10_000}, ParallelCalls: true, ContextWindow: m.model.ContextWindow,
			Experimental: []string{}, Reasoning: []codexLevel{}, Modalities: []string{catalog.ModalityText},
		}
		if m.model.Accepts(catalog.ModalityImage) {
			c.Modalities = append(c.Modalities, catalog.ModalityImage)
		}
		for _, level := range codexLevels {
			if slices.Contains(m.efforts, level.Effort) {
				c.Reasoning = append(c.Reasoning, level)
				if c.DefaultReasoning == "" || level.Effort == "medium" { // medium, or else the first one
					c.DefaultReasoning = level.Effort
				}
			}
		}
		out = append(out, c)
	}
	return out
}
