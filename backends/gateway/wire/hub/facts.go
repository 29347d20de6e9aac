package hub

import (
	"net/http"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
)

// Facts are the properties in which the formats differ.
type Facts struct {
	Name Format
	// Surface is the name of the format in configurations, dry runs and the usage log.
	Surface string
	// Base is the path of the base URL at the gateway ("/v1"). Path is the endpoint's path below it ("/messages").
	Base, Path string
	// ModelPath and StreamPath are set in formats whose paths contain the model's name and differ for streams.
	// ModelPath is the part before the name ("/model/"). After the name comes Path, or StreamPath for a streamed
	// answer.
	ModelPath, StreamPath string
	// StreamType is the media type of streams for clients. Empty means server-sent events.
	StreamType string
	// API is the format's constant in package wire.
	API wire.API
	// Count is appended to Path for the endpoint that counts tokens. It is empty if the format has no such endpoint.
	// Counts are the top-level fields that an upstream accepts at that endpoint; an upstream refuses all others.
	Count  string
	Counts []string
	// Header names the client's header fields that an upstream of the same format gets too. Version is the field among
	// them whose value is ReadOptions.Version.
	Header  []string
	Version string
	// Lacks are the needs that the format cannot express.
	Lacks wire.Needs
	// Mistakes are the needs that are reported as the client's mistake if no candidate supports them.
	Mistakes wire.Needs
	// HTTPSImages is set if image URLs must be https addresses.
	HTTPSImages bool
	// CountsFirst is set if a stream begins with the number of prompt tokens.
	CountsFirst bool
	// Recalls is set if clients do not return reasoning state. The gateway then stores the state itself.
	Recalls bool
	// RequestID is a response header field, besides X-Request-Id, in which clients look for the request's id. It may be
	// empty.
	RequestID string
}

// SetStreamHeader sets the header fields of a stream in this format for a client.
func (f *Facts) SetStreamHeader(header http.Header) {
	// All values are in one array, which belongs to this response only. Responses cannot share an array, because handlers
	// may change the values.
	values := [...]string{"text/event-stream; charset=utf-8", "no-cache, no-transform", "no"}
	if f.StreamType != "" {
		values[0] = f.StreamType
	}
	header["Content-Type"], header["Cache-Control"], header["X-Accel-Buffering"] = values[:1:1], values[1:2:2], values[2:]
}
