// Package hub contains the common form of the model APIs (formats): a request, an answer in steps (deltas), and a
// model's reasoning state. Each format has a package beside this one. It reads the format's requests and answers into
// the common form and writes them from it. So any client format works with any upstream format without a converter for
// each pair.
//
// The package knows no network, no Caddy and no policy.
package hub

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
)

// Format is the name of a model API, as in the catalog.Wire constants. The constants below are the formats of clients.
type Format string

// The formats.
const (
	Chat      Format = catalog.WireChat
	Responses Format = catalog.WireResponses
	Messages  Format = catalog.WireMessages
)

// Request is a request for one answer of a model. Fields are named as in chat completions, unless their comments say
// otherwise.
//
// The client format's reader fills the request. Writers for upstreams only read it, since the request may be written
// for several candidates.
type Request struct {
	// Format is the client's format. Body is the client's body.
	Format Format
	Body   []byte

	Model  string
	Stream bool
	// IncludeUsage is set if a chat client asked for the usage of a stream.
	IncludeUsage bool
	// MaxTokens is max_completion_tokens, or 0 if absent.
	MaxTokens int64
	Messages  []Message
	Tools     []Tool
	Choice    Choice
	// Output is the required form of the answer. Nil means text.
	Output *Output
	// Effort is the reasoning effort, or empty if absent.
	Effort Effort
	// OtherEffort is the reasoning effort of a chat client that states the effort with parameters of another API
	// (OtherEffortParams). Chat upstreams get these parameters unchanged, since they are among Params. For other
	// upstreams see WithOtherEffort.
	OtherEffort Effort
	Stop        []string
	// Params are the other parameters in their order. They are passed on without interpretation (temperature, top_p,
	// top_k, seed, user, parallel_tool_calls, …).
	Params []Param
	// Dropped names the client's fields that were left out, by their JSON path.
	Dropped []string

	// Needs are the features that a candidate must support. TextBytes is the size of the request's text.
	Needs     wire.Needs
	TextBytes int64
	// OwnFormatError is the error for the client, with status 400, if Needs contains wire.NeedOwnFormat and no candidate
	// can carry the request.
	OwnFormatError error

	// Answer holds the client's wishes for the answer, apart from its text.
	Answer Answer

	counted int64 // prompt tokens, counted by ReleaseBody; 0 before it
}

// Param is one parameter. Value is its JSON text.
type Param struct{ Name, Value string }

// IsDefault reports whether the parameter has a value that means the same as no parameter.
func (p Param) IsDefault() bool {
	return p.Value == "null" || p.Value == "false" && (p.Name == "logprobs" || p.Name == "store")
}

// Param returns the JSON text of a parameter, or an empty string if the parameter is absent.
func (r *Request) Param(name string) string {
	for _, p := range r.Params {
		if p.Name == name {
			return p.Value
		}
	}
	return ""
}

// OtherEffortParams are the chat parameters in which clients state the effort as in other APIs. The parameter thinking
// is that of the messages format, and reasoning is that of aggregators.
var OtherEffortParams = []string{"thinking", "reasoning"}

// WithOtherEffort returns the request for an upstream of a format other than chat. If Effort is absent, OtherEffort
// is used instead, and the parameters in OtherEffortParams are removed. The receiver is not changed.
func (r *Request) WithOtherEffort() *Request {
	if r.Effort != "" || r.OtherEffort == "" {
		return r
	}
	c := *r
	c.Effort = r.OtherEffort
	c.Params = slices.DeleteFunc(slices.Clone(r.Params), func(p Param) bool {
		return slices.Contains(OtherEffortParams, p.Name)
	})
	return &c
}

// ChatOnlyPaths returns the JSON paths of those message fields that exist only in chat completions, such as name. Each
// path is returned once. Fields without a value are left out, and so are fields with reasoning state, which the reader
// has already interpreted.
func (r *Request) ChatOnlyPaths() (paths []string) {
	for i := range r.Messages {
		for _, field := range r.Messages[i].Extra {
			path := "messages[]." + field.Name[:min(len(field.Name), 100)]
			hasValue := field.Value != "null" && field.Value != "[]" && field.Value != `""`
			if IsStateField(field.Name) || !hasValue || slices.Contains(paths, path) {
				continue
			}
			if paths = append(paths, path); len(paths) == maxChatOnlyPaths {
				return paths
			}
		}
	}
	return paths
}

// maxChatOnlyPaths limits the number of paths that ChatOnlyPaths returns.
const maxChatOnlyPaths = 20

// IsStateField reports whether name is the name of a field of a chat message or tool call in which a provider sends
// reasoning state.
func IsStateField(name string) bool {
	switch name {
	case "extra_content", "reasoning_content", "reasoning_details", "reasoning":
		return true
	}
	return false
}

