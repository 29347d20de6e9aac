// Package body reads the bodies of model requests: once, bounded, and
// decompressed.
package body

import (
	"compress/gzip"
	"errors"
	"io"
	"math/bits"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/klauspost/compress/zstd"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// Max is the largest body in bytes, after decompression: the 32 MB of the
// model APIs. The request_body directive may set a smaller one.
const Max = 32_000_000

// Read reads the body once, decompressing gzip and zstd. The memory of a
// large one is used again when the lease ends; nil: there is none. Its errors have
// the status for the client: 400, 408, 413 or 415.
func Read(r *http.Request) ([]byte, *wire.Lease, error) {
	if size := r.ContentLength; size > leaseFrom && size <= leaseTo && r.Header["Content-Encoding"] == nil {
		return readLeased(r.Body, int(size))
	}
	body, err := readOwn(r)
	return body, nil, err
}

func readOwn(r *http.Request) ([]byte, error) {
	if r.ContentLength > Max {
		return nil, tooLarge()
	}
	packed := &io.LimitedReader{R: r.Body, N: Max + 1} // also of what unpacks to nothing
	var source io.Reader = packed
	size := r.ContentLength
	switch encoding := strings.ToLower(strings.TrimSpace(r.Header.Get("Content-Encoding"))); encoding {
	case "", "identity":
	case "gzip", "x-gzip":
		reader, err := gzip.NewReader(packed)
		if err != nil {
			return nil, unreadable(err)
		}
		source, size = reader, -1
	case "zstd":
		reader, err := zstd.NewReader(packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(Max), zstd.WithDecoderMaxWindow(8<<20))
		if err != nil {
			return nil, unreadable(err)
		}
		defer reader.Close()
		source, size = reader, -1
	default:
		return nil, refuse(http.StatusUnsupportedMediaType, "unsupported_media_type", "the Content-Encoding is not supported, use gzip, zstd or none")
	}
	if size >= 0 {
		// Room is made as the body comes, a length alone is only a promise.
		return readSized(source, size)
	}
	body, err := io.ReadAll(io.LimitReader(source, Max+1))
	if len(body) > Max || packed.N <= 0 {
		return nil, tooLarge()
	}
	if err != nil {
		return nil, unreadable(err)
	}
	return body, nil
}

// trusted is how much memory a Content-Length alone is worth.
const trusted = 1 << 20

func readSized(source io.Reader, size int64) ([]byte, error) {
	if size > trusted {
		body, err := io.ReadAll(io.LimitReader(source, size))
		if err != nil {
			return nil, unreadable(err)
		}
		return body, nil
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(source, body); err != nil {
		return nil, unreadable(err)
	}
	return body, nil
}

// Bodies of these sizes come from a pool: smaller ones are cheap to make, larger
// ones are rare.
const (
	leaseFrom = 1 << 9
	leaseTo   = 1 << 20
)

// bodies holds buffers by the power of two of their size.
var bodies [12]sync.Pool

func readLeased(source io.Reader, size int) ([]byte, *wire.Lease, error) {
	class := bits.Len(uint(size-1)) - bits.Len(leaseFrom-1)
	pool := &bodies[class]
	buffer, ok := pool.Get().(*[]byte)
	if !ok {
		made := make([]byte, leaseFrom<<class)
		buffer = &made
	}
	body := (*buffer)[:size]
	if _, err := io.ReadFull(source, body); err != nil {
		pool.Put(buffer)
		return nil, nil, unreadable(err)
	}
	return body, wire.NewLease(func() { pool.Put(buffer) }), nil
}

func tooLarge() error {
	return refuse(http.StatusRequestEntityTooLarge, "request_too_large", "the request body is larger than 32 MB")
}

// unreadable is the error of a body that stalls, breaks off or is not what its
// encoding says; the limit of request_body stays what it is.
func unreadable(err error) error {
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		return caddyhttp.Error(http.StatusRequestEntityTooLarge, err)
	}
	e := apierror.New(http.StatusBadRequest, "invalid_json", "the request body could not be read to its end")
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() { // as os.ErrDeadlineExceeded is
		e = apierror.New(http.StatusRequestTimeout, "request_timeout", "the request body took too long to arrive, send it again")
	}
	e.Cause = err
	return caddyhttp.Error(e.Status, e)
}

func refuse(status int, code, message string) error {
	return caddyhttp.Error(status, apierror.New(status, code, "%s", message))
}
