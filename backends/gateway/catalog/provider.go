package catalog

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Ways to present a provider key.
const (
	AuthBearer  = "bearer"    // Authorization: Bearer <key>
	AuthXAPIKey = "x-api-key" // x-api-key: <key>
	AuthAPIKey  = "api-key"   // api-key: <key>
	AuthEntra   = "entra"     // api-key: <key>, or a token for a key that is an application of Microsoft Entra ID
	AuthGoogle  = "google"    // a token for a key that is a service account of Google Cloud, or the token itself
	AuthAWS     = "aws"       // Authorization: Bearer <key>, or a signature by a key that is an access key of AWS
)

// Wire formats of an upstream. Every provider without NoChat speaks WireChat; the others are
// listed in Provider.Wires.
const (
	WireChat      = "chat"
	WireResponses = "responses"
	WireMessages  = "messages"
	WireConverse  = "converse" // Amazon Bedrock's, which no client speaks
)

// Provider is one upstream service. The JSON names are those of the data file.
// Providers of a Catalog are shared: they must not be changed.
type Provider struct {
	// Code is the short name used in settings, headers and stored keys.
	Code string `json:"code"`
	// Name is the name people know.
	Name string `json:"name"`
	// BaseURL is the base of the chat format without a trailing slash;
	// "/chat/completions" is appended. In the data file it may hold {name}
	// parts that Override.Params fills.
	BaseURL string `json:"base_url"`
	// Env are the environment variables that may hold a key; the first one set wins.
	Env []string `json:"env"`
	// Alternate providers are shipped but listed only when enabled.
	Alternate bool `json:"alternate"`
	// Auth is how a key is presented, one of the Auth constants. Default: AuthBearer.
	Auth string `json:"auth"`
	// TokenURL is where keys are exchanged for tokens, and TokenScope what the tokens are for. Both
	// are for AuthEntra, whose URL has {tenant} in it, and AuthGoogle.
	TokenURL   string `json:"token_url"`
	TokenScope string `json:"token_scope"`
	// SigningService and SigningRegion are the scope of signatures. Both are for AuthAWS.
	SigningService string `json:"signing_service"`
	SigningRegion  string `json:"signing_region"`
	// Headers are sent with each request. They never hold a credential.
	Headers map[string]string `json:"headers"`
	// PinnedHeaders: neither a format nor a client of it puts another value in the place of one of
	// Headers. It is for providers that lag behind the versions of the format's vendor.
	PinnedHeaders bool `json:"pinned_headers"`
	// Wires are the formats spoken beside chat.
	Wires []string `json:"wires"`
	// NoChat means that the provider does not speak chat, whatever is asked of it.
	NoChat bool `json:"no_chat"`
	// PreferWire is the format to use for clients of another format, where that
	// loses less than chat. Default: WireChat.
	PreferWire string `json:"prefer_wire"`
	// NativeTools: the wires beside chat take all that the vendor's clients can say, every
	// type of tool above all. The responses wire of others takes functions only, so a
	// request with more goes by chat.
	NativeTools bool `json:"native_tools"`
	// WireBaseURLs are the bases of wires that do not share BaseURL; see WireURL.
	WireBaseURLs map[string]string `json:"wire_base_urls"`
	// Paths are put after the base in place of "/chat/completions" and the like, by wire ("embeddings"
	// is one here). {model} in them is the model's id. StreamPaths are those of streams, where they differ.
	Paths       map[string]string `json:"paths"`
	StreamPaths map[string]string `json:"stream_paths"`
	// Body are members that requests of the wires beside chat have, and ModelInPath says that they have
	// no "model".
	Body        map[string]string `json:"body"`
	ModelInPath bool              `json:"model_in_path"`
	// Endpoints are what else the provider serves and no format is translated for, such as
	// "audio/speech", with their addresses. An empty one is BaseURL and the name.
	Endpoints map[string]string `json:"endpoints"`
	// AffinityHeader is the header that leads the requests of a conversation to the same server of
	// the provider, which has cached the prompt. Empty: the provider documents none.
	AffinityHeader string `json:"affinity_header"`
	// Shape is what has to be changed in a chat request for this provider.
	Shape Shape `json:"shape"`
	// Timeouts override those of the gateway where they are not zero.
	Timeouts Timeouts `json:"-"`
	// APIKey is the operator's key, which serves every user behind their own; empty:
	// there is none. KeyID stands for it inside this process, and changes with it.
	APIKey string `json:"-"`
	KeyID  string `json:"-"`
	// DocsURL is the API reference, KeyURL the page where a key is made.
	DocsURL string `json:"docs_url"`
	KeyURL  string `json:"key_url"`
	// Note is for readers of the file; nothing depends on it.
	Note string `json:"note"`
}

// ChatURL is the address of the chat completions endpoint.
func (p *Provider) ChatURL() string { return p.BaseURL + p.path(WireChat, "/chat/completions") }