// CheckAnswer returns an error if the request asks for several answers, or for output other than text. Only an
// upstream with the format chat completions can give these. format is the name of the upstream's format, which must
// not be chat completions.
func (r *Request) CheckAnswer(format string) error {
	if n, err := strconv.ParseFloat(r.Param("n"), 64); err == nil && n > 1 {
		return fmt.Errorf("n is %v: the %s format gives one answer", n, format)
	}
	if kind := r.ChatOnlyOutput(); kind != "" {
		return fmt.Errorf("modalities has %s: the %s format gives text", Shown(kind), format)
	}
	return nil
}

// ChatOnlyOutput returns the kind of output (audio, image) besides text that a chat client requests with modalities. No
// other format can express it. It returns an empty string if the client wants only text.
func (r *Request) ChatOnlyOutput() (kind string) {
	gjson.Parse(r.Param("modalities")).ForEach(func(_, v gjson.Result) bool {
		kind = v.Str
		return kind == "" || kind == "text"
	})
	if kind == "text" {
		return ""
	}
	return kind
}

// AddParam adds a parameter. value is its JSON text.
func (r *Request) AddParam(name, value string) {
	r.Params = append(r.Params, Param{Name: name, Value: value})
}

// RequireOwnFormat records that the request can only be sent to an upstream of the client's format, since such an
// upstream gets the client's bytes. err is the error for the client if there is no such upstream. If RequireOwnFormat
// is called several times, the first error is kept.
func (r *Request) RequireOwnFormat(err error) {
	r.Needs |= wire.NeedOwnFormat
	if r.OwnFormatError == nil {
		r.OwnFormatError = err
	}
}

// Drop records fields that are left out of the request.
func (r *Request) Drop(paths ...string) { r.Dropped = append(r.Dropped, paths...) }

// MaxDropped limits the number of fields that DropOnce records. The client sees at most 20 of them.
const MaxDropped = 64

// DropOnce records fields that are left out of the request, each path only once, and at most MaxDropped paths in all.
func (r *Request) DropOnce(paths ...string) {
	for _, path := range paths {
		if len(r.Dropped) < MaxDropped && !slices.Contains(r.Dropped, path) {
			r.Drop(path)
		}
	}
}

// Answer holds a client's wishes for the form of the answer.
type Answer struct {
	// Reasoning is set if the reasoning may be shown. It is set unless the client refuses the reasoning.
	Reasoning bool
	// HideReasoningText is set if reasoning blocks are sent without their text (thinking.display "omitted").
	HideReasoningText bool
	// State is set if the client returns reasoning state in its next request and therefore gets the state as a token. In
	// the messages format State is always set. In the Responses format it is set if the field include contains
	// "reasoning.encrypted_content".
	State bool
	// Store is set if the client allows the answer to be stored.
	Store bool
	// Logprobs is set if the client wants the log probabilities of the text.
	Logprobs bool
	// Echo are the fields of a Responses request that the response object repeats.
	Echo []Param
}

// Reminder returns the text of a system message in the form in which it may stand in a user message. Writers use it for
// upstreams that accept system messages only at the start of the conversation.
func Reminder(text string) string { return "<system-reminder>\n" + text + "\n</system-reminder>" }

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

// Message is one turn. Readers keep the client's order, except that tool results follow the assistant message with
// their calls, in the order of the calls.
type Message struct {
	Role  Role
	Parts []Part
	// Calls belong to an assistant message.
	Calls []Call
	// CallID belongs to a tool result.
	CallID string
	// Failed is set if the tool result is an error. The result's text states this already. Writers of formats with an
	// error flag may set the flag too.
	Failed bool
	// Reasoning is the reasoning of an assistant message, in the model's order.
	Reasoning []Reasoning
	// Extra are fields that only chat completions have (name, audio, …).
	Extra []Param
}

