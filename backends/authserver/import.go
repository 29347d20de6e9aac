package authserver

import (
	"context"
	"io"

	"github.com/tollgate-gateway/tollgate/backends/authserver/moving"
)

// Import takes over the clients and users of a file; see moving.Target.Apply.
func (s *Server) Import(ctx context.Context, read moving.Reader, file io.Reader, o moving.Options) error {
	return s.moving().Apply(ctx, read, file, o)
}

// Export writes clients and users; see moving.Target.Export.
func (s *Server) Export(ctx context.Context, w io.Writer) (moving.Exported, error) {
	return s.moving().Export(ctx, w)
}

func (s *Server) moving() *moving.Target {
	r := &s.rooms
	return &moving.Target{Clients: r.clients, Users: r.users, Factors: r.factors, Upstreams: r.upstreams}
}
