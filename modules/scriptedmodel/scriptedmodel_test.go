package scriptedmodel

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
)

func TestAdapt(t *testing.T) {
	t.Parallel()
	const wrong = "wrong argument count"
	tests := []struct{ directive, problem string }{
		{"scripted_model", ""},
		{"scripted_model /v1/*", ""},
		{"scripted_model * extra", wrong},
		{"scripted_model {\n status 500\n}", "unrecognized option status"},
	}
	for _, test := range tests {
		config := ":8080 {\n route {\n " + test.directive + "\n }\n}\n"
		got, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(config), nil)
		switch {
		case test.problem == "" && err != nil:
			t.Errorf("%s: %v", test.directive, err)
		case test.problem == "" && !strings.Contains(string(got), `"handle":[{"handler":"scripted_model"}]`):
			t.Errorf("%s: %s", test.directive, got)
		case test.problem != "" && (err == nil || !strings.Contains(err.Error(), test.problem)):
			t.Errorf("%s: error %v, want %q", test.directive, err, test.problem)
		}
	}
}

// newHandler creates the handler from a Caddyfile, as Caddy does.
func newHandler(t *testing.T) *Handler {
	t.Helper()
	info, err := caddy.GetModule("http.handlers.scripted_model")
	if err != nil {
		t.Fatal(err)
	}
	h, ok := info.New().(*Handler)
	if !ok {
		t.Fatalf("the module is a %T", info.New())
	}
	if err := h.UnmarshalCaddyfile(caddyfile.NewTestDispenser("scripted_model")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := caddy.NewContext(caddy.Context{Context: t.Context()})
	t.Cleanup(cancel)
	if err := h.Provision(ctx); err != nil {
		t.Fatal(err)
	}
	return h
}

const request = `{"model":"scripted?text=ok","messages":[{"role":"user","content":"x"}]}`

func TestHandler(t *testing.T) {
	t.Parallel()
	h := newHandler(t)
	rec := httptest.NewRecorder()
	err := h.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(request)), nil)
	if err != nil || rec.Code != http.StatusOK || !strings.Contains(rec.Body.String(), `"content":"ok"`) {
		t.Errorf("%d %s, error %v", rec.Code, rec.Body, err)
	}
	rec = httptest.NewRecorder()
	if err := h.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/nothing", nil), nil); err != nil || rec.Code != http.StatusNotFound {
		t.Errorf("%d, error %v", rec.Code, err)
	}
}

// running starts Run on a free port. It returns the address, a function that stops Run, and a channel that receives
// Run's result.
func running(t *testing.T) (base string, stop func(), ended <-chan error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- Run(ctx, "127.0.0.1:0", w) }()
	line := make([]byte, 200)
	n, err := r.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	_, base, ok := strings.Cut(strings.TrimSpace(string(line[:n])), "listens on ")
	if !ok || !strings.HasPrefix(base, "http://127.0.0.1:") || !strings.HasSuffix(base, "/v1") {
		t.Fatalf("it says %q", line[:n])
	}
	return base, cancel, done
}

func post(t *testing.T, base, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func TestRun(t *testing.T) {
	t.Parallel()
	base, stop, ended := running(t)
	resp := post(t, base, request)
	defer resp.Body.Close()
	var a struct{ Object string }
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil || a.Object != "chat.completion" {
		t.Errorf("%+v, error %v", a, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestRunFinishesAnswers stops Run in the middle of a stream and checks that the stream is completed.
func TestRunFinishesAnswers(t *testing.T) {
	t.Parallel()
	base, stop, ended := running(t)
	resp := post(t, base, `{"model":"scripted?text=a+b+c&chunk_delay=50ms","messages":[],"stream":true}`)
	defer resp.Body.Close()
	stop()
	all, err := io.ReadAll(resp.Body)
	if err != nil || !strings.HasSuffix(string(all), "data: [DONE]\n\n") {
		t.Errorf("%s, error %v", all, err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestRunCutsAnswers stops Run while an answer hangs and checks that the answer ends after the grace period.
func TestRunCutsAnswers(t *testing.T) {
	t.Parallel()
	base, stop, ended := running(t)
	resp := post(t, base, `{"model":"scripted?fault=stall","messages":[],"stream":true}`)
	defer resp.Body.Close()
	stop()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(grace + 20*time.Second):
		t.Fatal("it does not stop")
	}
}

func TestRunAddressTaken(t *testing.T) {
	t.Parallel()
	var config net.ListenConfig
	ln, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if err := Run(t.Context(), ln.Addr().String(), io.Discard); err == nil || !strings.Contains(err.Error(), "listening on 127.0.0.1:") {
		t.Errorf("error %v", err)
	}
}

func TestCommand(t *testing.T) {
	t.Parallel()
	cmd, ok := caddycmd.Commands()["scripted-model"]
	if !ok || cmd.CobraFunc == nil {
		t.Fatalf("the command is missing: %+v", cmd)
	}
}
