package wire

// Needs are the abilities a candidate must have to carry a request.
type Needs uint16

// The abilities.
const (
	NeedImage Needs = 1 << iota
	NeedFile
	NeedAudio
	NeedTools
	NeedJSONSchema
	// NeedPrefill: the last message is of the assistant and to be continued.
	NeedPrefill
	// NeedChoices: n > 1.
	NeedChoices
	// NeedOwn: something in it is understood by an upstream of the client's own format
	// alone, which gets the client's bytes.
	NeedOwn
)
