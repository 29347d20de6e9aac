// Package hub is what the three model APIs have in common: a request, an answer
// in steps, and the state of a model's reasoning. Each API has a package beside
// this one that reads requests into it, writes requests from it, and does the
// same with answers, so that any client format meets any upstream format
// without a converter for each pair.
//
// It knows no network, no Caddy and no policy.
package hub

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
)

// Format is a model API; its text is that of catalog.Wire…. The constants are those that clients speak.
type Format string

// The formats.
const (
	Chat      Format = catalog.WireChat
	Responses Format = catalog.WireResponses
	Messages  Format = catalog.WireMessages
)

// Request is a request for one answer of a model. What a field is called here
// is its name in chat completions (specification 3), unless it says otherwise.
//
// The reader of a format fills it and upstream writers only read it: one request is
// written for several candidates, one after the other.
type Request struct {
	// Format is the client's, Body what it sent.
	Format Format
	Body   []byte

	Model  string
	Stream bool
	// IncludeUsage: a chat client wants the usage of a stream.
	IncludeUsage bool
	// MaxTokens is max_completion_tokens; 0: not given.
	MaxTokens int64
	Messages  []Message
	Tools     []Tool
	Choice    Choice
	// Output is what the answer has to be; nil: text.
	Output *Output
	// Effort is how much to reason. Empty: the client did not say.
	Effort Effort
	// Spelled is the effort of a chat client that says it in the words of others. It is in
	// the parameters SpelledEffort too, as chat upstreams get it; see InCommonWords.
	Spelled Effort
	Stop    []string
	// Params are the other parameters, those that pass without being understood
	// (temperature, top_p, top_k, seed, user, parallel_tool_calls, …), in order.
	Params []Param
	// Dropped names the client's fields, by their JSON path, that were left out
	// (specification 1.3).
	Dropped []string

	// Needs and TextBytes are what a candidate must have to carry the request.
	Needs     wire.Needs
	TextBytes int64
	// Own is the 400 of a request with wire.NeedOwn where nobody can carry it.
	Own error

	// Answer is how the client wants the answer, beside its text.
	Answer Answer

	counted int64 // tokens of a prompt that LetGo has let go of; 0: it has not
}

// Param is one parameter; Value is its JSON text.
type Param struct{ Name, Value string }

// Param is the JSON text of a parameter; empty: the client did not give it.
func (r *Request) Param(name string) string {
	for _, p := range r.Params {
		if p.Name == name {
			return p.Value
		}
	}
	return ""
}

// SpelledEffort are the parameters of chat that say the effort in words of others:
// aggregators' and those of the messages API.
var SpelledEffort = []string{"thinking", "reasoning"}

// InCommonWords is the request for an upstream of another format than chat: an effort that
// is spelled otherwise counts where none is given.
func (r *Request) InCommonWords() *Request {
	if r.Effort != "" || r.Spelled == "" {
		return r
	}
	c := *r
	c.Effort = r.Spelled
	c.Params = slices.DeleteFunc(slices.Clone(r.Params), func(p Param) bool { return slices.Contains(SpelledEffort, p.Name) })
	return &c
}

// OnlyOfChat lists the members of messages that say something and that no other format than
// chat has a place for, such as a name: each once, as paths. State of a model's reasoning is
// read before, and is not among them.
func (r *Request) OnlyOfChat() (paths []string) {
	for i := range r.Messages {
		for _, m := range r.Messages[i].Extra {
			switch m.Name {
			case "extra_content", "reasoning_content", "reasoning_details", "reasoning":
				continue
			}
			path := "messages[]." + m.Name[:min(len(m.Name), 100)]
			if said := m.Value != "null" && m.Value != "[]" && m.Value != `""`; !said || slices.Contains(paths, path) {
				continue
			}
			if paths = append(paths, path); len(paths) == maxOnlyOfChat {
				return paths
			}
		}
	}
	return paths
}

// maxOnlyOfChat is the number of names that are listed to a client.
const maxOnlyOfChat = 20

