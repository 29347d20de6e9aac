package cascade

import (
	"context"
	"io"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/internal/memory"
)

// framed is the body of an answer in Amazon's event stream encoding. Large frames take memory of the user's share of
// the budget.
type framed struct {
	io.ReadCloser
	ctx   context.Context //nolint:containedctx // of the attempt
	share memory.Share
}

// frames returns the answer in body as server-sent events. The caller must close it.
func (r *run) frames(ctx context.Context, body io.ReadCloser) *wire.EventStream {
	return wire.NewEventStream(&framed{body, ctx, r.Budget.Share(r.req.User)})
}

// Room implements wire.Roomer.
func (f *framed) Room(size int) error {
	if size == 0 {
		f.share.Free()
		return nil
	}
	return f.share.Grow(f.ctx, int64(size))
}

// Close implements io.Closer.
func (f *framed) Close() error {
	f.share.Free()
	return f.ReadCloser.Close()
}
