// Package rights is who acts on a board and what they may: members and guests, the
// groups and moderators that give them rights, what of the threads of a forum they
// see, and the log of what is done by a right.
package rights

import (
	"sync/atomic"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
)

// Service finds actors and their rights.
type Service struct {
	*kernel.Server
	access atomic.Pointer[Access] // its settings depend on the options of the board
	looks  *LookLog
}

// New returns the actors of a board. looks is of all boards on one database.
func New(board *kernel.Server, looks *LookLog) *Service {
	return &Service{Server: board, looks: looks}
}
