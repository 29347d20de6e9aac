package catalog

import (
	"cmp"
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
	AuthEntra   = "entra"     // api-key: <key>, or a token if the key is an application of Microsoft Entra ID
	AuthGoogle  = "google"    // a token if the key is a service account of Google Cloud, or the key is the token itself
	AuthAWS     = "aws"       // Authorization: Bearer <key>, or a signature if the key is an access key of AWS
)

// Wire formats of an upstream. Every provider without NoChat speaks WireChat; further formats are in Provider.Wires.
const (
	WireChat      = "chat"
	WireResponses = "responses"
	WireMessages  = "messages"
	WireConverse  = "converse" // the format of Amazon Bedrock; no client speaks it
)

// Provider is one upstream service. The JSON names are those of the data file. Providers of a Catalog are shared and
// must not be changed.
type Provider struct {
	// Code is the short name used in settings, headers and stored keys.
	Code string `json:"code"`
	// Name is the display name.
	Name string `json:"name"`
	// BaseURL is the base of the chat format without a trailing slash; "/chat/completions" is appended. In the data
	// file it may have {name} parts, which Override.Params fills.
	BaseURL string `json:"base_url"`
	// Env are the environment variables that may hold a key. The first variable that is set is used.
	Env []string `json:"env"`
	// Alternate reports that the provider is available only if it is enabled.
	Alternate bool `json:"alternate"`
	// Auth is one of the Auth constants, which are the ways to present a key. Default: AuthBearer.
	Auth string `json:"auth"`
	// TokenURL is the address at which keys are exchanged for tokens, and TokenScope the scope of the tokens. Both are
	// for AuthGoogle and AuthEntra. In the URL for AuthEntra, {tenant} stands for the key's tenant.
	TokenURL   string `json:"token_url"`
	TokenScope string `json:"token_scope"`
	// SigningService and SigningRegion are the scope of signatures, for AuthAWS.
	SigningService string `json:"signing_service"`
	SigningRegion  string `json:"signing_region"`
	// Headers are sent with each request. They never hold credentials.
	Headers map[string]string `json:"headers"`
	// PinnedHeaders keeps wire formats and clients from replacing the values of Headers. It is for providers that do
	// not support the newest versions of the format.
	PinnedHeaders bool `json:"pinned_headers"`
	// Wires are the wire formats that the provider speaks in addition to chat.
	Wires []string `json:"wires"`
	// NoChat means that the provider does not speak the chat format at all.
	NoChat bool `json:"no_chat"`
	// PreferWire is the wire format into which a request is translated if the request's own format is not in Wires. It is
	// set if a translation into this format loses less than one into chat. Default: WireChat.
	PreferWire string `json:"prefer_wire"`
	// NativeTools reports that Wires accept everything that the vendor's clients send, above all every type of tool. The
	// responses wire of other providers accepts functions only, so these providers get requests with other tools in the
	// chat format.
	NativeTools bool `json:"native_tools"`
	// WireBaseURLs are the base URLs of wires that do not use BaseURL; see WireURL.
	WireBaseURLs map[string]string `json:"wire_base_urls"`
	// Paths replace "/chat/completions" and the like after the base URL. The map's keys are wires, and "embeddings".
	// {model} stands for the model's id. StreamPaths are the paths for streams where these differ.
	Paths       map[string]string `json:"paths"`
	StreamPaths map[string]string `json:"stream_paths"`
	// Body are members that are added to requests of the wires other than chat. ModelInPath reports that these requests
	// must not have the member "model".
	Body        map[string]string `json:"body"`
	ModelInPath bool              `json:"model_in_path"`
	// Endpoints maps further endpoints of the provider, such as "audio/speech", to their addresses. Their requests are
	// passed on without translation. An empty address means BaseURL followed by the name.
	Endpoints map[string]string `json:"endpoints"`
	// AffinityHeader is the request header that leads requests with the same value to the same server of the provider,
	// which has cached the conversation's prompt. It is empty if the provider documents no such header.
	AffinityHeader string `json:"affinity_header"`
	// Shape describes the changes that a chat request needs for this provider.
	Shape Shape `json:"shape"`
	// Timeouts replace those of the gateway where they are not zero.
	Timeouts Timeouts `json:"-"`
	// APIKey is the operator's key, which serves every user after the user's own keys. It is empty if the operator has
	// no key. KeyID identifies the key within this process; another key has another id.
	APIKey string `json:"-"`
	KeyID  string `json:"-"`
	// DocsURL is the API reference. KeyURL is the page where users create a key.
	DocsURL string `json:"docs_url"`
	KeyURL  string `json:"key_url"`
	// Note is for readers of the file; nothing depends on it.
	Note string `json:"note"`
}

