package script

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
	"github.com/tollgate-gateway/tollgate/backends/cms/script/js"
	"github.com/tollgate-gateway/tollgate/backends/cms/script/wire"
	"github.com/tollgate-gateway/tollgate/backends/cms/script/worker"
)

const (
	// grace is how long a call may exceed its deadline before its process is killed. A call that ends within this time
	// leaves its stack trace in the log.
	grace = 150 * time.Millisecond
	// loadGrace is added to grace when files are loaded, because only the author of the files waits for that.
	loadGrace = 5 * time.Second
	// startLimit limits the time in which a process must start.
	startLimit = 20 * time.Second
)

// The reasons for the end of a process.
const (
	endedTime   = "time"
	endedMemory = "memory"
	endedDied   = "died" // by itself, for instance by a fault of the engine, or killed by the system
)

// process is a runner that runs calls in a worker process; see package worker.
type process struct {
	command  *exec.Cmd
	conn     *wire.Conn
	in, out  *os.File // the pipes of conn: from and to the process
	stderr   *os.File // standard error of the process
	program  *Program // the program whose code the process has; nil before the first one
	onEnd    func(p *process, reason string)
	timedOut atomic.Bool   // the process was killed because a call took too long
	closed   atomic.Bool   // the process was killed because it is not needed any more
	gone     chan struct{} // closed when the process has ended
	detail   string        // the exit status, and the first line of standard error if any; valid once gone is closed
	reason   string        // once gone is closed: one of the reasons above
}

// startProcess starts a process and waits until it is ready. onEnd is called if the process ends before close is
// called; its second argument is the reason.
func startProcess(onEnd func(*process, string)) (*process, error) {
	p := &process{onEnd: onEnd, gone: make(chan struct{})}
	var childStdin, childStdout, childStderr *os.File
	var err error
	if childStdin, p.out, err = os.Pipe(); err != nil {
		return nil, err
	}
	if p.in, childStdout, err = os.Pipe(); err != nil {
		closeAll(childStdin, p.out)
		return nil, err
	}
	if p.stderr, childStderr, err = os.Pipe(); err != nil {
		closeAll(childStdin, childStdout, p.in, p.out)
		return nil, err
	}
	p.command = &exec.Cmd{
		Path: executable(), Args: []string{worker.Name}, Env: worker.Environment(), Dir: string(os.PathSeparator),
		Stdin: childStdin, Stdout: childStdout, Stderr: childStderr, SysProcAttr: attributes(),
	}
	err = p.command.Start()
	closeAll(childStdin, childStdout, childStderr)
	if err != nil {
		closeAll(p.in, p.out, p.stderr)
		return nil, err
	}
	p.conn = wire.NewConn(p.in, p.out, wire.MaxUp)
	go p.await()
	timer := time.AfterFunc(startLimit, p.kill)
	defer timer.Stop()
	if kind, _, err := p.conn.Read(); err != nil || kind != wire.Result {
		p.close()
		return nil, fmt.Errorf("the process did not become ready: %w", p.endError(err))
	}
	return p, nil
}

// closeAll closes files and ignores errors.
func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// executable returns the path of the running program. The path is usable even if the program's file has been replaced.
func executable() string {
	const running = "/proc/self/exe"
	if _, err := os.Stat(running); err == nil && runtime.GOOS == "linux" {
		return running
	}
	name, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return name
}

// kill kills the process.
func (p *process) kill() { _ = p.command.Process.Kill() }

// close kills a process that is not needed any more, and waits for its end.
func (p *process) close() {
	p.closed.Store(true)
	p.kill()
	<-p.gone
	closeAll(p.in, p.out)
}

// maxStderr limits how much of the standard error of a process is kept, in bytes.
const maxStderr = 4 << 10

// await waits for the end of the process, records the reason, and calls p.onEnd unless p.close has ended the process.
func (p *process) await() {
	err := p.command.Wait()
	text, _ := io.ReadAll(io.LimitReader(p.stderr, maxStderr)) // until the process has ended
	_ = p.stderr.Close()
	p.detail = p.command.ProcessState.String()
	if line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n"); line != "" {
		p.detail += ": " + line
	}
	switch {
	case p.timedOut.Load():
		p.reason = endedTime
	case p.command.ProcessState.ExitCode() == worker.MemoryExit, err != nil && outOfMemory(string(text)):
		p.reason = endedMemory
	default:
		p.reason = endedDied
	}
	closed := p.closed.Load() // read before p.gone is closed, because whoever waits for p.gone may then set p.closed
	close(p.gone)
	if !closed {
		p.onEnd(p, p.reason)
	}
}

