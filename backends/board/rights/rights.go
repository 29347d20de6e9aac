// Package rights determines who acts on a board and what they may do: it finds members and guests, computes their
// rights from their groups and from the forums they moderate, decides which threads and posts they see, and logs
// what moderators and administrators do.
package rights

import (
	"sync/atomic"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
)

// Service finds actors and their rights.
type Service struct {
	*kernel.Server
	access atomic.Pointer[Access] // not shared between services, since its settings depend on their options
	looks  *LookLog
}

// New returns the rights of a board. All boards on one database share looks.
func New(board *kernel.Server, looks *LookLog) *Service {
	return &Service{Server: board, looks: looks}
}
