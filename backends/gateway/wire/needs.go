package wire

// Needs are the abilities that a candidate must have to carry a request.
type Needs uint16

// The abilities.
const (
	NeedImage Needs = 1 << iota
	NeedFile
	NeedAudio
	NeedTools
	NeedJSONSchema
	// NeedPrefill is set if the last message is the assistant's and is to be continued.
	NeedPrefill
	// NeedChoices is set if n > 1.
	NeedChoices
	// NeedOwn is set if only an upstream of the client's own format, which gets the client's bytes, understands
	// something in the request.
	NeedOwn
)
