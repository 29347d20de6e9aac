// Package body has functions for the handlers of model requests. They read and decompress a body once, with limits on
// size, time and memory; offer the client's original request to a later handler; and write token counts.
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

// Read reads the request's body and decompresses gzip and zstd. It takes the memory from budget, as part of the share
// of owner unless owner is empty; the memory is given back when the lease ends. If budget is nil, memory is not
// counted. Errors have the status for the client: 400, 408, 413, 415 or 503.
func Read(w http.ResponseWriter, r *http.Request, budget *memory.Budget, owner string) ([]byte, *wire.Lease, error) {
	if r.ContentLength > Max {
		return nil, nil, tooLarge()
	}
	from := inbound.Default.Body(w, r)
	var text []byte
	var lease *wire.Lease
	var err error
	switch size := r.ContentLength; {
	case r.Header["Content-Encoding"] != nil || size < 0 || size > leaseTo:
		text, lease, err = readAll(r, from, budget, owner)
	case size > leaseFrom:
		text, lease, err = readLeased(r.Context(), from, int(size), budget.Share(owner))
	default:
		text = make([]byte, size)
		_, err = io.ReadFull(from, text)
	}
	if err != nil {
		return nil, nil, unreadable(err)
	}
	from.Done()
	return text, lease, nil
}

// maxZstdWindow is the largest window that a zstd frame may request. This memory is taken before decompression, because
// the frame's header alone makes the decoder allocate it.
const maxZstdWindow = 8 << 20

// readAll reads a body that is large, compressed, or of unknown length.
func readAll(r *http.Request, from io.Reader, budget *memory.Budget, owner string) ([]byte, *wire.Lease, error) {
	packed := &io.LimitedReader{R: from, N: Max + 1} // also limits a large body that decompresses to little
	source, size := io.Reader(packed), int64(-1)
	switch encoding := strings.ToLower(strings.TrimSpace(r.Header.Get("Content-Encoding"))); encoding {
	case "", "identity":
		size = r.ContentLength
	case "gzip", "x-gzip":
		reader, err := gzip.NewReader(packed)
		if err != nil {
			return nil, nil, err
		}
		source = reader
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
		source = reader
	default:
		return nil, nil, refuse(http.StatusUnsupportedMediaType, "unsupported_media_type",
			"the Content-Encoding is not supported, use gzip, zstd or none")
	}
	share := budget.Share(owner)
	text, err := share.ReadAll(r.Context(), source, nil, size, Max)
	if err != nil || packed.N <= 0 {
		share.Free()
		if packed.N <= 0 {
			err = memory.ErrTooLarge
		}
		return nil, nil, err
	}
	return text, wire.NewLease(func(bool) { held := share; held.Free() }), nil
}

// Bodies of these sizes use pooled buffers. Smaller bodies are cheap to allocate, and larger ones are rare.
const (
	leaseFrom = 1 << 9
	leaseTo   = 1 << 20
)

// initialRead is the number of bytes that are allocated before a body has arrived, even if its Content-Length is
// larger. The rest is allocated after that many bytes have arrived.
const initialRead = 64 << 10

// bodies has a pool of buffers for each size, which is a power of two.
var bodies [12]sync.Pool

// pooled is a buffer with the pool to which it returns.
type pooled struct {
	pool   *sync.Pool
	buffer *[]byte
}

func fromPool(size int) pooled {
	class := bits.Len(uint(size-1)) - bits.Len(leaseFrom-1)
	pool := &bodies[class]
	buffer, ok := pool.Get().(*[]byte)
	if !ok {
		made := make([]byte, leaseFrom<<class)
		buffer = &made
	}
	return pooled{pool, buffer}
}

func (p pooled) put() { p.pool.Put(p.buffer) }

func readLeased(ctx context.Context, source io.Reader, size int, share memory.Share) ([]byte, *wire.Lease, error) {
	first := min(size, initialRead)
	if err := share.Grow(ctx, int64(first)); err != nil {
		return nil, nil, err
	}
	from := fromPool(first)
	body := (*from.buffer)[:first]
	_, err := io.ReadFull(source, body)
	if err == nil && size > first {
		if err = share.Grow(ctx, int64(size)); err == nil {
			larger := fromPool(size)
			body = (*larger.buffer)[:size]
			copy(body, *from.buffer)
			from.put()
			from = larger
			_, err = io.ReadFull(source, body[first:])
		}
	}
	if err != nil {
		from.put()
		share.Free()
		return nil, nil, err
	}
	buffer, held := from, share // these variables do not change any more
	return body, wire.NewLease(func(reuse bool) {
		if reuse {
			buffer.put()
		}
		share := held
		share.Free()
	}), nil
}

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

func refuse(status int, code, message string) error {
	return caddyhttp.Error(status, apierror.New(status, code, "%s", message))
}