// OtherOutput is what a chat client wants the answer to have beside text, as modalities
// tells (audio, image), which no other format can say; empty: nothing.
func (r *Request) OtherOutput() (kind string) {
	gjson.Parse(r.Param("modalities")).ForEach(func(_, v gjson.Result) bool {
		kind = v.Str
		return kind == "" || kind == "text"
	})
	if kind == "text" {
		return ""
	}
	return kind
}

// Drop notes fields that are left out.
func (r *Request) Drop(paths ...string) { r.Dropped = append(r.Dropped, paths...) }

// Answer is what a request says about the form of its answer.
type Answer struct {
	// Reasoning: the reasoning may be shown. It is so unless a client says no.
	Reasoning bool
	// HideReasoningText: blocks of reasoning come without their text
	// (thinking.display "omitted").
	HideReasoningText bool
	// State: the client returns sealed reasoning state, so it gets some
	// (messages: always; Responses: include "reasoning.encrypted_content").
	State bool
	// Store: the client does not mind that the answer is stored.
	Store bool
	// Logprobs: the client wants those of the text.
	Logprobs bool
	// Echo are members of the Responses object that repeat the request.
	Echo []Param
}

// Role is who speaks.
type Role uint8

// The roles.
const (
	System Role = iota + 1
	Developer
	User
	Assistant
	ToolResult // the role "tool"
)

// String is the role's name in chat completions.
func (r Role) String() string {
	return [...]string{"", "system", "developer", "user", "assistant", "tool"}[r]
}

// Message is one turn. Readers keep the order of the client and put tool
// results behind the assistant message with their calls, in the order of the
// calls (specification 3, rule 3).
type Message struct {
	Role  Role
	Parts []Part
	// Calls of an assistant message.
	Calls []Call
	// CallID of a tool result.
	CallID string
	// Failed: the tool result is an error. Its text says so already
	// (specification 4.2), native writers may say it in their own way too.
	Failed bool
	// Reasoning of an assistant message, in the order in which it came.
	Reasoning []Reasoning
	// Extra are members that only chat completions know (name, audio, …).
	Extra []Param
}

// Part is a piece of content.
type Part struct {
	Kind PartKind
	// Text of PartText and PartRefusal.
	Text string
	// URL of an image, https or data; of a file its data URL or https URL.
	URL string
	// Detail of an image; of a file its name; of audio its format ("wav", "mp3").
	Detail string
	// Data is the base64 of audio.
	Data string
	// Cache is the JSON text of a cache_control mark; empty: none.
	Cache string
	// Raw is the JSON text of a part in the client's format that only a
	// candidate of that format understands; Kind is PartOther then.
	Raw string
}

// PartKind tells parts apart.
type PartKind uint8

// The kinds of parts.
const (
	PartText PartKind = iota + 1
	PartRefusal
	PartImage
	PartFile
	PartAudio
	PartOther
)

// Call is a call of a tool by the model.
type Call struct {
	ID string
	// Name as upstreams know it, see Tool.Name.
	Name string
	// Arguments is JSON text, usually an object. It is passed as it is.
	Arguments string
	// State came with this call (Gemini); nil: none.
	State *State
	// Extra are members that only chat completions know (extra_content).
	Extra []Param
}

// Tool is a function that the model may call.
type Tool struct {
	// Name matches ^[A-Za-z0-9_-]{1,64}$, see LegalName.
	Name        string
	Description string
	// Parameters is the JSON text of a schema object.
	Parameters string
	// Strict is the JSON text true or false; empty: not given.
	Strict string
	// Cache is the JSON text of a cache_control mark; empty: none.
	Cache string
	// Kind, Namespace and Own are how the client knows the tool: calls go back
	// under its own name and in the item type of its kind.
	Kind      ToolKind
	Namespace string
	Own       string
}

// ToolKind is how a client sees a tool.
type ToolKind uint8

// The kinds of tools; all but the first are of the Responses format
// (specification 7.4).
const (
	ToolFunction ToolKind = iota
	ToolCustom            // free text in {"input": text}
	ToolSearch
	ToolLocalShell
	ToolShell
	ToolApplyPatch
)

