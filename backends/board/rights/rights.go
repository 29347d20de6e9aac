// Package rights finds the actors of a board, members and guests, and computes their rights from their groups and from
// the forums that they moderate. It decides which threads and posts an actor sees, and logs the actions of moderators
// and administrators.
package rights

import (
	"sync/atomic"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
)

// Service finds actors and their rights.
type Service struct {
	*kernel.Server
	// access is the Access that was loaded last. Requests that find it outdated at the same time each load a new one, and
	// the last of these stays. It is not shared between services, since its settings depend on their options.
	access atomic.Pointer[Access]
	looks  *LookLog
}

// New returns the rights service of a board. All boards on one database must share looks.
func New(board *kernel.Server, looks *LookLog) *Service {
	return &Service{Server: board, looks: looks}
}
