package kernel

import (
	"context"
	"net/http"
)

// Tracer traces the work done for requests.
type Tracer interface {
	// Begin starts a span and returns a context that carries it. The returned function ends the span, with the error of
	// the work or nil.
	Begin(ctx context.Context, name string) (_ context.Context, end func(err error))
	// Transport returns a transport that records each request as a span and propagates the trace to the server it
	// calls.
	Transport(base http.RoundTripper) http.RoundTripper
}

// Follow returns a transport whose requests to other servers are traced, or base itself if there is no Tracer.
func (s *Server) Follow(base http.RoundTripper) http.RoundTripper {
	if s.Tracer == nil {
		return base
	}
	return s.Tracer.Transport(base)
}

// traced calls run within a span of this name, and returns the error of run. The server must have a Tracer.
func (s *Server) traced(ctx context.Context, name string, run func(ctx context.Context) error) error {
	ctx, end := s.Tracer.Begin(ctx, name)
	err := run(ctx)
	end(err)
	return err
}
