package kernel

import (
	"context"
	"net/http"
)

// Tracer traces what a request does.
type Tracer interface {
	// Begin starts a span, which the returned function ends.
	Begin(ctx context.Context, name string) (_ context.Context, end func(err error))
	// Transport returns a transport that makes a span of each request and propagates the trace to the other server.
	Transport(base http.RoundTripper) http.RoundTripper
}

// Follow returns a transport whose requests to other servers are traced, or base itself if there is no Tracer.
func (s *Server) Follow(base http.RoundTripper) http.RoundTripper {
	if s.Tracer == nil {
		return base
	}
	return s.Tracer.Transport(base)
}

// followed calls run within a span.
func (s *Server) followed(ctx context.Context, name string, run func(ctx context.Context) error) error {
	ctx, end := s.Tracer.Begin(ctx, name)
	err := run(ctx)
	end(err)
	return err
}