// Tool finds a tool by the name that upstreams know; a name that is in no
// tool of the request is the client's own.
func (r *Request) Tool(name string) Tool {
	for i := range r.Tools {
		if r.Tools[i].Name == name {
			return r.Tools[i]
		}
	}
	return Tool{Name: name, Own: name}
}

// Choice is tool_choice.
type Choice struct {
	// Mode is "auto", "none", "required" or "function"; empty: not given.
	Mode string
	// Name of the one function, as upstreams know it.
	Name string
}

// Output is response_format.
type Output struct {
	// Kind is "json_object" or "json_schema".
	Kind string
	// Of json_schema. Schema is JSON text, Strict as in Tool.
	Name, Description, Schema, Strict string
}

// Rule returns what a model has to be told of the form of its answer where an upstream cannot hold it
// to that form. It is empty for a nil Output.
func (o *Output) Rule() string {
	const rule = "Answer with one JSON object only."
	switch {
	case o == nil:
		return ""
	case o.Schema != "":
		return rule + " It must be valid under this JSON schema: " + o.Schema
	}
	return rule
}

// Effort is how much a model reasons (specification 11.1).
type Effort string

// Efforts, from least to most.
const (
	EffortNone    Effort = "none"
	EffortMinimal Effort = "minimal"
	EffortLow     Effort = "low"
	EffortMedium  Effort = "medium"
	EffortHigh    Effort = "high"
	EffortXHigh   Effort = "xhigh"
	EffortMax     Effort = "max"
)

// Efforts lists them in that order.
var Efforts = [...]Effort{EffortNone, EffortMinimal, EffortLow, EffortMedium, EffortHigh, EffortXHigh, EffortMax}

// BudgetEffort is the effort that a budget of so many tokens for reasoning stands for.
func BudgetEffort(tokens int64) Effort {
	switch {
	case tokens < 4096:
		return EffortLow
	case tokens < 16384:
		return EffortMedium
	}
	return EffortHigh
}

// Target is the candidate that a request is written for.
type Target struct {
	Provider *catalog.Provider
	Model    *catalog.Model
	// KeyID names the gateway key of the request, for CacheKey; empty: not known.
	KeyID string
	// Drop names the parameters that are left out: those of the provider's
	// shape and those that it refused before. Names are chat's.
	Drop []string
	// MaxTokensField is the name of the token limit in chat completions.
	MaxTokensField string
	// StreamUsage: the usage of a stream has to be asked for and may be.
	StreamUsage bool
	// CacheMarks: a messages upstream gets marks for its prompt cache, where the client's
	// format has none.
	CacheMarks bool
	// State: the state of reasoning is wanted, though the client has not asked for it.
	State bool
	// ToolCallIDMax is how many characters the id of a call may have in chat completions;
	// 0: any number that the APIs allow.
	ToolCallIDMax int
}

// Efforts are those that the model knows.
func (t *Target) Efforts() []string {
	if t.Model.ReasoningEfforts != nil {
		return t.Model.ReasoningEfforts
	}
	return t.Provider.Shape.ReasoningEfforts
}

// Effort is the one to send for the one that was asked for: the same, else the next lower
// down to least that the model knows, else the next higher. Empty: none, since the model
// does not reason or takes no effort, or the one asked for is no known word.
func (t *Target) Effort(asked, least Effort) Effort {
	at := slices.Index(Efforts[:], asked)
	if at < 0 || !t.Model.Reasoning {
		return ""
	}
	lower := Efforts[min(at, slices.Index(Efforts[:], least)) : at+1]
	for _, e := range slices.Backward(lower) {
		if slices.Contains(t.Efforts(), string(e)) {
			return e
		}
	}
	for _, e := range Efforts[at+1:] {
		if slices.Contains(t.Efforts(), string(e)) {
			return e
		}
	}
	return ""
}

// Written is a request in the form of an upstream.
type Written struct {
	Body []byte
	// Dropped names the client's fields that this candidate does not get.
	Dropped []string
	// Header is sent along; nil: none.
	Header map[string]string
}
