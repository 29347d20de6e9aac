package hub

// State is reasoning state: the data that a model must get back to continue from its own reasoning, in its provider's
// form.
type State struct {
	// Provider and Family are the provider and the family of the model that made the state. Readers of answers leave
	// them empty; the readers' callers set them.
	Provider string `json:"p,omitempty"`
	Family   string `json:"f,omitempty"`
	Form     Form   `json:"k,omitempty"`
	// Data is the provider's text or JSON. If it is empty there was reasoning without state. A token of such a state
	// only shows that the reasoning came through the gateway.
	Data string `json:"d,omitempty"`
}

// Form is the provider's form of a State.
type Form string

// The forms.
const (
	// FormSignature is the signature of a messages thinking block. The block's text is in Reasoning.Text.
	FormSignature Form = "signature"
	// FormRedacted is the data of a redacted_thinking block.
	FormRedacted Form = "redacted"
	// FormItem is the JSON text of a Responses reasoning item.
	FormItem Form = "item"
	// FormThought is Gemini's thought signature of a call or a text.
	FormThought Form = "thought"
	// FormDetails is the JSON text of OpenRouter's reasoning_details array.
	FormDetails Form = "details"
	// FormContent has no data. The provider, DeepSeek, wants the reasoning's text back.
	FormContent Form = "content"
)

// Reasoning is a piece of reasoning in the history of a request.
type Reasoning struct {
	// Text is the text as the client returned it. It may be empty.
	Text string
	// State is the state in the token that the client returned, or nil if the client returned no token of the gateway.
	State *State
	// Foreign is state in the client's own format (a signature, encrypted_content) that is not a token of the gateway,
	// or empty. Only candidates of that format may get it.
	Foreign string
}

// Fits reports whether the state may be sent to the candidate t, whose provider and model family must have made it. A
// nil state never fits.
func (s *State) Fits(t *Target) bool {
	return s != nil && s.Data != "" && s.Provider == t.Provider.Code && s.Family == t.Model.Family
}

// ReadOptions are the options for reading a request.
type ReadOptions struct {
	// Open opens a token made by Reply.Seal. A nil Open means that no token can be opened.
	Open Open
	// Recall returns the reasoning that Reply.Remember stored for a call id. It may be nil.
	Recall func(call string) []Reasoning
	// Version is the value of the anthropic-version header field.
	Version string
	// Model and Stream come from the path, in formats whose paths contain the model's name (Facts.ModelPath).
	Model  string
	Stream bool
}

// Open opens a token of reasoning state. ok is false if the token is invalid or belongs to another user.
type Open func(token string) (s State, ok bool)

// Token opens a token. It returns false if Open is nil.
func (o *ReadOptions) Token(token string) (State, bool) {
	if o.Open == nil {
		return State{}, false
	}
	return o.Open(token)
}
