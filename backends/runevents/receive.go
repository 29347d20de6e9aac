package runevents

import (
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
)

// unzippers are readers of gzip, whose tables and window are larger than most
// bodies.
var unzippers = sync.Pool{New: func() any { return new(gzip.Reader) }}

// receive reads the payload and waits for the room to work on it, which release
// gives back.
func (s *Service) receive(w http.ResponseWriter, r *http.Request) (body []byte, release func(), err error) {
	size, known := max(r.ContentLength, 0), r.ContentLength > 0 && !zipped(r)
	if n, err := strconv.ParseInt(r.Header.Get("X-Uncompressed-Length"), 10, 64); err == nil && n > 0 {
		size, known = max(size, n), true
	}
	if size > s.o.MaxBody {
		return nil, nil, errTooLarge
	}
	if !known {
		size = s.o.MaxBody
	}
	held := s.room.bodies.Share("")
	defer func() {
		if err != nil {
			held.Free()
		}
	}()
	paced := s.room.pace.Body(w, r)
	var from io.Reader = http.MaxBytesReader(w, io.NopCloser(paced), s.o.MaxBody)
	if zipped(r) {
		unzip := unzippers.Get().(*gzip.Reader)
		defer unzippers.Put(unzip)
		if err := unzip.Reset(from); err != nil {
			if inbound.TooSlow(err) {
				return nil, nil, errTooSlow
			}
			return nil, nil, errors.New("it is not gzip")
		}
		from = unzip
	}
	if body, err = held.ReadAll(r.Context(), from, nil, -1, size); err != nil {
		return nil, nil, s.unreadable(err, size)
	}
	paced.Done()
	// A client that has closed its side waits all the same; see answer.
	waiting, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), s.room.patience)
	defer cancel()
	work := weight * int64(len(body))
	if s.room.work.Acquire(waiting, work) != nil {
		return nil, nil, ErrBusy
	}
	return body, func() { s.room.work.Release(work); held.Free() }, nil
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

// zipped reports whether the body is compressed. Names of codings know no case.
func zipped(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Content-Encoding"), "gzip")
}