// Part is a piece of content.
type Part struct {
	Kind PartKind
	// Text is the text of PartText and PartRefusal.
	Text string
	// URL is the https or data URL of an image or file.
	URL string
	// Detail is the detail of an image, the name of a file, or the format of audio ("wav", "mp3").
	Detail string
	// Data is audio in base64.
	Data string
	// Cache is the JSON text of a cache_control mark, or empty if there is no mark.
	Cache string
	// Raw is the JSON text of a part that only candidates of the client's format understand. Kind is PartOther.
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

// Call is a tool call of the model.
type Call struct {
	ID string
	// Name is the name for upstreams, see Tool.Name.
	Name string
	// Arguments is JSON text, usually an object. It is passed on unchanged.
	Arguments string
	// State is the reasoning state that came with this call (Gemini), or nil.
	State *State
	// Extra are fields that only chat completions have (extra_content).
	Extra []Param
}

// Tool is a function that the model may call.
type Tool struct {
	// Name matches ^[A-Za-z0-9_-]{1,64}$, see LegalName.
	Name        string
	Description string
	// Parameters is the JSON text of a schema object.
	Parameters string
	// Strict is the JSON text true or false, or empty if absent.
	Strict string
	// Cache is the JSON text of a cache_control mark, or empty if there is no mark.
	Cache string
	// Kind, Namespace and ClientName are the tool's kind, namespace and name in the client's request. The client gets
	// calls of the tool under this name, as an item of this kind.
	Kind       ToolKind
	Namespace  string
	ClientName string
}

// ToolKind is the kind of a tool in the client's request.
type ToolKind uint8

// The kinds of tools. All but the first exist only in the Responses format.
const (
	ToolFunction ToolKind = iota
	ToolCustom            // free text in {"input": text}
	ToolSearch
	ToolLocalShell
	ToolShell
	ToolApplyPatch
)

// Tool returns the tool with the given upstream name (Tool.Name). If the request has no such tool, Tool returns a new
// tool that has this name as its Name and its ClientName.
func (r *Request) Tool(name string) Tool {
	for i := range r.Tools {
		if r.Tools[i].Name == name {
			return r.Tools[i]
		}
	}
	return Tool{Name: name, ClientName: name}
}

// Choice is tool_choice.
type Choice struct {
	// Mode is "auto", "none", "required" or "function", or empty if absent.
	Mode string
	// Name is the upstream name (Tool.Name) of the chosen function.
	Name string
}

// Output is response_format.
type Output struct {
	// Kind is "json_object" or "json_schema".
	Kind string
	// These fields belong to json_schema. Schema is JSON text. Strict has the same form as Tool.Strict.
	Name, Description, Schema, Strict string
}

// Rule returns an instruction for the model about the form of the answer, for upstreams that cannot enforce the form.
// It returns an empty string for a nil Output.
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

// Effort is how much a model reasons.
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

// BudgetEffort returns the effort that corresponds to a budget of reasoning tokens.
func BudgetEffort(tokens int64) Effort {
	switch {
	case tokens < 4096:
		return EffortLow
	case tokens < 16384:
		return EffortMedium
	}
	return EffortHigh
}

// Target is the candidate for which a request is written.
type Target struct {
	Provider *catalog.Provider
	Model    *catalog.Model
	// KeyID names the gateway key of the request, for CacheKey. It is empty if there is no gateway key.
	KeyID string
	// Drop names the parameters to leave out, under their chat names: the parameters that the provider's shape drops, and
	// the parameters that the provider refused before.
	Drop []string
	// MaxTokensField is the name of the token limit in chat completions.
	MaxTokensField string
	// StreamUsage is set if the upstream sends the usage of a stream only on request.
	StreamUsage bool
	// CacheMarks is set if prompt cache marks are added to requests for a messages upstream when the client's format
	// has no such marks.
	CacheMarks bool
	// State is set if the upstream is to return reasoning state although the client did not ask for it.
	State bool
	// ToolCallIDMax is the longest tool call id in chat completions, in characters. 0 means any length that the APIs
	// allow.
	ToolCallIDMax int
}

// Efforts returns the reasoning efforts that the model supports.
func (t *Target) Efforts() []string {
	if t.Model.ReasoningEfforts != nil {
		return t.Model.ReasoningEfforts
	}
	return t.Provider.Shape.ReasoningEfforts
}

// Effort returns the effort to send for requestedEffort: the same effort if the model supports it, else the next lower
// supported effort down to lowestEffort, else the next higher one. It returns an empty string if the model does not
// reason or takes no effort, or if requestedEffort is unknown.
func (t *Target) Effort(requestedEffort, lowestEffort Effort) Effort {
	index := slices.Index(Efforts[:], requestedEffort)
	if index < 0 || !t.Model.Reasoning {
		return ""
	}
	// lower contains the efforts from lowestEffort up to requestedEffort. If requestedEffort is lower than lowestEffort,
	// it contains only requestedEffort.
	lower := Efforts[min(index, slices.Index(Efforts[:], lowestEffort)) : index+1]
	for _, e := range slices.Backward(lower) {
		if slices.Contains(t.Efforts(), string(e)) {
			return e
		}
	}
	for _, e := range Efforts[index+1:] {
		if slices.Contains(t.Efforts(), string(e)) {
			return e
		}
	}
	return ""
}

// Limit returns the token limit for the answer: tokens, lowered to the model's maximum if that is known.
func (t *Target) Limit(tokens int64) int64 {
	if maximum := int64(t.Model.MaxOutput); maximum > 0 {
		return min(tokens, maximum)
	}
	return tokens
}

// Refuses reports whether the chat completions parameter with this name is left out because the candidate refused it in
// an earlier request. Parameters that the provider's Shape drops do not count, since Shape describes only the
// provider's chat completions API.
func (t *Target) Refuses(name string) bool {
	return slices.Contains(t.Drop, name) && !slices.Contains(t.Provider.Shape.Drop, name)
}

// Written is a request in the form of an upstream's API.
type Written struct {
	Body []byte
	// Dropped names the client's fields that this candidate does not get.
	Dropped []string
	// Header holds header fields for the upstream. It may be nil.
	Header map[string]string
}
