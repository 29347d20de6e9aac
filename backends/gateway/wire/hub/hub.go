// Package hub contains the common form of the three model APIs: a request, an answer in steps, and the state of a
// model's reasoning. Each API has a package beside this one that reads requests into this form, writes requests from
// it, and does the same with answers. So any client format works with any upstream format without a converter for each
// pair.
//
// The package knows no network, no Caddy and no policy.
package hub

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
)

// Format is a model API. Its text is that of the catalog.Wire constants. The constants below are those that clients
// speak.
type Format string

// The formats.
const (
	Chat      Format = catalog.WireChat
	Responses Format = catalog.WireResponses
	Messages  Format = catalog.WireMessages
)

// Request is a request for one answer of a model. Fields are named as in chat completions (specification 3), unless
// their comments say otherwise.
//
// The reader of a format fills it, and writers for upstreams only read it: one request is written for several
// candidates, one after the other.
type Request struct {
	// Format is the client's format, Body is what the client sent.
	Format Format
	Body   []byte

	Model  string
	Stream bool
	// IncludeUsage reports that a chat client wants the usage of a stream.
	IncludeUsage bool
	// MaxTokens is max_completion_tokens. It is 0 if it was not given.
	MaxTokens int64
	Messages  []Message
	Tools     []Tool
	Choice    Choice
	// Output describes what the answer has to be. Nil means text.
	Output *Output
	// Effort is how much to reason. It is empty if the client did not say.
	Effort Effort
	// Spelled is the effort of a chat client that states it with members of another API. These members are also among
	// the parameters, named in SpelledEffort, as chat upstreams get them; see InCommonWords.
	Spelled Effort
	Stop    []string
	// Params are the other parameters, in order. They pass without being interpreted (temperature, top_p, top_k, seed,
	// user, parallel_tool_calls, …).
	Params []Param
	// Dropped names the client's fields that were left out, by their JSON path (specification 1.3).
	Dropped []string

	// Needs are what a candidate must have to carry the request, TextBytes is the size of its text.
	Needs     wire.Needs
	TextBytes int64
	// Own is the 400 for a request with wire.NeedOwn that no candidate can carry.
	Own error

	// Answer says how the client wants the answer, beside its text.
	Answer Answer

	counted int64 // tokens of a prompt that LetGo has released; 0 if it was not called
}

// Param is one parameter. Value is its JSON text.
type Param struct{ Name, Value string }

// Param returns the JSON text of a parameter, or an empty string if the client did not give it.
func (r *Request) Param(name string) string {
	for _, p := range r.Params {
		if p.Name == name {
			return p.Value
		}
	}
	return ""
}

// SpelledEffort are the parameters of chat that state the effort in the way of other APIs: that of aggregators and that
// of the messages API.
var SpelledEffort = []string{"thinking", "reasoning"}

// InCommonWords returns the request for an upstream of another format than chat. An effort in Spelled takes the place
// of an absent one.
func (r *Request) InCommonWords() *Request {
	if r.Effort != "" || r.Spelled == "" {
		return r
	}
	c := *r
	c.Effort = r.Spelled
	c.Params = slices.DeleteFunc(slices.Clone(r.Params), func(p Param) bool {
		return slices.Contains(SpelledEffort, p.Name)
	})
	return &c
}

// OnlyOfChat returns the paths of the members of messages that have a value and for which no other format than chat has
// a place, such as a name, each once. Members with reasoning state are not among them, since they were read before.
func (r *Request) OnlyOfChat() (paths []string) {
	for i := range r.Messages {
		for _, m := range r.Messages[i].Extra {
			switch m.Name {
			case "extra_content", "reasoning_content", "reasoning_details", "reasoning":
				continue
			}
			path := "messages[]." + m.Name[:min(len(m.Name), 100)]
			if hasValue := m.Value != "null" && m.Value != "[]" && m.Value != `""`; !hasValue || slices.Contains(paths, path) {
				continue
			}
			if paths = append(paths, path); len(paths) == maxOnlyOfChat {
				return paths
			}
		}
	}
	return paths
}

// maxOnlyOfChat is the largest number of paths that are listed.
const maxOnlyOfChat = 20

// OtherOutput returns the kind of output (audio, image) that a chat client wants beside text, according to modalities,
// which no other format can express. It is empty if there is none.
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

// Drop records fields that are left out.
func (r *Request) Drop(paths ...string) { r.Dropped = append(r.Dropped, paths...) }

// Answer is what a request says about the form of its answer.
type Answer struct {
	// Reasoning reports that the reasoning may be shown, which is so unless the client refuses it.
	Reasoning bool
	// HideReasoningText reports that blocks of reasoning come without their text (thinking.display "omitted").
	HideReasoningText bool
	// State reports that the client returns sealed reasoning state, so that it gets some (messages: always; Responses:
	// include "reasoning.encrypted_content").
	State bool
	// Store reports that the client allows the answer to be stored.
	Store bool
	// Logprobs reports that the client wants the log probabilities of the text.
	Logprobs bool
	// Echo are members of the Responses object that repeat the request.
	Echo []Param
}

// Role is the author of a message.
type Role uint8

// The roles.
const (
	System Role = iota + 1
	Developer
	User
	Assistant
	ToolResult // the role "tool"
)

