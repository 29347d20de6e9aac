package kernel

import (
	"context"
	"net/http"
)

// Tracer follows what a request does.
type Tracer interface {
	// Begin begins a part, which end ends.
	Begin(ctx context.Context, name string) (_ context.Context, end func(err error))
	// Transport makes requests to other servers parts, and tells those the trace.
	Transport(base http.RoundTripper) http.RoundTripper
}

// Follow is a transport for requests to other servers, which are followed where anybody
// follows.
func (s *Server) Follow(base http.RoundTripper) http.RoundTripper {
	if s.Tracer == nil {
		return base
	}
	return s.Tracer.Transport(base)
}

// followed runs a part.
func (s *Server) followed(ctx context.Context, name string, run func(ctx context.Context) error) error {
	ctx, end := s.Tracer.Begin(ctx, name)
	err := run(ctx)
	end(err)
	return err
}
