package e2e

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// RefusesToStart runs the gateway, expects that it ends at once with an error, and returns its output.
func (n *Node) RefusesToStart() string {
	n.T.Helper()
	ctx, cancel := context.WithTimeout(n.T.Context(), StartLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, Binary, "run", "--config", "Caddyfile")
	cmd.Dir, cmd.Env = n.Dir, n.Env
	out, err := cmd.CombinedOutput()
	if _, ended := errors.AsType[*exec.ExitError](err); !ended || ctx.Err() != nil {
		n.T.Errorf("the gateway starts: %v", err)
	}
	return string(out)
}

// AwaitLogTimes waits until the message line was logged at least times times.
func (n *Node) AwaitLogTimes(times int, line string) {
	n.T.Helper()
	Eventually(n.T, WaitLimit, fmt.Sprintf("%d times %q in the log", times, line), func() error {
		if got := strings.Count(n.Logs.String(), `"msg":"`+line+`"`); got < times {
			return fmt.Errorf("%d", got)
		}
		return nil
	})
}

// Integrity returns the result of SQLite's integrity check.
func (n *Node) Integrity() string {
	n.T.Helper()
	db, err := sql.Open("sqlite", "file:"+n.Path("data", "tollgate.db")+"?mode=ro&_pragma=busy_timeout(5000)")
	if err != nil {
		n.T.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var verdict string
	if err := db.QueryRowContext(n.T.Context(), "PRAGMA integrity_check").Scan(&verdict); err != nil {
		n.T.Fatal(err)
	}
	return verdict
}

const (
	StartLimit = 2 * time.Minute // until a process serves; machines under load are slow
	StopLimit  = 2 * time.Minute
	WaitLimit  = 2 * time.Minute // until an event that needs no action of the test
	poll       = 10 * time.Millisecond
)

// Node is a gateway process with a separate working directory.
type Node struct {
	T    *testing.T
	Dir  string
	Env  []string
	Args []string // arguments of the command run; nil means --config Caddyfile
	Logs *Output  // standard error
	Out  *Output  // standard output
	// Program replaces the program under test if it is not empty.
	Program string

	Cmd     *exec.Cmd
	exited  chan struct{}  // closed when the process Cmd has ended
	clients []*http.Client // made by Trusting
}

// NewNode makes the working directory with config as its Caddyfile. env is added to the environment of the process,
// which inherits only PATH and TMPDIR from the test.
func NewNode(t *testing.T, config string, env ...string) *Node {
	t.Helper()
	// The path is short, because the path of a socket may have at most 104 characters.
	dir, err := os.MkdirTemp("", "tg-")
	if err != nil {
		t.Fatal(err)
	}
	n := &Node{T: t, Dir: dir, Env: append(Environment(dir), env...), Logs: new(Output), Out: new(Output)}
	if err := os.Mkdir(n.Path("data"), 0o700); err != nil {
		t.Fatal(err)
	}
	n.Configure(config)
	t.Cleanup(func() {
		n.Kill()
		if t.Failed() {
			t.Logf("log of the gateway:\n%s", n.Logs.Tail(8<<10))
		}
		if strings.Contains(n.Logs.String(), "panic:") {
			t.Errorf("the gateway has panicked:\n%s", n.Logs.Tail(8<<10))
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return n
}

// Environment returns the environment of the programs that tests start. dir is their home.
func Environment(dir string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + os.TempDir(),
		"XDG_DATA_HOME=" + filepath.Join(dir, "xdg"), "XDG_CONFIG_HOME=" + filepath.Join(dir, "xdg"),
	}
}

// Path returns the path of a file in the working directory.
func (n *Node) Path(parts ...string) string {
	return filepath.Join(append([]string{n.Dir}, parts...)...)
}

// Configure writes the Caddyfile.
func (n *Node) Configure(config string) {
	n.T.Helper()
	if err := os.WriteFile(n.Path("Caddyfile"), []byte(config), 0o600); err != nil {
		n.T.Fatal(err)
	}
}

// Start runs the gateway and waits until its configuration is loaded.
func (n *Node) Start() *Node {
	n.T.Helper()
	_ = os.Remove(n.Path("data", "admin.sock")) // a killed process may have left it
	args := n.Args
	if args == nil {
		args = []string{"--config", "Caddyfile"}
	}
	cmd := exec.CommandContext(context.Background(), cmp.Or(n.Program, Binary), append([]string{"run"}, args...)...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = n.Dir, n.Env, n.Out, n.Logs
	if err := cmd.Start(); err != nil {
		n.T.Fatal(err)
	}
	Watch(cmd.Process.Pid, true)
	n.Cmd, n.exited = cmd, make(chan struct{})
	go func(exited chan struct{}) {
		_ = cmd.Wait()
		Watch(cmd.Process.Pid, false)
		close(exited)
	}(n.exited)
	Eventually(n.T, StartLimit, "the gateway runs", func() error {
		select {
		case <-n.exited:
			n.T.Fatalf("the gateway has ended: %v\n%s", cmd.ProcessState, n.Logs.Tail(8<<10))
		default:
		}
		text, err := n.Admin(http.MethodGet, "/config/", "", "")
		if err == nil && strings.TrimSpace(text) == "null" {
			err = errors.New("no configuration yet")
		}
		return err
	})
	return n
}

// Admin sends a request to the admin API on its socket. After a reload the previous API server shares the socket for a
// moment. It may close a connection that it accepted last without an answer. Such a request had no effect and is
// repeated.
func (n *Node) Admin(method, path, contentType, body string) (text string, err error) {
	client := &http.Client{Timeout: StartLimit, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", n.Path("data", "admin.sock"))
		},
	}}
	for range 5 {
		if text, err = admin(client, method, path, contentType, body); !errors.Is(err, io.EOF) {
			break
		}
	}
	return text, err
}

// admin sends one request to the admin API. The error is not nil if the status is not 2xx.
func admin(client *http.Client, method, path, contentType, body string) (string, error) {
	request, err := http.NewRequestWithContext(context.Background(), method, "http://admin"+path,
		strings.NewReader(body))
	if err != nil {
		return "", err
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
		request.Header.Set("Cache-Control", "must-revalidate") // forces a load of an unchanged configuration
	}
	resp, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, text)
	}
	return string(text), err
}

