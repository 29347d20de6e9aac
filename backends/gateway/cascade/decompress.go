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

// unpack removes the gzip encoding from an answer. The gateway asks for no encoding, but some servers and proxies use
// gzip nevertheless. The size limits apply to the decoded text, and a stream is decoded as far as the upstream has
// flushed it. unpack returns the name of any other encoding, or an empty string.
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

// unpacked reads a gzip-encoded body as plain text. The gzip header is read by the first Read, so it has the same time
// limits as the rest.
type unpacked struct {
	packed io.ReadCloser
	gzip   *gzip.Reader
}

// Read implements io.Reader.
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

// Close closes the encoded body.
func (u *unpacked) Close() error { return u.packed.Close() }

// brokenGzip wraps errors of the gzip format with wire.ErrBroken, to distinguish them from a broken connection.
func brokenGzip(err error) error {
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	if corrupt || errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) {
		return fmt.Errorf("%w: %w", wire.ErrBroken, err)
	}
	return err
}

// framed is the body of an answer in Amazon's event stream encoding. The memory for large frames comes from the user's
// share of the memory budget.
type framed struct {
	io.ReadCloser
	ctx   context.Context // of the attempt
	share memory.Share
}

// frames returns body, which is in Amazon's event stream encoding, as server-sent events. The caller must close the
// result.
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
