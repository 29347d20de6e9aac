package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const (
	startLimit = 2 * time.Minute // until a process serves; machines under load are slow
	stopLimit  = 2 * time.Minute
	waitLimit  = 2 * time.Minute // for what must come by itself
	poll       = 10 * time.Millisecond
)

// node is one running gateway with a working directory of its own.
type node struct {
	t    *testing.T
	dir  string
	env  []string
	args []string // behind run; nil: --config Caddyfile
	logs *output  // standard error
	out  *output  // standard output

	cmd    *exec.Cmd
	exited chan struct{}
}

// newNode makes the working directory with config as its Caddyfile. env adds
// to the variables of the process, which inherits none of ours.
func newNode(t *testing.T, config string, env ...string) *node {
	t.Helper()
	// Short, because the path of a socket may have 104 characters at most.
	dir, err := os.MkdirTemp("", "tg-")
	if err != nil {
		t.Fatal(err)
	}
	n := &node{t: t, dir: dir, env: append(environment(dir), env...), logs: new(output), out: new(output)}
	if err := os.Mkdir(n.path("data"), 0o700); err != nil {
		t.Fatal(err)
	}
	n.configure(config)
	t.Cleanup(func() {
		n.kill()
		if t.Failed() {
			t.Logf("log of the gateway:\n%s", n.logs.tail(8<<10))
		}
		if strings.Contains(n.logs.String(), "panic:") {
			t.Errorf("the gateway has panicked:\n%s", n.logs.tail(8<<10))
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return n
}

// environment is that of every program started here.
func environment(dir string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + os.TempDir(),
		"XDG_DATA_HOME=" + filepath.Join(dir, "xdg"), "XDG_CONFIG_HOME=" + filepath.Join(dir, "xdg"),
	}
}

func (n *node) path(parts ...string) string {
	return filepath.Join(append([]string{n.dir}, parts...)...)
}

func (n *node) configure(config string) {
	n.t.Helper()
	if err := os.WriteFile(n.path("Caddyfile"), []byte(config), 0o600); err != nil {
		n.t.Fatal(err)
	}
}

// start runs the gateway and waits until its configuration is loaded.
func (n *node) start() *node {
	n.t.Helper()
	_ = os.Remove(n.path("data", "admin.sock")) // of a process that was killed
	args := n.args
	if args == nil {
		args = []string{"--config", "Caddyfile"}
	}
	cmd := exec.CommandContext(context.Background(), binary, append([]string{"run"}, args...)...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = n.dir, n.env, n.out, n.logs
	if err := cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	watch(cmd.Process.Pid, true)
	n.cmd, n.exited = cmd, make(chan struct{})
	go func(exited chan struct{}) {
		_ = cmd.Wait()
		watch(cmd.Process.Pid, false)
		close(exited)
	}(n.exited)
	eventually(n.t, startLimit, "the gateway runs", func() error {
		select {
		case <-n.exited:
			n.t.Fatalf("the gateway has ended: %v\n%s", cmd.ProcessState, n.logs.tail(8<<10))
		default:
		}
		text, err := n.admin(http.MethodGet, "/config/", "", "")
		if err == nil && strings.TrimSpace(text) == "null" {
			err = errors.New("no configuration yet")
		}
		return err
	})
	return n
}

// admin uses the admin API on its socket.
func (n *node) admin(method, path, contentType, body string) (string, error) {
	client := &http.Client{Timeout: startLimit, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", n.path("data", "admin.sock"))
		},
	}}
	request, err := http.NewRequestWithContext(context.Background(), method, "http://admin"+path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
		request.Header.Set("Cache-Control", "must-revalidate") // load it also when it is the same
	}
	resp, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, text)
	}
	return string(text), err
}

// load loads a configuration through the admin API.
func (n *node) load(config string) {
	n.t.Helper()
	if _, err := n.admin(http.MethodPost, "/load", "text/caddyfile", config); err != nil {
		n.t.Fatal(err)
	}
	// Those to the servers before end with them, perhaps under a request.
	client.CloseIdleConnections()
}

// tool runs a command of the binary in the working directory and returns what
// it prints.
func (n *node) tool(args ...string) string {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), startLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir, cmd.Env = n.dir, n.env
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		n.t.Fatalf("tollgate %s: %v\n%s%s", strings.Join(args, " "), err, out, errs.String())
	}
	return string(out)
}

// stop ends the gateway as an operator does, and expects exit code 0.
func (n *node) stop() {
	n.t.Helper()
	if err := n.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		n.t.Fatal(err)
	}
	n.awaitExit()
}

func (n *node) awaitExit() {
	n.t.Helper()
	select {
	case <-n.exited:
	case <-time.After(stopLimit):
		n.t.Fatal("the gateway does not end")
	}
	if code := n.cmd.ProcessState.ExitCode(); code != 0 {
		n.t.Errorf("exit code %d", code)
	}
}

// kill ends the gateway at once, as a crash does. One that has ended stays so.
func (n *node) kill() {
	if n.cmd == nil {
		return
	}
	_ = n.cmd.Process.Kill()
	<-n.exited
}

// awaitLog waits for a log line that holds all parts.
func (n *node) awaitLog(parts ...string) {
	n.t.Helper()
	eventually(n.t, waitLimit, fmt.Sprintf("a log line with %q", parts), func() error {
		if n.logged(parts...) {
			return nil
		}
		return errors.New("there is none")
	})
}

func (n *node) logged(parts ...string) bool {
	for line := range strings.Lines(n.logs.String()) {
		all := true
		for _, part := range parts {
			all = all && strings.Contains(line, part)
		}
		if all {
			return true
		}
	}
	return false
}

// trusting is a client that trusts the node's own authority and speaks HTTP/2.
func (n *node) trusting() *http.Client {
	n.t.Helper()
	pool := x509.NewCertPool()
	eventually(n.t, waitLimit, "a root certificate", func() error {
		text, err := os.ReadFile(n.path("data", "caddy", "pki", "authorities", "local", "root.crt"))
		if err == nil && !pool.AppendCertsFromPEM(text) {
			err = errors.New("no certificate in it")
		}
		return err
	})
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	n.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: time.Minute}
}

// output collects what a process writes.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func (o *output) tail(n int) string {
	text := o.String()
	return text[max(0, len(text)-n):]
}

// eventually calls try until it returns nil.
func eventually(t *testing.T, limit time.Duration, what string, try func() error) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited %s until %s: %v", limit, what, err)
		}
		time.Sleep(poll)
	}
}

var nextPort = func() *atomic.Int64 {
	n := new(atomic.Int64)
	n.Store(15000 + rand.Int64N(10000))
	return n
}()

// freePort returns a port on which nobody listens, below those that the system
// gives to connections.
func freePort(t *testing.T) string {
	t.Helper()
	for range 1000 {
		port := strconv.FormatInt(nextPort.Add(1), 10)
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:"+port)
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		return port
	}
	t.Fatal("no port is free")
	return ""
}

// supervise kills what was started and not ended when its input ends, which it
// does with this process, in whatever way.
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

var guardMu sync.Mutex

// watch tells the guard that a process runs or has ended.
func watch(pid int, runs bool) {
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
