package translate

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"
	_ "github.com/caddyserver/caddy/v2/modules/filestorage"
	_ "github.com/caddyserver/caddy/v2/modules/logging"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/messages"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
	"github.com/tollgate-gateway/tollgate/modules/body"
)

const (
	refusal = `{"error":{"message":"no","type":"t","code":"invalid_api_key"}}`
	answer  = `{"choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}]}`
)

// answers writes the response of a server.
func answers(w http.ResponseWriter, status int) error {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	text := answer
	if status >= 300 {
		text = refusal
	}
	_, err := io.WriteString(w, text)
	return err
}

// wantRefused checks that err is the server's refusal.
func wantRefused(t *testing.T, w *httptest.ResponseRecorder, err error) {
	t.Helper()
	e, ok := apierror.From(err)
	if !ok || e.Status != http.StatusUnauthorized || e.Code != "invalid_api_key" || w.Body.Len() > 0 {
		t.Errorf("error %v, body %q, want the server's refusal", err, w.Body)
	}
}

func wantMessage(t *testing.T, w *httptest.ResponseRecorder, err error) {
	t.Helper()
	if err != nil || !strings.Contains(w.Body.String(), `"type":"message"`) {
		t.Errorf("error %v, body %q, want a message", err, w.Body)
	}
}

// TestTranslateEarlyAnswer checks a server that answers while another goroutine reads the client's body, as the
// transports of net/http do.
func TestTranslateEarlyAnswer(t *testing.T) {
	t.Parallel()
	half := len(hello) / 2
	for status, want := range map[int]func(*testing.T, *httptest.ResponseRecorder, error){
		http.StatusUnauthorized: wantRefused,
		http.StatusOK:           wantMessage,
	} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			in, out := io.Pipe()
			read := make(chan error, 1)
			begun := make(chan struct{})
			rest := func() { _, _ = io.WriteString(out, hello[half:]+"}"); _ = out.Close() }
			next := func(w http.ResponseWriter, r *http.Request) error {
				go func() {
					_, err := io.Copy(io.Discard, r.Body)
					read <- err
				}()
				<-begun
				if status < 300 {
					go rest()
				}
				return answers(w, status)
			}
			go func() {
				_, _ = io.WriteString(out, hello[:half]) // returns once the half was read
				close(begun)
			}()
			w, err := sendBody(t, "translate messages", "/v1/messages", in, next)
			want(t, w, err)
			if status >= 300 {
				rest()
			}
			if err := <-read; err != nil {
				t.Error(err)
			}
		})
	}
}

// TestTranslateUnreadBody checks a server that answers before the body was read.
func TestTranslateUnreadBody(t *testing.T) {
	t.Parallel()
	next := func(status int, closes, proxied bool) caddyhttp.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) error {
			if closes {
				if err := r.Body.Close(); err != nil {
					return err
				}
			}
			if repl, ok := r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer); ok && proxied {
				repl.Set("http.reverse_proxy.status_code", status)
			}
			return answers(w, status)
		}
	}
	for name, test := range map[string]struct {
		next caddyhttp.HandlerFunc
		want func(*testing.T, *httptest.ResponseRecorder, error)
	}{
		"closed, refused":    {next(401, true, false), wantRefused},
		"closed, answered":   {next(200, true, false), wantMessage},
		"proxied, refused":   {next(401, false, true), wantRefused},
		"proxied, answered":  {next(200, false, true), wantMessage},
		"neither, refused":   {next(401, false, false), wantUntouched(401, refusal)},
		"neither, answered":  {next(200, false, false), wantUntouched(200, answer)},
		"sent to a login":    {next(302, false, true), wantUntouched(302, refusal)},
		"closed and no JSON": {next(200, true, false), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := hello + "}"
			if test.want == nil {
				body, test.want = hello, func(t *testing.T, w *httptest.ResponseRecorder, err error) {
					t.Helper()
					if e, ok := errors.AsType[caddyhttp.HandlerError](err); !ok || e.StatusCode != http.StatusBadRequest || w.Body.Len() > 0 {
						t.Errorf("error %v, body %q", err, w.Body)
					}
				}
			}
			w, err := sendBody(t, "translate messages", "/v1/messages", strings.NewReader(body), test.next)
			test.want(t, w, err)
		})
	}
}

