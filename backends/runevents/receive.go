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

// weight is how many bytes of memory a byte of a command takes until it is
// stored, beside the body itself. A report of nothing but small events was measured
// to need three, with the writer's share, and the collector lets that double.
const weight = 8

// room bounds the memory of commands. Bodies take theirs as they come, so that
// one who sends slowly holds no more than what he has sent. What is complete
// waits for the room to be worked on, for which those before it need nothing more:
// it must not be the memory of bodies, which those that wait for it hold.
type room struct {
	bodies   *memory.Budget
	work     *semaphore.Weighted
	patience time.Duration
	pace     inbound.Pace
}

// roomWait is how long a complete command waits for room.
const roomWait = 10 * time.Second

func newRoom(o Options) room {
	bodies := o.Memory
	if bodies == nil {
		bodies = memory.New(max(o.MaxQueued/4, 2*o.MaxBody))
	}
	return room{bodies, semaphore.NewWeighted(max(o.MaxQueued, weight*o.MaxBody)), roomWait, inbound.Default}
}

var (
	errTooLarge = errors.New("too large")
	errTooSlow  = errors.New("too slow")
	errNotGzip  = errors.New("it is not gzip")
)

// unzippers are readers of gzip, whose tables and window are larger than most
// bodies.
var unzippers = sync.Pool{New: func() any { return new(gzip.Reader) }}

// texts are what bodies are unpacked to, most of which are shorter; longer ones than
// textKept are not kept.
var texts = sync.Pool{New: func() any {
	text := make([]byte, 0, 64<<10)
	return &text
}}

const textKept = 256 << 10

// receive reads a body and waits for the room to work on it, which release gives back
// with all that was read. zipped is the body as it came, where that is gzip.
func (s *Service) receive(w http.ResponseWriter, r *http.Request) (body, zipped []byte, release func(), err error) {
	size, known := max(r.ContentLength, 0), r.ContentLength > 0 && !isZipped(r)
	if n, err := strconv.ParseInt(r.Header.Get("X-Uncompressed-Length"), 10, 64); err == nil && n > 0 {
		size, known = max(size, n), true
	}
	if size > s.o.MaxBody {
		return nil, nil, nil, errTooLarge
	}
	if !known {
		size = s.o.MaxBody
	}
	came, unpacked := s.room.bodies.Share(""), s.room.bodies.Share("")
	var text *[]byte
	free := func() {
		came.Free()
		unpacked.Free()
		if text != nil && cap(*text) <= textKept {
			texts.Put(text)
		}
	}
	defer func() {
		if err != nil {
			free()
		}
	}()
	paced := s.room.pace.Body(w, r)
	from := http.MaxBytesReader(w, io.NopCloser(paced), s.o.MaxBody)
	if !isZipped(r) {
		if body, err = came.ReadAll(r.Context(), from, nil, -1, size); err != nil {
			return nil, nil, nil, s.unreadable(err, size)
		}
		paced.Done()
	} else {
		if zipped, err = came.ReadAll(r.Context(), from, nil, r.ContentLength, s.o.MaxBody); err != nil {
			return nil, nil, nil, s.unreadable(err, s.o.MaxBody)
		}
		paced.Done()
		text = texts.Get().(*[]byte)
		if *text, err = unzip(r.Context(), &unpacked, *text, zipped, size); err != nil {
			return nil, nil, nil, s.unreadable(err, size)
		}
		body = *text
	}
	// A client that has closed its side waits all the same; see answer.
	waiting, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), s.room.patience)
	defer cancel()
	work := weight * int64(len(body))
	if s.room.work.Acquire(waiting, work) != nil {
		return nil, nil, nil, ErrBusy
	}
	return body, zipped, func() { s.room.work.Release(work); free() }, nil
}

// unzip unpacks a body to its end, where its checksum stands, into text or memory of
// the share.
func unzip(ctx context.Context, held *memory.Share, text, zipped []byte, most int64) ([]byte, error) {
	reader := unzippers.Get().(*gzip.Reader)
	defer unzippers.Put(reader)
	if reader.Reset(bytes.NewReader(zipped)) != nil {
		return text, errNotGzip
	}
	if err := held.Grow(ctx, int64(cap(text))); err != nil {
		return text, err
	}
	return held.ReadAll(ctx, reader, text, -1, most)
}

// unreadable is what is wrong with a body that could not be read whole.
func (s *Service) unreadable(err error, size int64) error {
	_, over := errors.AsType[*http.MaxBytesError](err)
	switch {
	case over:
		return errTooLarge
	case errors.Is(err, memory.ErrTooLarge):
		return s.overlong(size)
	case errors.Is(err, memory.ErrFull):
		return ErrBusy
	case inbound.TooSlow(err):
		return errTooSlow
	case errors.Is(err, errNotGzip):
		return err
	}
	return errors.New("it ends too early or is damaged")
}

// overlong is what is wrong with a body that is longer than the size it may have.
func (s *Service) overlong(size int64) error {
	if size < s.o.MaxBody {
		return errors.New("it is longer than X-Uncompressed-Length says")
	}
	return errTooLarge
}

// isZipped reports whether the body is compressed. Names of codings know no case.
func isZipped(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Content-Encoding"), "gzip")
}
