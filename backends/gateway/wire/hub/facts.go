package hub

import (
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
)

// Facts are the properties in which a format differs from the others.
type Facts struct {
	Name Format
	// Surface is the name of the format in configurations, dry runs and the usage log.
	Surface string
	// Path is the path of the endpoint below the base URL ("/messages"). Count is what follows Path to count tokens; it
	// is empty if the format cannot. Counts are the members of a request that an upstream accepts there; it refuses
	// others.
	Path, Count string
	Counts      []string
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
	// RequestID reports that answers also have the header Request-Id.
	RequestID bool
}
