// Package mock contains the provider behind the measured servers: requests to it, its responses, and functions that
// check the responses.
package mock

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tollgate-gateway/tollgate/bench/process"
)

// A word that begins with prefix selects the response of the mock provider. The word may be anywhere in the request, so
// that it passes through the servers in between.
const (
	prefix = "mock:"
	Whole  = "mock:whole"  // a chat completion of 1 KB
	Burst  = "mock:burst"  // a stream of streamChunks chunks, all at once
	Paced  = "mock:paced"  // the same stream, flushed after each chunk
	Padded = "mock:padded" // like Burst, with padding in each chunk as OpenAI sends it
	Idle   = "mock:idle"   // one chunk, then silence until the client leaves
	Flood  = "mock:flood-" // followed by a number: that many chunks as fast as possible, then silence
	Claim  = "mock:claim"  // a Content-Length of 32 MiB, a little of the body, then silence
	Silent = "mock:silent" // no response at all
	Late   = "mock:late"   // like Whole, but delayed, so that many requests are under way at the same time
	Drop   = "mock:drop"   // the connection is closed
)

// DropsPath is the path that returns the number of dropped requests.
const DropsPath = "/drops"

// CommandPath is the path to which reports are submitted.
const CommandPath = "/store/cmd/v1"

// drops counts the dropped requests.
var drops atomic.Int64

// Provider is a running mock provider.
type Provider struct {
	*process.Child
	Address string // host:port
	stdin   io.Closer
}

// Start runs this program again as the provider, in a separate process, so that its CPU time is not counted for the
// load.
func Start(ctx context.Context, dir string) (*Provider, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("starting the mock: %w", err)
	}
	stdin, stdinWriter, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("starting the mock: %w", err)
	}
	stdout, stdoutWriter, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("starting the mock: %w", err)
	}
	defer func() { _ = stdout.Close() }()
	c, err := process.Launch(ctx, dir, "mock", stdin, stdoutWriter, os.Environ(), self, "-mock")
	_, _ = stdoutWriter.Close(), stdin.Close() // the child process has its own copies
	if err != nil {
		return nil, err
	}
	address, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		c.Stop()
		return nil, fmt.Errorf("starting the mock: %w\n%s", err, c.Said())
	}
	return &Provider{c, strings.TrimSpace(address), stdinWriter}, nil
}

// Stop ends the provider.
func (m *Provider) Stop() {
	m.stdin.Close()
	m.Child.Stop()
}

// Serve runs the provider. It writes the provider's address to out and serves until in or ctx ends. The reader in ends
// when the parent process ends for any reason.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	server := &http.Server{Handler: http.HandlerFunc(answer), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		_, _ = io.Copy(io.Discard, in)
		_ = server.Close()
	}()
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if _, err := fmt.Fprintln(out, listener.Addr()); err != nil {
		return fmt.Errorf("telling the address: %w", err)
	}
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}

// bodies holds buffers for the bodies of requests.
var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// answer serves all requests to the mock provider.
func answer(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == DropsPath:
		_, _ = fmt.Fprintln(w, drops.Load())
		return
	case r.URL.Path == CommandPath:
		takeReport(w, r)
		return
	case !strings.HasSuffix(r.URL.Path, "/chat/completions"): // no other path is served
		http.NotFound(w, r)
		return
	}
	body := bodies.Get().(*bytes.Buffer)
	body.Reset()
	_, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, 64<<20))
	ask := asked(body.Bytes())
	bodies.Put(body)
	if err != nil {
		return // the client has left
	}
	header := w.Header()
	switch ask {
	case Claim:
		header["Content-Type"] = []string{"application/json"}
		header["Content-Length"] = []string{strconv.Itoa(32 << 20)}
		_, _ = w.Write(bytes.Repeat([]byte(" "), 8<<10))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		return
	case Silent:
		<-r.Context().Done()
		return
	case Drop:
		drops.Add(1)
		panic(http.ErrAbortHandler)
	case Late:
		time.Sleep(500 * time.Millisecond)
		ask = Whole
	}
	if ask == Whole {
		header["Content-Type"] = []string{"application/json"}
		header["Content-Length"] = []string{strconv.Itoa(len(wholeReply))}
		_, _ = w.Write(wholeReply)
		return
	}
	header["Content-Type"] = []string{"text/event-stream"}
	flush := http.NewResponseController(w).Flush
	switch count, flood := strings.CutPrefix(ask, Flood); {
	case flood:
		n, err := strconv.Atoi(count)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		for i := range n {
			if _, err := w.Write(plainChunks[i%len(plainChunks)]); err != nil {
				return
			}
		}
		_ = flush()
		<-r.Context().Done()
	case ask == Idle:
		_, _ = w.Write(plainChunks[0])
		_ = flush()
		<-r.Context().Done()
	case ask == Burst:
		_, _ = w.Write(bytes.Join(plainStream, nil))
	case ask == Padded:
		_, _ = w.Write(bytes.Join(paddedStream, nil))
	case ask == Paced:
		for _, chunk := range plainStream {
			_, _ = w.Write(chunk)
			_ = flush()
		}
	default:
		http.Error(w, "the request asks for nothing", http.StatusBadRequest)
	}
}

// takeReport reads a report and discards it.
func takeReport(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, 64<<20)); err != nil {
		return // the client has left
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"uuid" : "00000000-0000-4000-8000-000000000000"}`)
}

// asked returns the word in the request that selects the response, or "" if there is no such word.
func asked(body []byte) string {
	start := bytes.Index(body, []byte(prefix))
	if start < 0 {
		return ""
	}
	word := body[start:]
	end := len(prefix)
	for end < len(word) && (word[end] == '-' || ('a' <= word[end] && word[end] <= 'z') ||
		('0' <= word[end] && word[end] <= '9')) {
		end++
	}
	return string(word[:end])
}
