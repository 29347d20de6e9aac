package script

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
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
	// grace is how long behind its end a call has to end by itself, which leaves the place in the code for the log.
	// While files are loaded, nobody waits but their author.
	grace     = 150 * time.Millisecond
	loadGrace = 5 * time.Second
	// startLimit is how long a process may take to start.
	startLimit = 20 * time.Second
)

// Reasons for which a process has ended.
const (
	endedTime   = "time"
	endedMemory = "memory"
	endedDied   = "died" // of itself, such as of a fault of the engine, or by the system
)

// process is a worker process, see package worker.
type process struct {
	command *exec.Cmd
	conn    *wire.Conn
	in, out *os.File
	said    *os.File // what it writes to its standard error
	program *Program // whose code it has
	lost    func(p *process, reason string)
	late    atomic.Bool   // it was killed for its time
	closed  atomic.Bool   // it was killed since nobody needs it
	gone    chan struct{} // closed when it has ended
	how     string        // then: what it said last, or its status
	reason  string        // then: why
}

// startProcess starts a process and waits until it is ready. The function lost is called when it ends before close.
func startProcess(lost func(*process, string)) (*process, error) {
	p := &process{lost: lost, gone: make(chan struct{})}
	theirIn, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.out = ours
	p.in, ours, err = os.Pipe()
	if err != nil {
		closeAll(theirIn, p.out)
		return nil, err
	}
	theirOut := ours
	said, theirSaid, err := os.Pipe()
	if err != nil {
		closeAll(theirIn, theirOut, p.in, p.out)
		return nil, err
	}
	p.said = said
	p.command = &exec.Cmd{
		Path: executable(), Args: []string{worker.Name}, Env: worker.Environment(), Dir: string(os.PathSeparator),
		Stdin: theirIn, Stdout: theirOut, Stderr: theirSaid, SysProcAttr: attributes(),
	}
	err = p.command.Start()
	closeAll(theirIn, theirOut, theirSaid)
	if err != nil {
		closeAll(p.in, p.out, p.said)
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

// executable is the program that runs, also if another one has been put in its place since.
func executable() string {
	const running = "/proc/self/exe"
	if _, err := os.Stat(running); err == nil {
		return running
	}
	name, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return name
}

// kill ends the process at once.
func (p *process) kill() { _ = p.command.Process.Kill() }

// close ends a process that nobody needs any more.
func (p *process) close() {
	p.closed.Store(true)
	p.kill()
	<-p.gone
	closeAll(p.in, p.out)
}

// maxSaid bounds what is read of what a process says in the end.
const maxSaid = 4 << 10

// await waits for the end of the process.
func (p *process) await() {
	err := p.command.Wait()
	text, _ := io.ReadAll(io.LimitReader(p.said, maxSaid)) // it has ended, and with it the other end
	_ = p.said.Close()
	p.how = p.command.ProcessState.String()
	if line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n"); line != "" {
		p.how += ": " + line
	}
	switch {
	case p.late.Load():
		p.reason = endedTime
	case p.command.ProcessState.ExitCode() == worker.MemoryExit, err != nil && outOfMemory(string(text)):
		p.reason = endedMemory
	default:
		p.reason = endedDied
	}
	closed := p.closed.Load() // before anybody knows that it has ended, who would close it then
	close(p.gone)
	if !closed {
		p.lost(p, p.reason)
	}
}

// outOfMemory tells whether the runtime of Go says that the system has refused it memory, or that a goroutine's stack
// has become too large.
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

// ended is why a call has no answer: the process has ended, or is to for what it has sent.
func (p *process) ended(err error) error {
	p.kill()
	<-p.gone
	switch p.reason {
	case endedTime:
		return errTime
	case endedMemory:
		return &scriptError{fmt.Errorf("%w (%w)", js.ErrMemory, &endedError{p.how}), ""}
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, syscall.EPIPE) {
		return fmt.Errorf("%w (%w)", &endedError{p.how}, err)
	}
	return &endedError{p.how}
}

// dead tells whether the process has ended.
func (p *process) dead() bool {
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}

// use gives the process the code of a program, as far as it is known.
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

// run asks the process a question, does what the script asks for meanwhile, and returns the Result, which is good until
// the next question. After an error the process is good for nothing.
func (p *process) run(h *host, kind byte, question func([]byte) []byte) ([]byte, error) {
	until, _ := h.ctx.Deadline()
	end := time.Until(until) + grace
	if h.method == nil {
		end += loadGrace
	}
	timer := time.AfterFunc(end, func() {
		p.late.Store(true)
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

// unsent is the error of a frame that was not sent.
func (p *process) unsent(err error) error {
	if errors.Is(err, wire.ErrLong) {
		p.kill()
		<-p.gone
		return handler.Errorf(413, "the request is larger than a handler may take")
	}
	return p.ended(err)
}