// Load loads a configuration through the admin API, and waits as Change does.
func (n *Node) Load(config string) {
	n.T.Helper()
	if err := n.Change(func() error {
		_, err := n.Admin(http.MethodPost, "/load", "text/caddyfile", config)
		return err
	}); err != nil {
		n.T.Fatal(err)
	}
}

// Change calls change, which changes the gateway's configuration, and waits until the previous servers accept no more
// connections. If change fails, Change returns its error at once.
func (n *Node) Change(change func() error) error {
	previous := n.sentinels()
	if err := change(); err != nil {
		for _, c := range previous {
			_ = c.Close()
		}
		return err
	}
	awaitEnd(previous)
	// The previous servers close their connections, perhaps while the next request is being sent.
	Client.CloseIdleConnections()
	for _, client := range n.clients {
		client.CloseIdleConnections()
	}
	return nil
}

// Tool runs a command of the binary in the working directory and returns its output.
func (n *Node) Tool(args ...string) string {
	n.T.Helper()
	ctx, cancel := context.WithTimeout(n.T.Context(), StartLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, Binary, args...)
	cmd.Dir, cmd.Env = n.Dir, n.Env
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		n.T.Fatalf("tollgate %s: %v\n%s%s", strings.Join(args, " "), err, out, errs.String())
	}
	return string(out)
}

// Stop stops the gateway as an operator does, and expects exit code 0.
func (n *Node) Stop() {
	n.T.Helper()
	if err := n.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		n.T.Fatal(err)
	}
	n.AwaitExit()
}

