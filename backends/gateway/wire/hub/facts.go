package hub

import (
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
)

// Facts are what sets a format apart from the others, beside what it does.
type Facts struct {
	Name Format
	// Surface is what configurations, dry runs and the usage log call it.
	Surface string
	// Path is where it is asked, below the base URL ("/messages"); Count is what follows
	// Path where tokens are counted, empty: nowhere. Counts are the members of a request
	// that an upstream takes there, which refuses others.
	Path, Count string
	Counts      []string
	// Header names the fields of a client that an upstream of the same format gets, too;
	// Version the one of them that is ReadOptions.Version.
	Header  []string
	Version string
	// Lacks are the needs that the format has no words for.
	Lacks wire.Needs
	// Mistakes are the needs that are the client's mistake where no candidate has them
	// (specification 4.2).
	Mistakes wire.Needs
	// HTTPSImages: images by their address are at https.
	HTTPSImages bool
	// CountsFirst: a stream begins with the number of tokens of the prompt.
	CountsFirst bool
	// Recalls: clients give no reasoning state back, the gateway remembers it.
	Recalls bool
	// RequestID: answers also have the header Request-Id.
	RequestID bool
}
