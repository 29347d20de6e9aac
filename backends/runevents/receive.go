package runevents

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"
)

// weight is how many bytes of memory a byte of a command takes until it is
// stored, beside the body itself. A report of nothing but small events was measured
// to need three, with the writer's share, and the collector lets that double.
const weight = 8

// room bounds the memory of commands. Bodies take theirs as they come, so that
// one who sends slowly holds no more than what he has sent. What is complete
// waits for the room to be worked on, for which those before it need nothing more.
type room struct {
	bodies, work *semaphore.Weighted
	patience     time.Duration
	stall        time.Duration
}

// roomWait is how long a complete command waits for room.
const roomWait = 10 * time.Second

// stallTime is how long a body may keep its room while nothing of it comes.
const stallTime = 30 * time.Second

func newRoom(o Options) room {
	return room{semaphore.NewWeighted(max(o.MaxQueued/4, 2*o.MaxBody)), semaphore.NewWeighted(max(o.MaxQueued, weight*o.MaxBody)), roomWait, stallTime}
}

var errTooLarge = errors.New("too large")

// firstPiece is what a body is given before anything is known of it.
const firstPiece = 16 << 10

// steady is a body of which each piece has to come in time.
type steady struct {
	io.ReadCloser
	control *http.ResponseController
	stall   time.Duration
}

func (b steady) Read(p []byte) (int, error) {
	// A writer without deadlines is one that its server bounds itself.
	_ = b.control.SetReadDeadline(time.Now().Add(b.stall))
	return b.ReadCloser.Read(p)
}

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
	held := int64(0)
	defer func() {
		if err != nil {
			s.room.bodies.Release(held)
		}
	}()
	control := http.NewResponseController(w)
	var from io.Reader = http.MaxBytesReader(w, steady{r.Body, control, s.room.stall}, s.o.MaxBody)
	if zipped(r) {
		unzip, err := gzip.NewReader(from)
		if err != nil {
			return nil, nil, errors.New("it is not gzip")
		}
		from = unzip
	}
	for {
		if len(body) == cap(body) { // twice as much, and never more than what may come and its end
			grown := min(max(2*int64(cap(body)), firstPiece), size+1)
			if grown == int64(len(body)) {
				return nil, nil, s.overlong(size)
			}
			if !s.room.bodies.TryAcquire(grown - held) {
				return nil, nil, ErrBusy
			}
			held = grown
			body = append(make([]byte, 0, grown), body...)
		}
		n, err := from.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			if errors.As(err, new(*http.MaxBytesError)) {
				return nil, nil, errTooLarge
			}
			return nil, nil, errors.New("it ends too early or is damaged")
		}
	}
	if int64(len(body)) > size {
		return nil, nil, s.overlong(size)
	}
	// One that failed keeps its deadline: the server may wait for the rest of it.
	_ = control.SetReadDeadline(time.Time{})
	// A client that has closed its side waits all the same; see answer.
	waiting, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), s.room.patience)
	defer cancel()
	work := weight * int64(len(body))
	if s.room.work.Acquire(waiting, work) != nil {
		return nil, nil, ErrBusy
	}
	return body, func() { s.room.work.Release(work); s.room.bodies.Release(held) }, nil
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
