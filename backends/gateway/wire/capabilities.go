package wire

// Needs are the features that a candidate must support to carry a request, as a bit set.
type Needs uint16

// The features.
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
	// NeedOwnFormat is set if a part of the request can only be understood by an upstream of the client's own format. That
	// upstream must get the client's bytes.
	NeedOwnFormat
)
