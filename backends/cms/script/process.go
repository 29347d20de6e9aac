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
	// leaves its stack trace in the log. Loading files gets more time, because only the author of the files waits for
	// it.
	grace     = 150 * time.Millisecond
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

// process is a worker process; see package worker.
type process struct {
	command  *exec.Cmd
	conn     *wire.Conn
	in, out  *os.File
	stderr   *os.File // standard error of the process
	program  *Program // the program whose code the process has
	onEnd    func(p *process, reason string)
	timedOut atomic.Bool   // the process was killed because a call took too long
	closed   atomic.Bool   // the process was killed because it is not needed any more
	gone     chan struct{} // closed when the process has ended
	detail   string        // once gone is closed: the first line of standard error, or the exit status
	reason   string        // once gone is closed: one of the reasons above
}

// startProcess starts a process and waits until it is ready. onEnd is called if the process ends before close is
// called; its second argument is the reason.
func startProcess(onEnd func(*process, string)) (*process, error) {
	p := &process{onEnd: onEnd, gone: make(chan struct{})}
	theirIn, ourEnd, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.out = ourEnd
	p.in, ourEnd, err = os.Pipe()
	if err != nil {
		closeAll(theirIn, p.out)
		return nil, err
	}
	theirOut := ourEnd
	stderr, theirStderr, err := os.Pipe()
	if err != nil {
		closeAll(theirIn, theirOut, p.in, p.out)
		return nil, err
	}
	p.stderr = stderr
	p.command = &exec.Cmd{
		Path: executable(), Args: []string{worker.Name}, Env: worker.Environment(), Dir: string(os.PathSeparator),
		Stdin: theirIn, Stdout: theirOut, Stderr: theirStderr, SysProcAttr: attributes(),
	}
	err = p.command.Start()
	closeAll(theirIn, theirOut, theirStderr)
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
		return nil, fmt.Errorf("it is not ready: %w", p.ended(err))
	}
	return p, nil
}

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

// maxSaid limits how much of the standard error of a process is kept, in bytes.
const maxSaid = 4 << 10

// await waits for the end of the process and records the reason.
func (p *process) await() {
	err := p.command.Wait()
	text, _ := io.ReadAll(io.LimitReader(p.stderr, maxSaid)) // it has ended, and with it the other end of the pipe
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
	closed := p.closed.Load() // read before p.gone is closed, because the waiting caller then calls close
	close(p.gone)
	if !closed {
		p.onEnd(p, p.reason)
	}
}

// outOfMemory reports whether text, the standard error of a process, shows that the Go runtime could not get memory or
// that a stack has become too large.
func outOfMemory(text string) bool {
	for _, sign := range []string{
		"out of memory", "cannot allocate memory", "stack exceeds", "stack overflow",
		"failed to allocate", // the race detector
	} {
		if strings.Contains(text, sign) {
			return true
		}
	}
	return false
}

// ended kills the process, unless it has ended already, and returns the error for the call that gets no answer.
func (p *process) ended(err error) error {
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

// dead reports whether the process has ended.
func (p *process) dead() bool {
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}

// use sends the code of a program to the process: the files that have been required so far.
func (p *process) use(program *Program) error {
	known := program.sources.known()
	frame := wire.AppendUint(p.conn.Begin(wire.Program), uint64(len(known)))
	for _, source := range known {
		for _, text := range source {
			frame = wire.AppendText(frame, text)
		}
	}
	if err := p.conn.Send(frame); err != nil {
		return p.ended(err)
	}
	if kind, _, err := p.conn.Read(); err != nil || kind != wire.Result {
		return p.ended(err)
	}
	p.program = program
	return nil
}

// run sends a request to the process, performs the operations that the script requests in the meantime, and returns the
// Result, which is valid until the next call. question appends the payload of the request. After an error the process
// must not be used again.
func (p *process) run(h *host, kind byte, question func([]byte) []byte) ([]byte, error) {
	until, _ := h.ctx.Deadline()
	end := time.Until(until) + grace
	if h.method == nil {
		end += loadGrace
	}
	timer := time.AfterFunc(end, func() {
		p.timedOut.Store(true)
		p.kill()
	})
	defer timer.Stop()
	if p.program != h.program {
		if err := p.use(h.program); err != nil {
			return nil, err
		}
	}
	left := max(time.Until(until), time.Microsecond).Microseconds()
	if err := p.conn.Send(question(wire.AppendUint(p.conn.Begin(kind), uint64(left)))); err != nil { //nolint:gosec // G115: positive
		return nil, p.unsent(err)
	}
	for {
		kind, payload, err := p.conn.Read()
		switch {
		case err != nil:
			return nil, p.ended(err)
		case kind == wire.Result:
			return payload, nil
		case kind == wire.Log:
			if len(payload) > 0 {
				h.Log(payload[0], string(payload[1:]))
			}
			continue
		}
		frame, refused := h.do(kind, payload, p.conn.Begin(wire.Reply))
		if refused != nil {
			frame = wire.AppendUint(p.conn.Begin(wire.Refusal), uint64(refused.Code)) //nolint:gosec // G115: a status
			frame = wire.AppendUint(wire.AppendText(frame, refused.Message), refused.Cause)
		}
		if err := p.conn.Send(frame); err != nil {
			return nil, p.unsent(err)
		}
	}
}

// unsent returns the error for a frame that could not be sent because of err.
func (p *process) unsent(err error) error {
	if errors.Is(err, wire.ErrLong) {
		p.kill()
		<-p.gone
		return handler.Errorf(413, "the request is larger than a handler may take")
	}
	return p.ended(err)
}