// EmbeddingsURL is the address of the embeddings endpoint.
func (p *Provider) EmbeddingsURL() string { return p.BaseURL + p.path(wireEmbeddings, "/embeddings") }

// wireEmbeddings names the path of embeddings in Paths.
const wireEmbeddings = "embeddings"

// path is what is put after the base of a wire.
func (p *Provider) path(wire, usual string) string {
	if path, ok := p.Paths[wire]; ok {
		return path
	}
	return usual
}

// ModelURL is the address for a request to a model, made of that of its wire.
func (p *Provider) ModelURL(address, wire, model string, stream bool) string {
	if len(p.Paths) == 0 {
		return address
	}
	if path, ok := p.StreamPaths[wire]; ok && stream {
		address = strings.TrimSuffix(address, p.Paths[wire]) + path
	}
	return strings.ReplaceAll(address, modelPart, url.PathEscape(model))
}

// modelPart stands in Paths for the id of a model.
const modelPart = "{model}"

// PrefillURL is where a chat request goes whose last message is an assistant
// turn to be continued. Most providers use ChatURL for it.
func (p *Provider) PrefillURL() string {
	if p.Shape.PrefillBaseURL != "" {
		return p.Shape.PrefillBaseURL + "/chat/completions"
	}
	return p.ChatURL()
}

// WireURL is the endpoint of a wire format: base + "/chat/completions",
// "/responses" or "/messages". It reports false for a format that this
// provider does not speak.
func (p *Provider) WireURL(wire string) (string, bool) {
	if wire == WireChat {
		return p.ChatURL(), true
	}
	if !slices.Contains(p.Wires, wire) {
		return "", false
	}
	if base, ok := p.WireBaseURLs[wire]; ok {
		return base + p.path(wire, "/"+wire), true
	}
	return p.BaseURL + p.path(wire, "/"+wire), true
}

// Serves reports whether the provider has one of Endpoints.
func (p *Provider) Serves(endpoint string) bool {
	_, ok := p.Endpoints[endpoint]
	return ok
}

// EndpointURL is the address of one of Endpoints. It reports false for what is none of them.
func (p *Provider) EndpointURL(endpoint string) (string, bool) {
	address, ok := p.Endpoints[endpoint]
	if address == "" {
		address = p.BaseURL + "/" + endpoint
	}
	return address, ok
}

// clone copies what With may change.
func (p *Provider) clone() *Provider {
	c := *p
	c.Headers = maps.Clone(p.Headers)
	if c.Headers == nil {
		c.Headers = make(map[string]string)
	}
	c.WireBaseURLs = maps.Clone(p.WireBaseURLs)
	c.Wires = slices.Clone(p.Wires)
	c.Endpoints = maps.Clone(p.Endpoints)
	c.Paths, c.StreamPaths = maps.Clone(p.Paths), maps.Clone(p.StreamPaths)
	return &c
}

// Names of the field that limits the length of an answer.
const (
	FieldMaxTokens           = "max_tokens"
	FieldMaxCompletionTokens = "max_completion_tokens"
)

// What to do with the content of an assistant message that has tool calls and
// no text.
const (
	ContentKeep  = ""      // leave it as it is
	ContentNull  = "null"  // send null
	ContentOmit  = "omit"  // leave the member out
	ContentEmpty = "empty" // always send a string, "" when there is none
)

// Where a chat request says how much to reason.
const (
	EffortFlat   = "reasoning_effort" // top-level string
	EffortNested = "reasoning.effort" // member of the object "reasoning"
)

// Where the chat format carries the state of a model's reasoning, which the
// model must get back.
const (
	StateNone    = ""        // nowhere, or it is not needed
	StateThought = "thought" // tool_calls[].extra_content.google.thought_signature
	StateContent = "content" // reasoning_content of messages with tool calls
	StateDetails = "details" // reasoning_details of messages
)

