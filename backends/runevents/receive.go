package runevents

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/sync/semaphore"

	"github.com/tollgate-gateway/tollgate/internal/inbound"
	"github.com/tollgate-gateway/tollgate/internal/memory"
)

// memoryFactor is the number of bytes of memory that processing needs for each byte of a command, in addition to the
// body. A measured report that consisted of small events needed three bytes, including the writer's part; the garbage
// collector doubles that.
const memoryFactor = 8

// bodyLimits limits the memory of commands by two budgets. A body takes memory from the budget bodies as it arrives, so
// that a slow sender holds only as much as it has sent. To be processed, a complete body needs memory from the budget
// work, for which it waits at most for the duration wait. The budgets are separate: otherwise waiting bodies could hold
// the memory that bodies in process still need. pace is the minimum speed of a sender.
type bodyLimits struct {
	bodies *memory.Budget
	work   *semaphore.Weighted
	wait   time.Duration
	pace   inbound.Pace
}

// processWait limits how long a complete body waits to be processed.
const processWait = 10 * time.Second

// newBodyLimits returns the limits that the options, with their defaults, determine.
func newBodyLimits(o Options) bodyLimits {
	bodies := o.Memory
	if bodies == nil {
		bodies = memory.New(max(o.MaxQueued/4, 2*o.MaxBody))
	}
	processing := semaphore.NewWeighted(max(o.MaxQueued, memoryFactor*o.MaxBody))
	return bodyLimits{bodies, processing, processWait, inbound.Default}
}

var (
	errTooLarge = errors.New("too large")
	errTooSlow  = errors.New("too slow")
	errNotGzip  = errors.New("it is not gzip")
)

// gzipReaders is a pool of gzip readers, because the tables and the window of a reader are larger than most bodies.
var gzipReaders = sync.Pool{New: func() any { return new(gzip.Reader) }}

// texts is a pool of buffers for decompressed bodies. Buffers larger than maxPooledText are not returned to the pool.
var texts = sync.Pool{New: func() any {
	text := make([]byte, 0, 64<<10)
	return &text
}}

const maxPooledText = 256 << 10

// receive reads the body of a request and waits until the body may be processed. body is the decompressed body, and
// zipped is the original body if it was compressed with gzip, and otherwise nil. Unless there is an error, the caller
// must call release when the command has been processed. Afterwards it must not use body.
func (s *Service) receive(w http.ResponseWriter, r *http.Request) (body, zipped []byte, release func(), err error) {
	size, known := max(r.ContentLength, 0), r.ContentLength > 0 && !isGzip(r) // of the decompressed body
	if n, err := strconv.ParseInt(r.Header.Get("X-Uncompressed-Length"), 10, 64); err == nil && n > 0 {
		size, known = max(size, n), true
	}
	if size > s.o.MaxBody {
		return nil, nil, nil, errTooLarge
	}
	if !known {
		size = s.o.MaxBody
	}
	bodyMemory, textMemory := s.limits.bodies.Share(""), s.limits.bodies.Share("")
	var text *[]byte // the decompressed body, in a buffer of the pool; nil if it was not compressed
	free := func() {
		bodyMemory.Free()
		textMemory.Free()
		if text != nil && cap(*text) <= maxPooledText {
			texts.Put(text)
		}
	}
	defer func() {
		if err != nil {
			free()
		}
	}()
	paced := s.limits.pace.Body(w, r)
	limited := http.MaxBytesReader(w, io.NopCloser(paced), s.o.MaxBody)
	if !isGzip(r) {
		if body, err = bodyMemory.ReadAll(r.Context(), limited, nil, -1, size); err != nil {
			return nil, nil, nil, s.readError(err, size)
		}
		paced.Done()
	} else {
		if zipped, err = bodyMemory.ReadAll(r.Context(), limited, nil, r.ContentLength, s.o.MaxBody); err != nil {
			return nil, nil, nil, s.readError(err, s.o.MaxBody)
		}
		paced.Done()
		text = texts.Get().(*[]byte)
		if *text, err = unzip(r.Context(), &textMemory, *text, zipped, size); err != nil {
			return nil, nil, nil, s.readError(err, size)
		}
		body = *text
	}
	// The command is processed even if the client has closed its side of the connection; see answer.
	waiting, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), s.limits.wait)
	defer cancel()
	work := memoryFactor * int64(len(body))
	if s.limits.work.Acquire(waiting, work) != nil {
		return nil, nil, nil, ErrBusy
	}
	return body, zipped, func() { s.limits.work.Release(work); free() }, nil
}

// unzip decompresses zipped completely, which verifies the checksum. It writes the result into buffer or, if
// necessary, into a larger buffer. share accounts for the memory. unzip returns the buffer with the result, of at
// most limit bytes, even if there is an error.
func unzip(ctx context.Context, share *memory.Share, buffer, zipped []byte, limit int64) ([]byte, error) {
	reader := gzipReaders.Get().(*gzip.Reader)
	defer gzipReaders.Put(reader)
	if reader.Reset(bytes.NewReader(zipped)) != nil {
		return buffer, errNotGzip
	}
	if err := share.Grow(ctx, int64(cap(buffer))); err != nil {
		return buffer, err
	}
	return share.ReadAll(ctx, reader, buffer, -1, limit)
}

// readError converts the error of reading a body to the error for the client. size is the size limit of the body in
// bytes.
func (s *Service) readError(err error, size int64) error {
	_, tooLong := errors.AsType[*http.MaxBytesError](err)
	switch {
	case tooLong:
		return errTooLarge
	case errors.Is(err, memory.ErrTooLarge):
		return s.lengthError(size)
	case errors.Is(err, memory.ErrFull):
		return ErrBusy
	case inbound.TooSlow(err):
		return errTooSlow
	case errors.Is(err, errNotGzip):
		return err
	}
	return errors.New("it ends too early or is damaged")
}

// lengthError returns the error for a body that is longer than size. size is the length that the client has
// announced, or the general limit.
func (s *Service) lengthError(size int64) error {
	if size < s.o.MaxBody {
		return errors.New("it is longer than X-Uncompressed-Length says")
	}
	return errTooLarge
}

// isGzip reports whether the body is compressed with gzip. The names of codings are case-insensitive.
func isGzip(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Content-Encoding"), "gzip")
}