// TestTranslateAfterRequestEnds checks that a conversion after the end of the request does not use memory that other
// requests get.
func TestTranslateAfterRequestEnds(t *testing.T) {
	t.Parallel()
	h := &Handler{Formats: []hub.Format{hub.Messages}}
	if err := h.Provision(caddy.Context{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Cleanup(); err != nil {
			t.Error(err)
		}
	})
	request := func(text string) *http.Request {
		return httptest.NewRequest(http.MethodPost, "/v1/messages", strings.NewReader(text))
	}
	text := hello + `,"system":"` + strings.Repeat("mine ", 200) + `"}`
	for range 100 {
		tr := &translation{handler: h, Offer: body.Offer{Request: request(text), Format: messages.Format{}}, client: httptest.NewRecorder()}
		tr.release()
		result := tr.convert()
		if result.err != nil {
			t.Fatal(result.err)
		}
		_, lease, err := body.Read(httptest.NewRecorder(), request(strings.Repeat("x", len(text))), nil, "")
		if err != nil {
			t.Fatal(err)
		}
		if string(result.request.Body) != text {
			t.Fatalf("the body belongs to another request: %.40s", result.request.Body)
		}
		lease.Give()
	}
}

func wantUntouched(status int, text string) func(*testing.T, *httptest.ResponseRecorder, error) {
	return func(t *testing.T, w *httptest.ResponseRecorder, err error) {
		t.Helper()
		if err != nil || w.Code != status || w.Body.String() != text {
			t.Errorf("error %v, status %d, body %q", err, w.Code, w.Body)
		}
	}
}

// TestTranslateServerAnswersEarly checks reverse_proxy between the client and a server that answers as soon as it has
// received the headers of the request.
func TestTranslateServerAnswersEarly(t *testing.T) {
	hasty, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer hasty.Close()
	go func() {
		for {
			conn, err := hasty.Accept()
			if err != nil {
				return
			}
			go refuseAtOnce(conn)
		}
	}()
	address := "127.0.0.1:" + testenv.FreePort(t)
	startCaddy(t, fmt.Sprintf(`{
	admin off
	persist_config off
	auto_https off
	storage file_system %q
	log {
		output discard
	}
}
http://%s {
	bind 127.0.0.1
	route {
		api_errors messages
		translate messages
		reverse_proxy %s
	}
}
`, t.TempDir(), address, hasty.Addr()))
	client := &http.Client{Timeout: 20 * time.Second}
	for size := range map[int]bool{10: true, 300_000: true, 3_000_000: true} {
		for range 5 {
			body := strings.Replace(hello, "Hi", strings.Repeat("x", size), 1) + "}"
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/v1/messages", io.MultiReader(strings.NewReader(body)))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := client.Do(r)
			if err != nil {
				t.Fatalf("%d bytes: %v", size, err)
			}
			text, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || resp.StatusCode != http.StatusUnauthorized || !strings.HasPrefix(string(text), `{"type":"error","error":{"type":"authentication_error","message":"no"}`) {
				t.Fatalf("%d bytes: error %v, status %d, body %s", size, err, resp.StatusCode, text)
			}
		}
	}
}

// refuseAtOnce reads the headers of a request, answers, and then reads the body.
func refuseAtOnce(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		if strings.TrimSpace(line) == "" {
			break
		}
	}
	if _, err := fmt.Fprintf(conn, "HTTP/1.1 401 Unauthorized\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(refusal), refusal); err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, in)
}

func startCaddy(t *testing.T, text string) {
	t.Helper()
	config, warnings, err := caddyfile.Adapter{ServerType: httpcaddyfile.ServerType{}}.Adapt([]byte(text), nil)
	if err != nil {
		t.Fatalf("adapting: %v (%v)", err, warnings)
	}
	if err := caddy.Load(config, true); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := caddy.Stop(); err != nil {
			t.Error(err)
		}
	})
}
