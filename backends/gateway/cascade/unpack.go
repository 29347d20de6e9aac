package cascade

import (
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/internal/memory"
)

// unpack removes the gzip encoding from an answer. No encoding is asked for, but some servers and the proxies before
// them use it nevertheless. The size limits hold for the unpacked text, and a stream flows on as far as the upstream
// has flushed it. It returns the name of any other encoding, or an empty string.
func unpack(resp *http.Response) (unknown string) {
	values := resp.Header["Content-Encoding"]
	if values == nil {
		return ""
	}
	switch encoding := strings.ToLower(strings.TrimSpace(strings.Join(values, ", "))); encoding {
	case "", "identity":
	case "gzip", "x-gzip":
		resp.Body, resp.ContentLength = &unpacked{packed: resp.Body}, -1
	default:
		return encoding
	}
	return ""
}

// unpacked reads a body without its gzip encoding. The gzip header is read on the first Read, under the same limits as
// the rest.
type unpacked struct {
	packed io.ReadCloser
	gzip   *gzip.Reader
}

func (u *unpacked) Read(p []byte) (n int, err error) {
	if u.gzip == nil {
		if u.gzip, err = gzip.NewReader(u.packed); err != nil {
			u.gzip = nil
			return 0, brokenGzip(err)
		}
	}
	n, err = u.gzip.Read(p)
	return n, brokenGzip(err)
}

func (u *unpacked) Close() error { return u.packed.Close() }

// brokenGzip marks errors of the gzip format as wire.ErrBroken, to tell them from a connection that broke.
func brokenGzip(err error) error {
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	if corrupt || errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) {
		return fmt.Errorf("%w: %w", wire.ErrBroken, err)
	}
	return err
}

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