// String returns the role's name in chat completions.
func (r Role) String() string {
	return [...]string{"", "system", "developer", "user", "assistant", "tool"}[r]
}

// Message is one turn. Readers keep the order of the client, but put tool results after the assistant message with
// their calls, in the order of the calls (specification 3, rule 3).
type Message struct {
	Role  Role
	Parts []Part
	// Calls belong to an assistant message.
	Calls []Call
	// CallID belongs to a tool result.
	CallID string
	// Failed reports that the tool result is an error. Its text says so already (specification 4.2); writers of formats
	// with a flag for errors may set that, too.
	Failed bool
	// Reasoning belongs to an assistant message, in the order in which it came.
	Reasoning []Reasoning
	// Extra are members that only chat completions have (name, audio, …).
	Extra []Param
}

// Part is a piece of content.
type Part struct {
	Kind PartKind
	// Text is the text of PartText and PartRefusal.
	Text string
	// URL is the https or data URL of an image or of a file.
	URL string
	// Detail is the detail of an image, the name of a file, or the format of audio ("wav", "mp3").
	Detail string
	// Data is audio in base64.
	Data string
	// Cache is the JSON text of a cache_control mark. It is empty if there is none.
	Cache string
	// Raw is the JSON text of a part in the client's format that only a candidate of that format understands. Its Kind
	// is PartOther.
	Raw string
}

// PartKind is the kind of a part.
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
	// Name is the name for upstreams, see Tool.Name.
	Name string
	// Arguments is JSON text, usually an object. It passes unchanged.
	Arguments string
	// State is reasoning state that came with this call (Gemini), or nil.
	State *State
	// Extra are members that only chat completions have (extra_content).
	Extra []Param
}

// Tool is a function that the model may call.
type Tool struct {
	// Name matches ^[A-Za-z0-9_-]{1,64}$, see LegalName.
	Name        string
	Description string
	// Parameters is the JSON text of a schema object.
	Parameters string
	// Strict is the JSON text true or false. It is empty if it was not given.
	Strict string
	// Cache is the JSON text of a cache_control mark. It is empty if there is none.
	Cache string
	// Kind, Namespace and Own describe the tool as the client knows it: calls are returned under its own name and with
	// the item type of its kind.
	Kind      ToolKind
	Namespace string
	Own       string
}

// ToolKind is the kind of a tool from the client's point of view.
type ToolKind uint8

// The kinds of tools. All but the first belong to the Responses format (specification 7.4).
const (
	ToolFunction ToolKind = iota
	ToolCustom            // free text in {"input": text}
	ToolSearch
	ToolLocalShell
	ToolShell
	ToolApplyPatch
)

// Tool returns the tool with the given name for upstreams. A name that no tool of the request has is taken as the
// client's own.
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
	// Mode is "auto", "none", "required" or "function". It is empty if it was not given.
	Mode string
	// Name is the name of the chosen function for upstreams.
	Name string
}

// Output is response_format.
type Output struct {
	// Kind is "json_object" or "json_schema".
	Kind string
	// The following belong to json_schema. Schema is JSON text, Strict is as in Tool.
	Name, Description, Schema, Strict string
}

// Rule returns the instruction about the form of the answer that a model needs if the upstream cannot enforce that
// form. It is empty for a nil Output.
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

// The efforts, from least to most.
const (
	EffortNone    Effort = "none"
	EffortMinimal Effort = "minimal"
	EffortLow     Effort = "low"
	EffortMedium  Effort = "medium"
	EffortHigh    Effort = "high"
	EffortXHigh   Effort = "xhigh"
	EffortMax     Effort = "max"
)

// Efforts lists the efforts, from least to most.
var Efforts = [...]Effort{EffortNone, EffortMinimal, EffortLow, EffortMedium, EffortHigh, EffortXHigh, EffortMax}

// BudgetEffort returns the effort that corresponds to a budget of so many tokens for reasoning.
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
	// KeyID names the gateway key of the request, for CacheKey. It is empty if it is not known.
	KeyID string
	// Drop names the parameters that are left out, with chat's names: those of the provider's shape and those that the
	// provider refused before.
	Drop []string
	// MaxTokensField is the name of the token limit in chat completions.
	MaxTokensField string
	// StreamUsage reports that the usage of a stream must be asked for.
	StreamUsage bool
	// CacheMarks reports that a messages upstream gets marks for its prompt cache if the client's format has none.
	CacheMarks bool
	// State reports that the state of reasoning is wanted although the client has not asked for it.
	State bool
	// ToolCallIDMax is the longest id of a call in chat completions, in characters. 0 means any length that the APIs
	// allow.
	ToolCallIDMax int
}

// Efforts returns the efforts that the model knows.
func (t *Target) Efforts() []string {
	if t.Model.ReasoningEfforts != nil {
		return t.Model.ReasoningEfforts
	}
	return t.Provider.Shape.ReasoningEfforts
}

// Effort returns the effort to send for the one that was asked for: the same if the model knows it, else the next lower
// one that it knows, down to least, else the next higher one. It returns an empty string if the model does not reason
// or takes no effort, or if the one asked for is unknown.
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
	// Header is sent along. It may be nil.
	Header map[string]string
}
