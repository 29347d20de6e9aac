package authserver

import (
	"context"
	"io"

	"github.com/tollgate-gateway/tollgate/backends/authserver/moving"
)

// Import takes over the clients and users of a file; see moving.Target.Apply.
func (s *Server) Import(ctx context.Context, read moving.Reader, file io.Reader, o moving.Options) error {
	t := &moving.Target{Clients: s.rooms.clients, Users: s.rooms.users, Factors: s.rooms.factors}
	return t.Apply(ctx, read, file, o)
}
