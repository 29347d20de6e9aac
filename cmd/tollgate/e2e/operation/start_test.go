package operation

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// throughDoor returns a DSN that leads to the database of dsn through a proxy. The proxy calls admit for each new
// connection, which may take its time, and closes the connection if admit returns false.
func throughDoor(t *testing.T, dsn string, admit func() bool) string {
	t.Helper()
	target, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	address := target.Host
	door, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = door.Close() })
	go func() {
		for {
			client, err := door.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = client.Close() }()
				if !admit() {
					return
				}
				server, err := new(net.Dialer).DialContext(e2e.BackgroundContext, "tcp", address)
				if err != nil {
					return
				}
				go func() {
					_, _ = io.Copy(server, client)
					_ = server.Close()
				}()
				_, _ = io.Copy(client, server)
			}()
		}
	}()
	target.Host = door.Addr().String()
	return target.String()
}

// asked sends requests like a load balancer without health checks: to one node after the other, skipping nodes that do
// not listen.
type asked struct {
	ok, refused, unavailable, others atomic.Int64
	last                             atomic.Value // the last unexpected answer
}

func (a *asked) run(done <-chan struct{}, key string, bases ...string) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	for i := 0; ; i++ {
		select {
		case <-done:
			return
		case <-time.After(5 * time.Millisecond):
		}
		request, err := http.NewRequestWithContext(e2e.BackgroundContext, http.MethodGet, bases[i%len(bases)]+"/v1/models", nil)
		if err != nil {
			a.last.Store(err.Error())
			a.others.Add(1)
			return
		}
		request.Header.Set("Authorization", "Bearer "+key)
		response, err := client.Do(request)
		switch {
		case errors.Is(err, syscall.ECONNREFUSED):
			a.refused.Add(1)
		case err != nil && e2e.Unanswered(err): // the node has just stopped listening
		case err != nil:
			a.last.Store(err.Error())
			a.others.Add(1)
		default:
			text, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			switch response.StatusCode {
			case http.StatusOK:
				a.ok.Add(1)
			case http.StatusServiceUnavailable:
				a.last.Store(string(text))
				a.unavailable.Add(1)
			default:
				a.last.Store(response.Status + " " + string(text))
				a.others.Add(1)
			}
		}
	}
}

// TestStartWaitsForDatabase checks that a node whose database server starts later begins to listen when it can serve,
// and not before.
func TestStartWaitsForDatabase(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	pg := testenv.Postgres(t)
	key := e2e.AddUser(t, e2e.Administration(t, pg.DSN()), "ada", up, e2e.Script("text", "ok"))
	var first atomic.Int64
	n := clusterNode(t, throughDoor(t, pg.DSN(), func() bool {
		now := time.Now().UnixNano()
		first.CompareAndSwap(0, now)
		return now-first.Load() > int64(2*time.Second)
	}), testenv.Redis(t).URL())
	seen, done, finished := new(asked), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(finished)
		seen.run(done, key, n.Base)
	}()
	n.Start()
	n.Ready()
	e2e.Eventually(t, e2e.WaitLimit, "a request succeeds", func() error {
		if seen.ok.Load() == 0 {
			return errors.New("none has")
		}
		return nil
	})
	close(done)
	<-finished
	if seen.unavailable.Load() > 0 || seen.others.Load() > 0 || seen.refused.Load() == 0 {
		t.Errorf("refused %d, 503 %d, others %d: %v", seen.refused.Load(), seen.unavailable.Load(), seen.others.Load(), seen.last.Load())
	}
	n.Stop()
}

// TestStartWithoutDatabase checks that a node whose database server does not start listens after start_wait, and is not
// ready until the database is available.
func TestStartWithoutDatabase(t *testing.T) {
	t.Parallel()
	pg := testenv.Postgres(t)
	var open atomic.Bool
	n := clusterNode(t, throughDoor(t, pg.DSN(), open.Load), testenv.Redis(t).URL())
	n.Configure(e2e.Swap(t, n.Config, "\ttollgate {\n", "\ttollgate {\n\t\tstart_wait 1s\n"))
	begun := time.Now()
	n.Start()
	if took := time.Since(begun); took < time.Second {
		t.Errorf("the node listens after %v", took)
	}
	if a := e2e.Get(t, e2e.Client, n.Base+"/readyz", ""); a.Status != http.StatusServiceUnavailable || !strings.Contains(a.Body, `"database":"unavailable"`) {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	open.Store(true)
	n.Ready()
	n.Stop()
}

// TestRollingRestartWithoutChecks restarts three nodes behind a load balancer without health checks. Connections to
// their database are slow to open. No node that starts answers 503.
func TestRollingRestartWithoutChecks(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	pg, redis := testenv.Postgres(t), testenv.Redis(t)
	key := e2e.AddUser(t, e2e.Administration(t, pg.DSN()), "ada", up, e2e.Script("text", "ok"))
	dsn := throughDoor(t, pg.DSN(), func() bool {
		time.Sleep(100 * time.Millisecond)
		return true
	})
	nodes, bases := make([]*e2e.Gateway, 0, 3), make([]string, 0, 3)
	for range 3 {
		n := clusterNode(t, dsn, redis.URL())
		n.Configure(e2e.Swap(t, n.Config, "shutdown_delay 8s", "shutdown_delay 1s"))
		n.Start()
		n.Ready()
		nodes, bases = append(nodes, n), append(bases, n.Base)
	}
	seen, done, finished := new(asked), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(finished)
		seen.run(done, key, bases...)
	}()
	for range 2 {
		for _, n := range nodes {
			if err := n.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			n.AwaitExit()
			n.Start()
			n.Ready()
		}
	}
	close(done)
	<-finished
	if seen.unavailable.Load() > 0 || seen.others.Load() > 0 {
		t.Errorf("503 %d, others %d: %v", seen.unavailable.Load(), seen.others.Load(), seen.last.Load())
	}
	t.Logf("%d succeeded, %d were refused by a stopped node", seen.ok.Load(), seen.refused.Load())
	for _, n := range nodes {
		n.Stop()
	}
}
