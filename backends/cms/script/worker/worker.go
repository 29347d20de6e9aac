// Package worker implements the worker process, in which the handlers of a site run. The process runs the same program
// as the gateway, under another name. A program only needs to import this package: in a worker process, the
// initialization of the package serves requests and never returns, so most other packages are not initialized.
//
// A worker has no database, no settings, no environment, and no open files except its two pipes; see package wire for
// the protocol. It runs one call at a time, and ends when its parent process ends.
package worker

import (
	"errors"
	"io"
	"os"
	goruntime "runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/cms/script/js"
	"github.com/tollgate-gateway/tollgate/backends/cms/script/wire"
)

// Name is the first argument (os.Args[0]) of a worker process.
const Name = "tollgate-cms-handlers"

// Environment returns the environment of a worker.
func Environment() []string {
	// One processor is enough, since a worker runs one call at a time. Without a traceback, a fault in the engine takes
	// only one line in the log.
	all := []string{"GOMAXPROCS=1", "GOGC=200", "GOTRACEBACK=none"}
	if zone, ok := os.LookupEnv("TZ"); ok {
		all = append(all, "TZ="+zone)
	}
	return all
}

// MemoryExit is the exit status of a worker whose call exceeded the memory limit.
const MemoryExit = 3

// MaxMemory limits the memory of a call, in bytes.
const MaxMemory = 128 << 20

func init() {
	if len(os.Args) > 0 && os.Args[0] == Name {
		go func() { os.Exit(serve()) }()
		select {} // serve needs a goroutine of its own: this one is locked to its thread, and that makes it slow
	}
}

// serve answers requests of the parent process until the parent ends. It returns the exit status of the worker.
func serve() int {
	closeInherited()
	beNice()
	w := &work{base: memory(), conn: wire.NewConn(os.Stdin, os.Stdout, wire.MaxDown)}
	w.timer = time.AfterFunc(time.Hour, w.check)
	w.timer.Stop()
	// The garbage collector works harder when a call comes close to its limit.
	debug.SetMemoryLimit(int64(w.base) + MaxMemory - 8<<20) //nolint:gosec // G115: far from the limit
	if err := limitMemory(); err != nil {
		_, _ = io.WriteString(os.Stderr, "limiting the memory of a worker: "+err.Error()+"\n")
		return 1
	}
	go func() {
		awaitParent()
		os.Exit(0)
	}()
	w.code = js.NewCode()
	if err := w.conn.Send(w.conn.Begin(wire.Result)); err != nil { // the worker is ready
		return 0
	}
	for {
		result := make(chan int)
		go func() { result <- w.answer() }()
		if status := <-result; status != moreRequests {
			return status
		}
	}
}

// moreRequests is the result of work.answer if there may be more requests.
const moreRequests = -1

// answer answers requests, in a thread that no other goroutine uses. It returns the exit status of the process if there
// are no more requests. It returns moreRequests if a call has cost the thread its priority: the thread then ends with
// the goroutine, and the caller begins a new one.
func (w *work) answer() int {
	goruntime.LockOSThread()
	w.thread, w.demoted = thread(), false
	for {
		rt := js.New(w.code) // before the request arrives, because creating a runtime takes a while
		kind, payload, err := w.conn.Read()
		if errors.Is(err, io.EOF) {
			return 0
		}
		if err != nil {
			_, _ = io.WriteString(os.Stderr, err.Error()+"\n")
			return 1
		}
		var frame []byte
		if kind == wire.Program {
			w.code = program(payload)
		} else {
			frame = w.run(rt, kind, wire.NewReader(payload))
		}
		if err := w.conn.Send(append(w.conn.Begin(wire.Result), frame...)); err != nil {
			return 0
		}
		if w.buffer = frame; cap(frame) > 256<<10 {
			w.buffer = nil
		}
		if memory() > w.base+MaxMemory/4 {
			debug.FreeOSMemory()
		}
		if w.demoted {
			return moreRequests
		}
	}
}

// run answers a request within the time and memory limits of a call, and returns the payload of the Result. r
// contains the payload of the request.
func (w *work) run(rt *js.Runtime, kind byte, r *wire.Reader) []byte {
	w.begin(rt, time.Duration(r.Uint())*time.Microsecond) //nolint:gosec // G115: the gateway sends a valid duration
	defer w.end()
	switch kind {
	case wire.Load:
		return rt.Load(w, r.Rest(), w.buffer[:0])
	case wire.Table:
		return rt.Table(w, w.buffer[:0])
	default:
		return rt.Run(w, r.Rest(), w.buffer[:0])
	}
}