// AwaitExit waits until the gateway has ended, and expects exit code 0.
func (n *Node) AwaitExit() {
	n.T.Helper()
	select {
	case <-n.exited:
	case <-time.After(StopLimit):
		n.T.Fatal("the gateway does not end")
	}
	if code := n.Cmd.ProcessState.ExitCode(); code != 0 {
		n.T.Errorf("exit code %d, want 0", code)
	}
}

// Runs reports whether the gateway is running.
func (n *Node) Runs() bool {
	select {
	case <-n.exited:
		return false
	default:
		return true
	}
}

// Kill ends the gateway at once, like a crash. It does nothing if the gateway has ended.
func (n *Node) Kill() {
	if n.Cmd == nil {
		return
	}
	_ = n.Cmd.Process.Kill()
	<-n.exited
}

// AwaitLog waits for a log line that contains all parts.
func (n *Node) AwaitLog(parts ...string) {
	n.T.Helper()
	Eventually(n.T, WaitLimit, fmt.Sprintf("a log line with %q", parts), func() error {
		if n.Logged(parts...) {
			return nil
		}
		return errors.New("there is none")
	})
}

// Logged reports whether a log line contains all parts.
func (n *Node) Logged(parts ...string) bool {
	for line := range strings.Lines(n.Logs.String()) {
		if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
			return true
		}
	}
	return false
}

// Trusting returns a client that trusts the node's own certificate authority and uses HTTP/2.
func (n *Node) Trusting() *http.Client {
	n.T.Helper()
	pool := x509.NewCertPool()
	Eventually(n.T, WaitLimit, "a root certificate", func() error {
		text, err := os.ReadFile(n.Path("data", "caddy", "pki", "authorities", "local", "root.crt"))
		if err == nil && !pool.AppendCertsFromPEM(text) {
			err = errors.New("no certificate in it")
		}
		return err
	})
	transport := &http.Transport{
		ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
	}
	n.T.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport, Timeout: time.Minute}
	n.clients = append(n.clients, client)
	return client
}

// Output collects the output of a process.
type Output struct {
	mu   sync.Mutex // guards text, which the process extends while the test reads it
	text bytes.Buffer
}

func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// Tail returns the last n bytes of the output.
func (o *Output) Tail(n int) string {
	text := o.String()
	return text[max(0, len(text)-n):]
}

// Eventually calls try until it returns nil, and fails the test after limit. description completes "waited until".
func Eventually(t *testing.T, limit time.Duration, description string, try func() error) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited %s until %s: %v", limit, description, err)
		}
		time.Sleep(poll)
	}
}

// FreePort returns a port on which nobody listens, for this test alone.
func FreePort(t *testing.T) string {
	t.Helper()
	return testenv.FreePort(t)
}

// supervise is a shell script. When its input ends, it kills the processes that were started and have not ended. Its
// input ends with the test process, even if that is killed.
const supervise = `
trap '' INT TERM HUP
pids=' '
while read -r verb pid; do
	case $verb in
	add) pids="$pids$pid " ;;
	del) pids="${pids%% $pid *} ${pids#* $pid }" ;;
	esac
done
for pid in $pids; do kill -9 "$pid" 2>/dev/null; done
`

// guard starts the script supervise, and returns its input.
var guard = sync.OnceValue(func() io.Writer {
	cmd := exec.CommandContext(context.Background(), "sh", "-c", supervise)
	input, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		panic(err)
	}
	return input
})

// guardMu is held while a line is written to the guard, because tests run in parallel.
var guardMu sync.Mutex

// Watch informs the guard (see supervise) that a process was started or, if runs is false, has ended.
func Watch(pid int, runs bool) {
	guardMu.Lock()
	defer guardMu.Unlock()
	verb := "del"
	if runs {
		verb = "add"
	}
	if _, err := fmt.Fprintln(guard(), verb, pid); err != nil {
		panic(err)
	}
}