// outOfMemory reports whether text, the standard error of a process, shows that the Go runtime could not get memory or
// that a stack has become too large.
func outOfMemory(text string) bool {
	for _, message := range []string{
		"out of memory", "cannot allocate memory", "stack exceeds", "stack overflow",
		"failed to allocate", // the race detector
	} {
		if strings.Contains(text, message) {
			return true
		}
	}
	return false
}

// endError kills the process, unless it has ended already, and returns the error for the call that gets no result. err
// is the error of the connection, or nil if the process sent a frame of the wrong kind.
func (p *process) endError(err error) error {
	p.kill()
	<-p.gone
	switch p.reason {
	case endedTime:
		return errTime
	case endedMemory:
		return &scriptError{fmt.Errorf("%w (%w)", js.ErrMemory, &endedError{p.detail}), ""}
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, syscall.EPIPE) {
		return fmt.Errorf("%w (%w)", &endedError{p.detail}, err)
	}
	return &endedError{p.detail}
}

// hasEnded reports whether the process has ended.
func (p *process) hasEnded() bool {
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}

// sendProgram sends the code of a program to the process: the files that have been required so far.
func (p *process) sendProgram(program *Program) error {
	files := program.sources.storedFiles()
	frame := wire.AppendUint(p.conn.Begin(wire.Program), uint64(len(files)))
	for _, source := range files {
		for _, text := range source {
			frame = wire.AppendText(frame, text)
		}
	}
	if err := p.conn.Send(frame); err != nil {
		return p.endError(err)
	}
	if kind, _, err := p.conn.Read(); err != nil || kind != wire.Result {
		return p.endError(err)
	}
	p.program = program
	return nil
}

// run implements runner. It sends a request to the process, performs the operations that the script requests in the
// meantime, and returns the Result. It kills the process if the call exceeds the deadline of h.ctx by more than grace.
func (p *process) run(h *host, kind byte, appendPayload func([]byte) []byte) ([]byte, error) {
	deadline, _ := h.ctx.Deadline() // every caller sets one
	killAfter := time.Until(deadline) + grace
	if h.method == nil { // files are loaded
		killAfter += loadGrace
	}
	timer := time.AfterFunc(killAfter, func() {
		p.timedOut.Store(true)
		p.kill()
	})
	defer timer.Stop()
	if p.program != h.program {
		if err := p.sendProgram(h.program); err != nil {
			return nil, err
		}
	}
	remaining := max(time.Until(deadline), time.Microsecond).Microseconds()
	if err := p.conn.Send(appendPayload(wire.AppendUint(p.conn.Begin(kind), uint64(remaining)))); err != nil { //nolint:gosec // G115: positive
		return nil, p.sendError(err)
	}
	for {
		kind, payload, err := p.conn.Read()
		switch {
		case err != nil:
			return nil, p.endError(err)
		case kind == wire.Result:
			return payload, nil
		case kind == wire.Log:
			if len(payload) > 0 {
				h.Log(payload[0], string(payload[1:]))
			}
			continue
		}
		frame, refusal := h.perform(kind, payload, p.conn.Begin(wire.Reply))
		if refusal != nil {
			frame = wire.AppendUint(p.conn.Begin(wire.Refusal), uint64(refusal.Code)) //nolint:gosec // G115: a status
			frame = wire.AppendUint(wire.AppendText(frame, refusal.Message), refusal.Cause)
		}
		if err := p.conn.Send(frame); err != nil {
			return nil, p.sendError(err)
		}
	}
}

// sendError returns the error for a frame that could not be sent because of err.
func (p *process) sendError(err error) error {
	if errors.Is(err, wire.ErrLong) {
		p.kill()
		<-p.gone
		return handler.Errorf(413, "the request is too large for a handler in JavaScript")
	}
	return p.endError(err)
}
