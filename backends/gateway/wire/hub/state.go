package hub

// State is what a model must get back to continue from its own reasoning, in the form of its provider (specification
// 11).
type State struct {
	// Provider and Family are those of the model that made the state. Readers of answers leave them empty, and their
	// callers fill them in.
	Provider string `json:"p,omitempty"`
	Family   string `json:"f,omitempty"`
	Form     Form   `json:"k,omitempty"`
	// Data is the provider's text or JSON. If it is empty there was reasoning without state, and a token only marks the
	// reasoning as the gateway's.
	Data string `json:"d,omitempty"`
}

// Form is the native form of a State.
type Form string

// The forms.
const (
	// FormSignature is the signature of a messages thinking block. The text of the block is that of the Reasoning.
	FormSignature Form = "signature"
	// FormRedacted is the data of a redacted_thinking block.
	FormRedacted Form = "redacted"
	// FormItem is the JSON text of a Responses reasoning item.
	FormItem Form = "item"
	// FormThought is Gemini's thought signature of a call or a text.
	FormThought Form = "thought"
	// FormDetails is the JSON text of OpenRouter's reasoning_details array.
	FormDetails Form = "details"
	// FormContent has no data. The provider, DeepSeek, wants the text back.
	FormContent Form = "content"
)

// Reasoning is a piece of reasoning in the history of a request.
type Reasoning struct {
	// Text is the text as the client returned it. It may be empty.
	Text string
	// State is the state from the token. It is nil if the client returned no token of the gateway.
	State *State
	// Foreign is state in the client's own format (the signature, the encrypted_content) that is not a token of the
	// gateway. It is empty if there is none. Only a candidate of that format may get it.
	Foreign string
}

// Fits reports whether the state may be sent to a candidate.
func (s *State) Fits(t *Target) bool {
	return s != nil && s.Data != "" && s.Provider == t.Provider.Code && s.Family == t.Model.Family
}

// ReadOptions are the options of readers of requests.
type ReadOptions struct {
	// Open opens a token made by Reply.Seal. A nil Open means that no token can be opened.
	Open Open
	// Recall returns what Reply.Remember was given for a call. It may be nil.
	Recall func(call string) []Reasoning
	// Version is the value of the anthropic-version header.
	Version string
	// Model and Stream are what the path says, in formats whose paths name the model (Facts.ModelPath).
	Model  string
	Stream bool
}

// Open opens a token of reasoning state. ok is false for one that does not belong to the sender.
type Open func(token string) (s State, ok bool)

// Token opens a token. It reports false if there is no Open.
func (o *ReadOptions) Token(token string) (State, bool) {
	if o.Open == nil {
		return State{}, false
	}
	return o.Open(token)
}
