// Package body has functions for the handlers of model requests. They read and decompress a body once, with limits on
// size, time and memory. They offer the client's original request to a later handler, and write the answers to requests
// that only count tokens.
package body

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"math/bits"
	"net/http"
	"strings"
	"sync"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/klauspost/compress/zstd"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/inbound"
	"github.com/tollgate-gateway/tollgate/internal/memory"
)

// Max is the largest body in bytes after decompression: the 32 MB of the model APIs. The directive request_body may set
// a lower limit.
const Max = 32_000_000

// Read reads the request's body and decompresses gzip and zstd. It takes the memory from budget, within the part that
// owner may use; an empty owner has no such limit. The caller must end the lease, which gives the memory back; the
// lease is nil for a small body. If budget is nil, memory is not counted. Errors have the status for the client: 400,
// 408, 413, 415 or 503.
func Read(
	w http.ResponseWriter, r *http.Request, budget *memory.Budget, owner string,
) (text []byte, lease *wire.Lease, err error) {
	if r.ContentLength > Max {
		return nil, nil, tooLarge()
	}
	source := inbound.Default.Body(w, r)
	switch size := r.ContentLength; {
	case r.Header["Content-Encoding"] != nil || size < 0 || size > maxPooled:
		text, lease, err = readAll(r, source, budget, owner)
	case size > minPooled:
		text, lease, err = readPooled(r.Context(), source, int(size), budget.Share(owner))
	default:
		text = make([]byte, size)
		_, err = io.ReadFull(source, text)
	}
	if err != nil {
		return nil, nil, unreadable(err)
	}
	source.Done()
	return text, lease, nil
}

// maxZstdWindow is the largest window that a zstd frame may request. This much is reserved from the memory budget
// before decompression, because the decoder allocates the window as soon as it reads the header of the frame.
const maxZstdWindow = 8 << 20

// readAll reads the body of r from source. The body is large, compressed, or of unknown length. See Read for budget
// and owner.
func readAll(r *http.Request, source io.Reader, budget *memory.Budget, owner string) ([]byte, *wire.Lease, error) {
	packed := &io.LimitedReader{R: source, N: Max + 1} // also limits a large body that decompresses to little
	unpacked, size := io.Reader(packed), int64(-1)     // a negative size is unknown
	switch encoding := strings.ToLower(strings.TrimSpace(r.Header.Get("Content-Encoding"))); encoding {
	case "", "identity":
		size = r.ContentLength
	case "gzip", "x-gzip":
		reader, err := gzip.NewReader(packed)
		if err != nil {
			return nil, nil, err
		}
		unpacked = reader
	case "zstd":
		window := budget.Share(owner)
		defer window.Free()
		if err := window.Grow(r.Context(), maxZstdWindow); err != nil {
			return nil, nil, err
		}
		reader, err := zstd.NewReader(packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxMemory(Max), zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			return nil, nil, err
		}
		defer reader.Close()
		unpacked = reader
	default:
		return nil, nil, refuse(http.StatusUnsupportedMediaType, "unsupported_media_type",
			"the Content-Encoding is not supported, use gzip, zstd or none")
	}
	share := budget.Share(owner)
	text, err := share.ReadAll(r.Context(), unpacked, nil, size, Max)
	if packed.N <= 0 { // more than Max bytes were sent, even if err says that the encoding was cut off there
		err = memory.ErrTooLarge
	}
	if err != nil {
		share.Free()
		return nil, nil, err
	}
	return text, wire.NewLease(func(bool) { held := share; held.Free() }), nil
}

// Bodies of more than minPooled and at most maxPooled bytes use pooled buffers. Smaller bodies are cheap to allocate,
// and larger ones are rare. Both are powers of two.
const (
	minPooled = 1 << 9
	maxPooled = 1 << 20
)

// initialRead is the number of bytes that are allocated before a body has arrived, even if its Content-Length is
// larger. The rest is allocated after that many bytes have arrived.
const initialRead = 64 << 10

// bodies has a pool of buffers for each power of two from minPooled to maxPooled.
var bodies [12]sync.Pool

// pooled is a buffer with the pool to which it returns.
type pooled struct {
	pool   *sync.Pool
	buffer *[]byte
}

// fromPool returns a buffer of at least size bytes. size is more than minPooled/2 and at most maxPooled.
func fromPool(size int) pooled {
	class := bits.Len(uint(size-1)) - bits.Len(minPooled-1) // size rounded up to a power of two is minPooled<<class
	pool := &bodies[class]
	buffer, ok := pool.Get().(*[]byte)
	if !ok {
		allocated := make([]byte, minPooled<<class)
		buffer = &allocated
	}
	return pooled{pool, buffer}
}

// put returns the buffer to its pool.
func (p pooled) put() { p.pool.Put(p.buffer) }

// readPooled reads a body of size bytes, which is not compressed, into a pooled buffer. It takes the memory from share.
// The end of the lease frees share, and returns the buffer to its pool if it may be reused.
func readPooled(ctx context.Context, source io.Reader, size int, share memory.Share) ([]byte, *wire.Lease, error) {
	first := min(size, initialRead)
	if err := share.Grow(ctx, int64(first)); err != nil {
		return nil, nil, err
	}
	buffer := fromPool(first)
	body := (*buffer.buffer)[:first]
	_, err := io.ReadFull(source, body)
	if err == nil && size > first { // the first bytes have arrived, so the client really sends a large body
		if err = share.Grow(ctx, int64(size)); err == nil {
			larger := fromPool(size)
			body = (*larger.buffer)[:size]
			copy(body, *buffer.buffer)
			buffer.put()
			buffer = larger
			_, err = io.ReadFull(source, body[first:])
		}
	}
	if err != nil {
		buffer.put()
		share.Free()
		return nil, nil, err
	}
	finalBuffer, finalShare := buffer, share // not assigned again, so that the closure does not move them to the heap
	return body, wire.NewLease(func(reuse bool) {
		if reuse {
			finalBuffer.put()
		}
		share := finalShare
		share.Free()
	}), nil
}

// tooLarge returns the error for a body of more than Max bytes.
func tooLarge() error {
	return refuse(http.StatusRequestEntityTooLarge, "request_too_large", "the request body is larger than 32 MB")
}

// unreadable returns the error with a status for a body that arrives too slowly, breaks off, does not match its
// encoding, or gets no memory. The error of the directive request_body keeps its type.
func unreadable(err error) error {
	if _, isRefusal := apierror.From(err); isRefusal {
		return err
	}
	if _, exceeded := errors.AsType[*http.MaxBytesError](err); exceeded {
		return caddyhttp.Error(http.StatusRequestEntityTooLarge, err)
	}
	var e *apierror.Error
	switch {
	case errors.Is(err, memory.ErrTooLarge):
		return tooLarge()
	case errors.Is(err, memory.ErrFull):
		e = apierror.Unavailable("memory for this request", err)
	case errors.Is(err, context.Canceled): // the client left while it waited
		return err
	case inbound.TooSlow(err):
		e = apierror.New(http.StatusRequestTimeout, "request_timeout",
			"the request body took too long to arrive, send it again")
		e.Cause = err
	default:
		e = apierror.New(http.StatusBadRequest, "invalid_json", "the request body could not be read to its end")
		e.Cause = err
	}
	return caddyhttp.Error(e.Status, e)
}

// refuse returns an error with a status, a code and a message for the client.
func refuse(status int, code, message string) error {
	return caddyhttp.Error(status, apierror.New(status, code, "%s", message))
}