// Shape is what one provider needs changed in a chat request, as data: code
// reads these fields and never asks which provider it talks to.
type Shape struct {
	// MaxTokensField is FieldMaxTokens or FieldMaxCompletionTokens.
	// Default: FieldMaxTokens.
	MaxTokensField string `json:"max_tokens_field"`
	// ReservesMaxTokens: the provider charges the whole limit against the
	// quota in advance, so a limit far above need must not be sent.
	ReservesMaxTokens bool `json:"reserves_max_tokens"`
	// Drop are top-level request members that are never sent.
	Drop []string `json:"drop"`
	// DropForReasoning are dropped too when the model reasons.
	DropForReasoning []string `json:"drop_for_reasoning"`
	// Rename maps a top-level member to the provider's name for it.
	Rename map[string]string `json:"rename"`
	// ToolChoiceRequired replaces tool_choice "required". Empty: as it is.
	ToolChoiceRequired string `json:"tool_choice_required"`
	// StreamUsage: stream_options.include_usage may be sent. Where it may not,
	// usage comes anyway and Drop holds stream_options.
	StreamUsage bool `json:"stream_usage"`
	// DeveloperRole: the role "developer" is understood; otherwise it is sent
	// as "system".
	DeveloperRole bool `json:"developer_role"`
	// SystemFirst: system messages may stand only at the beginning.
	SystemFirst bool `json:"system_first"`
	// Alternation: turns of user and assistant must alternate and the first is
	// the user's. Tool messages belong to the assistant's turn before them, and
	// an assistant message may follow them directly.
	Alternation bool `json:"alternation"`
	// CallsAnswered: each tool call of a turn that is over must have a result; a
	// request with a gap is refused. Alternation implies it.
	CallsAnswered bool `json:"calls_answered"`
	// ToolCallID9: tool call ids must be nine characters of [A-Za-z0-9].
	ToolCallID9 bool `json:"tool_call_id_9"`
	// ToolCallIDMax is how many characters the id of a tool call may have. Longer ones,
	// which other servers make, are sent shortened. Zero: the provider has no limit below
	// that of the APIs, 64.
	ToolCallIDMax int `json:"tool_call_id_max"`
	// EmptyToolContent is one of the Content constants.
	EmptyToolContent string `json:"empty_tool_content"`
	// SchemaSubset: JSON schemas lose $schema, additionalProperties, format
	// and exclusiveMinimum, and $ref is resolved.
	SchemaSubset bool `json:"schema_subset"`
	// DataURLImages: only images given as data URLs can be sent. The gateway
	// does not fetch, so such a candidate is skipped for other images.
	DataURLImages bool `json:"data_url_images"`
	// PrefillField is the member set to true on a last assistant message that
	// is to be continued. Empty: the message is sent as it is; whether that is
	// understood at all is Model.Prefill.
	PrefillField string `json:"prefill_field"`
	// PrefillBaseURL is the base of such requests where it differs.
	PrefillBaseURL string `json:"prefill_base_url"`
	// EffortField is EffortFlat or EffortNested. Default: EffortFlat.
	EffortField string `json:"effort_field"`
	// ReasoningEfforts are the efforts that reasoning models of this provider
	// know unless the model says otherwise.
	ReasoningEfforts []string `json:"reasoning_efforts"`
	// ToolsWithEffort is the wire for requests with function tools and a reasoning effort,
	// which chat completions of newer models refuse together. It counts for models that
	// reason and where the provider speaks the wire. Empty: chat takes them.
	ToolsWithEffort string `json:"tools_with_effort"`
	// ThinkingSwitch: reasoning is turned off by thinking {"type":"disabled"},
	// not by an effort.
	ThinkingSwitch bool `json:"thinking_switch"`
	// ReasoningState is how the chat format of this provider carries the state
	// of a model's reasoning: one of the State constants.
	ReasoningState string `json:"reasoning_state"`
	// CacheMarks are the beginnings of the ids of models whose text parts may have a
	// cache_control mark; other models get none.
	CacheMarks []string `json:"cache_marks"`
	// ThinkTags: a text that begins with <think> is reasoning up to </think>.
	ThinkTags bool `json:"think_tags"`
}

// DefaultShape is for providers that the catalog does not know, such as a
// user's own server: the old name of the limit, and none of the members that
// only OpenAI defines.
func DefaultShape() Shape {
	return Shape{
		MaxTokensField: FieldMaxTokens,
		EffortField:    EffortFlat,
		StreamUsage:    true,
		Drop: []string{
			"user", "metadata", "service_tier", "prompt_cache_key", "prompt_cache_retention",
			"safety_identifier", "verbosity", "store", "seed",
		},
	}
}

// Timeouts of one attempt. Zero means: the default of the gateway.
type Timeouts struct {
	// Connect is the time to a usable connection, TLS included.
	Connect time.Duration
	// FirstContent is the time from a request for a stream to its first content.
	FirstContent PerTier
	// Answer is the time from a request without a stream to the end of its answer.
	Answer PerTier
	// Idle is the longest silence between two pieces of an answer.
	Idle time.Duration
}

// Or fills the fields of t that are zero from d.
func (t Timeouts) Or(d Timeouts) Timeouts {
	return Timeouts{
		Connect:      or(t.Connect, d.Connect),
		FirstContent: t.FirstContent.or(d.FirstContent),
		Answer:       t.Answer.or(d.Answer),
		Idle:         or(t.Idle, d.Idle),
	}
}

func or(d, fallback time.Duration) time.Duration {
	if d != 0 {
		return d
	}
	return fallback
}

// PerTier is one duration for each tier.
type PerTier struct{ Low, Medium, High time.Duration }

func (p PerTier) or(d PerTier) PerTier {
	return PerTier{Low: or(p.Low, d.Low), Medium: or(p.Medium, d.Medium), High: or(p.High, d.High)}
}

// For returns the duration of a tier; zero for a value that is no tier.
func (p PerTier) For(t Tier) time.Duration {
	switch t {
	case Low:
		return p.Low
	case Medium:
		return p.Medium
	case High:
		return p.High
	}
	return 0
}

// clip keeps text from outside short enough for an error message.
func clip(s string) string {
	const most = 100
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
