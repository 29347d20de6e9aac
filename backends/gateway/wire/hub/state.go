package hub

// State is what a model must get back to go on from its own reasoning, in the
// form of its provider (specification 11).
type State struct {
	// Provider and Family are those of the model that made it. Readers of
	// answers leave them empty: who calls them knows.
	Provider string `json:"p,omitempty"`
	Family   string `json:"f,omitempty"`
	Form     Form   `json:"k,omitempty"`
	// Data is the provider's text or JSON. Empty: there was reasoning and no
	// state, so the token only marks the reasoning as one of ours.
	Data string `json:"d,omitempty"`
}

// Form is the native form of a State.
type Form string

// The forms.
const (
	// FormSignature: the signature of a messages thinking block, whose text is
	// the Reasoning's.
	FormSignature Form = "signature"
	// FormRedacted: the data of a redacted_thinking block.
	FormRedacted Form = "redacted"
	// FormItem: the JSON text of a Responses reasoning item.
	FormItem Form = "item"
	// FormThought: Gemini's thought signature of a call or a text.
	FormThought Form = "thought"
	// FormDetails: the JSON text of OpenRouter's reasoning_details array.
	FormDetails Form = "details"
	// FormContent: none beside the text, which DeepSeek wants back.
	FormContent Form = "content"
)

// Reasoning is a piece of reasoning in the history of a request.
type Reasoning struct {
	// Text as the client returned it; it may be empty.
	Text string
	// State from the token; nil: the client had none of ours.
	State *State
	// Foreign is the state in the client's own format that is no token of ours
	// (the signature, the encrypted_content); empty: none. Only a candidate of
	// that format may get it.
	Foreign string
}

// Fits reports whether the state may go back to a candidate.
func (s *State) Fits(t *Target) bool {
	return s != nil && s.Data != "" && s.Provider == t.Provider.Code && s.Family == t.Model.Family
}

// ReadOptions are what readers of requests are given.
type ReadOptions struct {
	// Open opens a token of Reply.Seal; nil: none is ours.
	Open Open
	// Recall finds what Reply.Remember was given before a call; nil: nothing.
	Recall func(call string) []Reasoning
	// Version is the value of the anthropic-version header.
	Version string
}

// Open opens a token of reasoning state; ok is false for one that is not the sender's.
type Open func(token string) (s State, ok bool)

// Token opens a token.
func (o *ReadOptions) Token(token string) (State, bool) {
	if o.Open == nil {
		return State{}, false
	}
	return o.Open(token)
}