// ChatURL returns the address of the chat completions endpoint.
func (p *Provider) ChatURL() string { return p.BaseURL + p.path(WireChat, "/chat/completions") }

// EmbeddingsURL returns the address of the embeddings endpoint.
func (p *Provider) EmbeddingsURL() string { return p.BaseURL + p.path(wireEmbeddings, "/embeddings") }

// wireEmbeddings is the key for embeddings in Paths.
const wireEmbeddings = "embeddings"

// path returns the path to append to the base URL for a wire: the wire's path in Paths, or else defaultPath.
func (p *Provider) path(wire, defaultPath string) string {
	if path, ok := p.Paths[wire]; ok {
		return path
	}
	return defaultPath
}

// ModelURL returns the address for a request to a model. address is the address of the wire, as ChatURL or WireURL
// returns it. ModelURL replaces {model} in the address by the model's id. If stream is set, it also replaces the
// wire's path by the wire's path for streams.
func (p *Provider) ModelURL(address, wire, model string, stream bool) string {
	if len(p.Paths) == 0 {
		return address
	}
	if path, ok := p.StreamPaths[wire]; ok && stream {
		address = strings.TrimSuffix(address, p.Paths[wire]) + path
	}
	return strings.ReplaceAll(address, modelPart, url.PathEscape(model))
}

// modelPart stands for the id of a model in Paths.
const modelPart = "{model}"

// PrefillURL returns the address for a chat request whose last message is an assistant turn to be continued. For most
// providers it is equal to ChatURL.
func (p *Provider) PrefillURL() string {
	if p.Shape.PrefillBaseURL != "" {
		return p.Shape.PrefillBaseURL + "/chat/completions"
	}
	return p.ChatURL()
}

// WireURL returns the endpoint of a wire format: by default the base URL followed by "/chat/completions", "/responses"
// or "/messages". It reports false for a format that the provider does not speak.
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

// Serves reports whether endpoint is in Endpoints.
func (p *Provider) Serves(endpoint string) bool {
	_, ok := p.Endpoints[endpoint]
	return ok
}

// EndpointURL returns the address of an endpoint in Endpoints. It reports false for any other name.
func (p *Provider) EndpointURL(endpoint string) (string, bool) {
	address, ok := p.Endpoints[endpoint]
	if address == "" {
		address = p.BaseURL + "/" + endpoint
	}
	return address, ok
}

// clone copies p, including the maps and slices that With may change.
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

// Names of the member that limits the length of an answer.
const (
	FieldMaxTokens           = "max_tokens"
	FieldMaxCompletionTokens = "max_completion_tokens"
)

// The values of Shape.EmptyToolContent: the content that is sent for an assistant message with tool calls and without
// text.
const (
	ContentKeep  = ""      // unchanged
	ContentNull  = "null"  // send null
	ContentOmit  = "omit"  // leave the member out
	ContentEmpty = "empty" // always send a string, which is "" if there is no text
)

// The values of Shape.EffortField: the members of a chat request for the reasoning effort.
const (
	EffortFlat   = "reasoning_effort" // top-level string
	EffortNested = "reasoning.effort" // member of the object "reasoning"
)

// The values of Shape.ReasoningState: the members of the chat format for the state of a model's reasoning. Clients must
// send the state back to the model.
const (
	StateNone    = ""        // the format does not carry the state, or the model does not need it
	StateThought = "thought" // tool_calls[].extra_content.google.thought_signature
	StateContent = "content" // reasoning_content of messages with tool calls
	StateDetails = "details" // reasoning_details of messages
)

