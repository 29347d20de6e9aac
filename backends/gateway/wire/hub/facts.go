package hub

import (
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
)

// Facts are the properties in which a format differs from the others.
type Facts struct {
	Name Format
	// Surface is the name of the format in configurations, dry runs and the usage log.
	Surface string
	// Base is the path of the base URL at the gateway ("/v1"), and Path that of the endpoint below it ("/messages").
	Base, Path string
	// ModelPath is the path before the name of the model ("/model/"), behind which Path is, in formats whose paths name
	// it. StreamPath is then the end of the path in place of Path for a streamed answer. They are empty in formats whose
	// requests say both.
	ModelPath, StreamPath string
	// StreamType is the media type of streams for clients. Empty means server-sent events.
	StreamType string
	// API is the format in the terms of package wire.
	API wire.API
	// Count is what follows Path to count tokens; it is empty if the format cannot. Counts are the members of a request
	// that an upstream accepts there; it refuses others.
	Count  string
	Counts []string
	// Header names the header fields of a client that an upstream of the same format gets, too. Version is the one of
	// them whose value is ReadOptions.Version.
	Header  []string
	Version string
	// Lacks are the needs that the format cannot express.
	Lacks wire.Needs
	// Mistakes are the needs that are the client's mistake if no candidate has them (specification 4.2).
	Mistakes wire.Needs
	// HTTPSImages reports that images can be referred to by https addresses only.
	HTTPSImages bool
	// CountsFirst reports that a stream begins with the number of tokens of the prompt.
	CountsFirst bool
	// Recalls reports that clients do not return reasoning state, so that the gateway remembers it.
	Recalls bool
	// RequestID is a header, beside X-Request-Id, in which clients look for the id of the request. It may be empty.
	RequestID string
}
