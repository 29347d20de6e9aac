package keys

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

type (
	flip     = authtest.Flip
	settings = authtest.Settings
)

// soon is how long to wait for an event that may not happen.
const soon = 3 * time.Second

// TestKeys changes every setting that acts outside the rooms of the authorization server. The test of the rooms changes
// the other settings.
func TestKeys(t *testing.T) {
	t.Parallel()
	authtest.Flips(t, true, flipsOfListeners, flipsOfStorage, flipsOfTelemetry)
}

// server is a server with settings, in a separate process.
type server struct {
	*e2e.Node
	t                     *testing.T
	publicPort, adminPort string
}

// run starts a server with settings, and waits until it is ready unless they change its address.
func run(t *testing.T, s settings, env ...string) *server {
	t.Helper()
	n := &server{t: t, publicPort: e2e.FreePort(t), adminPort: e2e.FreePort(t)}
	n.Node = e2e.NewNode(t, "", env...)
	n.Env = append(n.Env, "CADDY_ADMIN=unix/"+n.Path("data", "admin.sock"))
	n.Args = []string{"--config", "config.yaml", "--adapter", "authserver"}
	all := settings{
		"server.address": "127.0.0.1:" + n.publicPort, "server.issuer": "http://localhost:" + n.publicPort, "admin.address": "127.0.0.1:" + n.adminPort,
		"cimd.require_https": "false", "cimd.allow_private_addresses": "true", "rate_limit.enabled": "false",
	}
	if err := os.WriteFile(n.Path("config.yaml"), []byte(all.And(s).Text(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	n.Start()
	if s["server.address"] == "" {
		e2e.Eventually(t, e2e.StartLimit, "the server is ready", func() error {
			if a := n.get(n.publicPort, "/ready"); a.Err != nil || a.Status != http.StatusOK {
				return fmt.Errorf("%d %w", a.Status, a.Err)
			}
			return nil
		})
	}
	return n
}

// get requests a path at a port, at which nobody may listen.
func (n *server) get(port, path string) *e2e.Answer { return n.getBy(e2e.Client, port, path) }

func (n *server) getBy(client *http.Client, port, path string) *e2e.Answer {
	request, err := http.NewRequestWithContext(n.t.Context(), http.MethodGet, "http://127.0.0.1:"+port+path, nil)
	if err != nil {
		return &e2e.Answer{Err: err}
	}
	return e2e.Read(client.Do(request)) //nolint:bodyclose // Read does
}

// answers reports whether a server answers at a port.
func (n *server) answers(port, path string) string {
	n.t.Helper()
	deadline := time.Now().Add(soon)
	for {
		if a := n.get(port, path); a.Err == nil {
			return "true"
		}
		if time.Now().After(deadline) {
			return "false"
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// file reports whether there is a file in the folder of the server.
func (n *server) file(parts ...string) string {
	_, err := os.Stat(n.Path(parts...))
	return strconv.FormatBool(err == nil)
}

// dial connects to the public port and sends a text.
func (n *server) dial(text string) net.Conn {
	n.t.Helper()
	c, err := new(net.Dialer).DialContext(n.t.Context(), "tcp", "127.0.0.1:"+n.publicPort)
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { _ = c.Close() })
	if _, err := c.Write([]byte(text)); err != nil {
		n.t.Fatal(err)
	}
	return c
}

// left reports whether the server soon closes a connection.
func left(t *testing.T, c net.Conn) string {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(soon)); err != nil {
		t.Fatal(err)
	}
	for buffer := make([]byte, 4096); ; {
		if _, err := c.Read(buffer); err != nil {
			timeout, ok := err.(net.Error) //nolint:errorlint // of a connection
			return strconv.FormatBool(!ok || !timeout.Timeout())
		}
	}
}

// held sends a request that the server can answer only after another server has answered, which takes as long as long
// says.
func (n *server) held(long time.Duration) (answer chan *e2e.Answer, arrived chan struct{}) {
	n.t.Helper()
	arrived = make(chan struct{}, 10)
	var document *httptest.Server
	document = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		select {
		case <-time.After(long):
		case <-r.Context().Done():
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"client_id":"` + document.URL + `/c.json","client_name":"App","redirect_uris":["https://app.example/cb"]}`))
	}))
	n.t.Cleanup(document.Close)
	answer = make(chan *e2e.Answer, 1)
	client := &http.Client{Transport: new(http.Transport), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	n.t.Cleanup(client.CloseIdleConnections)
	go func() {
		answer <- n.getBy(client, n.publicPort, "/oauth/authorize?"+url.Values{
			"response_type": {"code"}, "client_id": {document.URL + "/c.json"}, "redirect_uri": {"https://app.example/cb"}, "scope": {"x"},
			"code_challenge": {strings.Repeat("v", 43)}, "code_challenge_method": {"S256"},
		}.Encode())
	}()
	return answer, arrived
}

// flipsOfListeners has the settings for the addresses of the server and its time limits.
var flipsOfListeners = map[string]flip{
	"server.address": {First: "one", Other: "two", Want: [2]string{"true false", "false true"}, See: func(t *testing.T, s settings) string {
		one, two := e2e.FreePort(t), e2e.FreePort(t)
		s["server.address"] = "127.0.0.1:" + map[string]string{"one": one, "two": two}[s["server.address"]]
		n := run(t, s)
		return n.answers(one, "/livez") + " " + n.answers(two, "/livez")
	}},
	"admin.address": {First: "one", Other: "two", Want: [2]string{"true false", "false true"}, See: func(t *testing.T, s settings) string {
		one, two := e2e.FreePort(t), e2e.FreePort(t)
		s["admin.address"] = "127.0.0.1:" + map[string]string{"one": one, "two": two}[s["admin.address"]]
		n := run(t, s)
		return n.answers(one, "/admin/stats") + " " + n.answers(two, "/admin/stats")
	}},
	"admin.enabled": {Other: "false", Want: [2]string{"true", "false"}, See: func(t *testing.T, s settings) string {
		n := run(t, s)
		return n.answers(n.adminPort, "/admin/stats")
	}},
	"server.read_timeout": {Other: "100ms", Want: [2]string{"false", "true"}, See: func(t *testing.T, s settings) string {
		return left(t, run(t, s).dial("GET /livez HTTP/1.1\r\nHo"))
	}},
	"server.idle_timeout": {Other: "100ms", Want: [2]string{"false", "true"}, See: func(t *testing.T, s settings) string {
		return left(t, run(t, s).dial("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"))
	}},
	"server.write_timeout": {Other: "100ms", Want: [2]string{"302", "0"}, See: func(t *testing.T, s settings) string {
		answer, _ := run(t, s).held(time.Second)
		return strconv.Itoa((<-answer).Status)
	}},
	"server.shutdown_wait": {Other: "100ms", Want: [2]string{"302", "0"}, See: func(t *testing.T, s settings) string {
		n := run(t, s)
		answer, arrived := n.held(7 * time.Second) // longer than a process without a wait takes to end
		<-arrived
		n.Stop()
		return strconv.Itoa((<-answer).Status)
	}},
}
