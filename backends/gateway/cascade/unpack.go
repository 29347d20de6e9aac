package cascade

import (
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
)

// unpack takes gzip from an answer. No encoding is asked for, but some servers and
// the proxies before them use it nevertheless. The bounds of what is read hold for
// what is unpacked, and a stream flows on as far as the upstream has flushed it.
// What else an answer is encoded in is returned; empty: nothing.
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

// unpacked reads a body without its gzip. The head is waited for when it is read,
// under the limits of all that is read.
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

// brokenGzip tells what is no gzip from a connection that broke.
func brokenGzip(err error) error {
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	if corrupt || errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) {
		return fmt.Errorf("%w: %w", wire.ErrBroken, err)
	}
	return err
}