// Shape describes the changes that a chat request needs for one provider. Code reads these fields and never asks which
// provider it talks to.
type Shape struct {
	// MaxTokensField is FieldMaxTokens or FieldMaxCompletionTokens. Default: FieldMaxTokens.
	MaxTokensField string `json:"max_tokens_field"`
	// ReservesMaxTokens reports that the provider charges the whole token limit of a request against the quota in
	// advance, so a limit far above the need must not be sent.
	ReservesMaxTokens bool `json:"reserves_max_tokens"`
	// Drop are top-level request members that are never sent.
	Drop []string `json:"drop"`
	// DropForReasoning are further members that are dropped if the model reasons.
	DropForReasoning []string `json:"drop_for_reasoning"`
	// Rename maps top-level members to the provider's names for these members.
	Rename map[string]string `json:"rename"`
	// ToolChoiceRequired replaces the tool_choice "required". Empty means unchanged.
	ToolChoiceRequired string `json:"tool_choice_required"`
	// StreamUsage reports that stream_options.include_usage may be sent. Other providers send the usage in any case,
	// and Drop contains stream_options.
	StreamUsage bool `json:"stream_usage"`
	// DeveloperRole reports that the role "developer" is understood. Otherwise "system" is sent instead.
	DeveloperRole bool `json:"developer_role"`
	// SystemFirst requires system messages to be at the beginning.
	SystemFirst bool `json:"system_first"`
	// Alternation requires that turns of user and assistant alternate, beginning with a user turn. Tool messages belong
	// to the assistant turn before them, and an assistant message may follow them directly.
	Alternation bool `json:"alternation"`
	// CallsAnswered requires a result for each tool call of a finished turn; the provider refuses requests without these
	// results. Alternation implies CallsAnswered.
	CallsAnswered bool `json:"calls_answered"`
	// ToolCallID9 requires tool call ids of nine characters of [A-Za-z0-9].
	ToolCallID9 bool `json:"tool_call_id_9"`
	// ToolCallIDMax is the length limit of a tool call's id, in characters. Longer ids, which other servers create, are
	// sent shortened. Zero means the limit of the APIs, 64.
	ToolCallIDMax int `json:"tool_call_id_max"`
	// EmptyToolContent is one of the Content constants.
	EmptyToolContent string `json:"empty_tool_content"`
	// SchemaSubset removes $schema, additionalProperties, format and exclusiveMinimum from JSON schemas, and resolves
	// $ref.
	SchemaSubset bool `json:"schema_subset"`
	// DataURLImages reports that images can be sent only in data URLs. The gateway does not fetch images, so candidates
	// of this provider are skipped for requests with other image URLs.
	DataURLImages bool `json:"data_url_images"`
	// PrefillField is the member that is set to true in the last message, if this is an assistant message that the model
	// is to continue. If it is empty the message is sent unchanged. Model.Prefill reports whether a model supports this at
	// all.
	PrefillField string `json:"prefill_field"`
	// PrefillBaseURL is the base URL for requests with a prefill. Empty means BaseURL.
	PrefillBaseURL string `json:"prefill_base_url"`
	// EffortField is EffortFlat or EffortNested. Default: EffortFlat.
	EffortField string `json:"effort_field"`
	// ReasoningEfforts are the efforts that reasoning models of this provider accept, unless the model has its own
	// list.
	ReasoningEfforts []string `json:"reasoning_efforts"`
	// ToolsWithEffort is the wire for requests with both function tools and a reasoning effort, which chat completions
	// of newer models refuse. It is used for reasoning models, if the provider speaks that wire. Empty means that chat
	// accepts such requests.
	ToolsWithEffort string `json:"tools_with_effort"`
	// ThinkingSwitch reports that reasoning is turned off by the member thinking with the value {"type":"disabled"} rather
	// than by an effort.
	ThinkingSwitch bool `json:"thinking_switch"`
	// ReasoningState is one of the State constants: the member in which this provider's chat format carries the state
	// of a model's reasoning.
	ReasoningState string `json:"reasoning_state"`
	// CacheMarks are prefixes of model ids. Text parts for these models may have a cache_control member, which is
	// removed for other models.
	CacheMarks []string `json:"cache_marks"`
	// ThinkTags reports that an answer which begins with <think> is reasoning up to </think>.
	ThinkTags bool `json:"think_tags"`
}

// DefaultShape returns the shape for providers that are not in the catalog, such as a user's own server. It uses
// max_tokens and no members that only OpenAI defines.
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

// Timeouts are the timeouts of one attempt. Zero means the default of the gateway.
type Timeouts struct {
	// Connect is the time to a usable connection, including TLS.
	Connect time.Duration
	// FirstContent is the time from a request for a stream to its first content.
	FirstContent PerTier
	// Answer is the time from a request without a stream to the end of its answer.
	Answer PerTier
	// Idle is the longest silence between two pieces of an answer.
	Idle time.Duration
}

// Or returns a copy of t in which fields that are zero have the values of fallback instead.
func (t Timeouts) Or(fallback Timeouts) Timeouts {
	return Timeouts{
		Connect:      cmp.Or(t.Connect, fallback.Connect),
		FirstContent: t.FirstContent.or(fallback.FirstContent),
		Answer:       t.Answer.or(fallback.Answer),
		Idle:         cmp.Or(t.Idle, fallback.Idle),
	}
}

// PerTier is one duration for each tier.
type PerTier struct{ Low, Medium, High time.Duration }

// or returns a copy of p in which durations that are zero have the values of fallback instead.
func (p PerTier) or(fallback PerTier) PerTier {
	return PerTier{
		Low: cmp.Or(p.Low, fallback.Low), Medium: cmp.Or(p.Medium, fallback.Medium), High: cmp.Or(p.High, fallback.High),
	}
}

// For returns the duration of a tier, and zero for a value that is not a tier.
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

// clip shortens text from a file or a client to 100 bytes for an error message.
func clip(s string) string {
	const limit = 100
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
