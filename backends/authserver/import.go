package authserver

import (
	"context"
	"io"

	"github.com/tollgate-gateway/tollgate/backends/authserver/moving"
)

// Import reads clients and users from a file and stores them; see moving.Target.Apply. The parameter read is the
// reader for the format of the file.
func (s *Server) Import(ctx context.Context, read moving.Reader, file io.Reader, o moving.Options) error {
	return s.moving().Apply(ctx, read, file, o)
}

// Export writes the clients and users to w; see moving.Target.Export.
func (s *Server) Export(ctx context.Context, w io.Writer) (moving.Exported, error) {
	return s.moving().Export(ctx, w)
}

// moving returns the target of imports, which is also the source of exports.
func (s *Server) moving() *moving.Target {
	c := &s.components
	return &moving.Target{Clients: c.clients, Users: c.users, Factors: c.factors, Upstreams: c.upstreams}
}