// program decodes the code of a site. It ignores files with errors, because the errors occur again when a script
// requires the files.
func program(payload []byte) *js.Code {
	code := js.NewCode()
	r := wire.NewReader(payload)
	for range r.Len() {
		_ = code.Add(r.Text(), r.Text(), r.Text(), r.Text())
	}
	return code
}

// work is the state of a worker.
type work struct {
	conn    *wire.Conn
	code    *js.Code
	buffer  []byte      // buffer for results; operations use the buffer of conn
	base    uint64      // memory before the first call, in bytes
	waiting atomic.Bool // whether the worker waits for the gateway

	timer *time.Timer // calls check in a goroutine of its own
	// mu guards the following members while a call runs. Between two calls, when rt is nil, check leaves them alone.
	mu          sync.Mutex
	rt          *js.Runtime // nil between two calls
	begun       time.Time
	deadline    time.Time
	interrupted time.Time // when the call was interrupted because of its memory
	thread      int       // ID of the thread in which calls run
	demoted     bool      // whether the thread has lost its priority
}

const (
	firstCheck = 5 * time.Millisecond  // time from the beginning of a call to its first check
	nextCheck  = 10 * time.Millisecond // time between two checks
	// demoteAfter is the duration after which a call that does not wait for the gateway loses its priority.
	demoteAfter = 200 * time.Millisecond
)

// begin starts the supervision of a call, which may take at most limit.
func (w *work) begin(rt *js.Runtime, limit time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rt, w.begun, w.interrupted = rt, time.Now(), time.Time{}
	w.deadline = w.begun.Add(limit)
	w.timer.Reset(min(firstCheck, limit))
}

// end ends the supervision of the call.
func (w *work) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rt = nil
	w.timer.Stop()
}

// check interrupts a call that exceeds its time or memory. An interrupted call leaves its stack trace in the log, but
// can only be interrupted between two steps. If the call goes on, the process must end. If the memory is exceeded,
// check ends the process. If the time is exceeded, the gateway ends the process. If the gateway has ended, check ends
// the process one second after the time is exceeded.
func (w *work) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.rt == nil {
		return
	}
	if !w.demoted && time.Since(w.begun) > demoteAfter && !w.waiting.Load() {
		w.demoted = true
		demote(w.thread)
	}
	used, left := max(memory(), w.base)-w.base, time.Until(w.deadline)
	// If an interrupt has had no effect for 50 ms, the engine is within a built-in function.
	ignoresInterrupt := !w.interrupted.IsZero() && time.Since(w.interrupted) > 50*time.Millisecond
	switch {
	case used > MaxMemory && (used > MaxMemory*5/4 || ignoresInterrupt):
		os.Exit(MemoryExit)
	case used > MaxMemory:
		if w.interrupted.IsZero() {
			w.interrupted = time.Now()
			w.rt.Interrupt(js.ErrMemory)
		}
	case left < -time.Second:
		os.Exit(1)
	case left <= 0:
		w.rt.Interrupt(js.ErrTime)
	default:
		w.timer.Reset(min(left, nextCheck))
		return
	}
	w.timer.Reset(nextCheck)
}

// memory returns the memory that the process has obtained from the system, not counting its code, in bytes.
func memory() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64() - sample[1].Value.Uint64()
}

// Ask implements js.Host.
func (w *work) Ask(operation byte, arguments []byte) ([]byte, error) {
	w.waiting.Store(true)
	defer w.waiting.Store(false)
	if err := w.conn.Send(append(w.conn.Begin(operation), arguments...)); err != nil {
		os.Exit(0)
	}
	kind, payload, err := w.conn.Read()
	if err != nil {
		os.Exit(0)
	}
	if kind == wire.Refusal {
		r := wire.NewReader(payload)
		return nil, &wire.RefusedError{Code: int(r.Uint()), Message: r.Text(), Cause: r.Uint()} //nolint:gosec // G115: a status
	}
	return payload, nil
}

// Log implements js.Host.
func (w *work) Log(level byte, text string) {
	if err := w.conn.Send(append(append(w.conn.Begin(wire.Log), level), text...)); err != nil {
		os.Exit(0)
	}
}
