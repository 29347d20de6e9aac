package apierrors

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/caddyauth"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/fileserver"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/requestbody"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"
	_ "github.com/caddyserver/caddy/v2/modules/filestorage"
	_ "github.com/caddyserver/caddy/v2/modules/logging"

	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// site is a template for the storage folder, the port, the upstream, a port without a server, and the files.
const site = `
{
	admin off
	persist_config off
	auto_https off
	storage file_system %q
	order api_errors before request_body
	log {
		output discard
	}
}
http://127.0.0.1:%s {
	bind 127.0.0.1
	handle /chat/* {
		api_errors chat_completions
		request_body {
			max_size 16
		}
		reverse_proxy %[3]s {
			transport http {
				response_header_timeout 200ms
			}
		}
	}
	handle /dead/* {
		api_errors messages
		reverse_proxy 127.0.0.1:%[4]s
	}
	handle_path /files/* {
		api_errors problem
		root * %[5]q
		file_server
	}
	handle /private/* {
		api_errors board
		basic_auth {
			anna $2a$14$Zkx19XLiW6VYouLHR5NmfOFU0z2GTNmpkT/5qqR7hx4IjWJPDhjvG
		}
		respond secret
	}
	handle /nested/* {
		api_errors answer
		handle /nested/cms/* {
			api_errors cms
			error "text of the site's author" 405
		}
		error "text of the site's author" 405
	}
	handle /mixed/* {
		@inner path /mixed/cms/*
		api_errors answer {
			cms @inner
			problem /mixed/problem
		}
		error "text of the site's author" 405
	}
	handle /bug {
		api_errors answer
		error "author"
	}
	handle /nobody/* {
		api_errors problem
		route {
			header X-Y z
		}
	}
	handle /quiet {
		api_errors problem
		respond 200
	}
	handle /good {
		api_errors messages
		respond {http.tollgate.request_id}
	}
}
`

// TestUnderCaddy checks the directive in front of Caddy's own handlers.
func TestUnderCaddy(t *testing.T) {
	release := make(chan struct{})
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Request-Id", "of the upstream")
		switch r.URL.Path {
		case "/chat/slow":
			select {
			case <-release:
			case <-r.Context().Done():
			}
		case "/chat/stream":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: one\n\n")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		case "/chat/teapot":
			w.WriteHeader(http.StatusTeapot)
			_, _ = io.WriteString(w, "the upstream's own words")
		default:
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(w, r.Header.Get("X-Request-Id"))
		}
	}))
	defer upstream.Close()
	defer close(release)

	files := t.TempDir()
	if err := os.WriteFile(filepath.Join(files, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	port := testenv.FreePort(t)
	run(t, fmt.Sprintf(site, t.TempDir(), port, upstream.Listener.Addr(), testenv.FreePort(t), files))
	base := fmt.Sprintf("http://127.0.0.1:%s", port)

	tests := []struct {
		name, method, path, body string
		status                   int
		contentType              string
		wants                    []string // in the body; {id} is the request id
	}{
		{"no upstream", "POST", "/dead/x", "", 502, "application/json", []string{`"type":"api_error"`, `"the upstream did not answer"`, `"request_id":"{id}"`}},
		{"slow upstream", "GET", "/chat/slow", "", 504, "application/json", []string{`"code":"upstream_timeout"`}},
		{"announced body too large", "POST", "/chat/x", strings.Repeat("x", 17), 413, "application/json", []string{`"code":"request_too_large"`, `larger than 16 bytes`}},
		{"chunked body too large", "POST", "/chat/x", "chunked", 413, "application/json", []string{`"code":"request_too_large"`}},
		{"good", "POST", "/chat/x", "small", 200, "text/plain; charset=utf-8", []string{"{id}"}},
		{"error of the upstream", "GET", "/chat/teapot", "", 418, "text/plain; charset=utf-8", []string{"the upstream's own words"}},
		{"no file", "GET", "/files/secret", "", 404, "application/problem+json", []string{`"title":"Not Found","status":404`, `"request_id":"{id}"`}},
		{"no such method", "POST", "/files/x", "", 405, "application/problem+json", []string{`"status":405`}},
		{"no credentials", "GET", "/private/x", "", 401, "application/json; charset=utf-8", []string{`"code":"unauthenticated"`, `"requestId":"{id}"`}},
		{"outer format", "GET", "/nested/x", "", 405, "application/json", []string{`{"success":false,"error":"MethodNotAllowed","result":null}`}},
		{"inner format", "GET", "/nested/cms/x", "", 405, "application/json; charset=utf-8", []string{`{"error":"this address does not answer this method"}`}},
		{"format of no matcher", "GET", "/mixed/x", "", 405, "application/json", []string{`{"success":false,"error":"MethodNotAllowed","result":null}`}},
		{"format of a named matcher", "GET", "/mixed/cms/x", "", 405, "application/json; charset=utf-8", []string{`{"error":"this address does not answer this method"}`}},
		{"format of a path", "GET", "/mixed/problem", "", 405, "application/problem+json", []string{`"status":405`}},
		{"no status", "GET", "/bug", "", 500, "application/json", []string{`"InternalError"`}},
		{"nobody takes it", "POST", "/nobody/x", "small", 404, "application/problem+json", []string{`"status":404`, `"there is nothing at this address"`}},
		{"nobody takes it, read", "GET", "/nobody/x", "", 404, "application/problem+json", []string{`"status":404`}},
		{"empty on purpose", "POST", "/quiet", "", 200, "", nil},
		{"placeholder", "GET", "/good", "", 200, "text/plain; charset=utf-8", []string{"{id}"}},
	}
	client := &http.Client{Timeout: 10 * time.Second}
	for _, tt := range tests {
		var body io.Reader = strings.NewReader(tt.body)
		if tt.body == "chunked" {
			body = io.MultiReader(strings.NewReader(strings.Repeat("x", 40)))
		}
		req, err := http.NewRequestWithContext(t.Context(), tt.method, base+tt.path, body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Request-Id", "of the client")
		req.Header.Set("Connection", "keep-alive, X-Request-Id")
		resp, err := client.Do(req)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		ids := resp.Header.Values("X-Request-Id")
		if len(ids) != 1 || !idPattern.MatchString(ids[0]) {
			t.Fatalf("%s: ids %q", tt.name, ids)
		}
		if resp.StatusCode != tt.status || resp.Header.Get("Content-Type") != tt.contentType {
			t.Errorf("%s: %d %s %s", tt.name, resp.StatusCode, resp.Header.Get("Content-Type"), got)
		}
		for _, want := range tt.wants {
			if want = strings.ReplaceAll(want, "{id}", ids[0]); !strings.Contains(string(got), want) {
				t.Errorf("%s: no %s in %s", tt.name, want, got)
			}
		}
		for _, secret := range []string{files, "127.0.0.1", "author"} {
			if strings.Contains(string(got), secret) {
				t.Errorf("%s: %q in %s", tt.name, secret, got)
			}
		}
		if strings.Contains(tt.contentType, "json") && !json.Valid(got) {
			t.Errorf("%s: %s", tt.name, got)
		}
		if tt.name == "no credentials" && resp.Header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s: no challenge", tt.name)
		}
		if tt.name == "no such method" && resp.Header.Get("Allow") == "" {
			t.Errorf("%s: no Allow", tt.name)
		}
	}

	t.Run("broken stream", func(t *testing.T) {
		resp, err := client.Get(base + "/chat/stream") //nolint:noctx // the client has a timeout
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var lines []string
		scanner := bufio.NewScanner(resp.Body)
		for scanner.Scan() {
			lines = append(lines, scanner.Text())
		}
		if resp.StatusCode != 200 || strings.Join(lines, "|") != "data: one|" || scanner.Err() == nil {
			t.Errorf("%d %q, error %v", resp.StatusCode, lines, scanner.Err())
		}
	})
}

// TestAdapt checks the directive's place in a config and its errors there.
func TestAdapt(t *testing.T) {
	adapter := caddyfile.Adapter{ServerType: httpcaddyfile.ServerType{}}
	adapt := func(text string) (string, error) {
		out, _, err := adapter.Adapt([]byte(text), map[string]any{"filename": "Caddyfile"})
		return string(out), err
	}
	got, err := adapt(":80 {\n\troute {\n\t\tapi_errors /v1/* responses\n\t}\n}\n")
	want := `"handle":[{"handler":"subroute","routes":[{"handle":[{"format":"responses","handler":"api_errors"}],"match":[{"path":["/v1/*"]}]}]}]`
	if err != nil || !strings.Contains(got, want) {
		t.Errorf("got %s, error %v", got, err)
	}
	if _, err := adapt(":80 {\n\troute {\n\t\tapi_errors soap\n\t}\n}\n"); err == nil ||
		!strings.Contains(err.Error(), `unknown format "soap"`) || !strings.Contains(err.Error(), "Caddyfile:3") {
		t.Errorf("error %v", err)
	}
}

// run starts Caddy with a Caddyfile and stops it with the test.
func run(t *testing.T, text string) {
	t.Helper()
	cfg, warnings, err := caddyfile.Adapter{ServerType: httpcaddyfile.ServerType{}}.Adapt([]byte(text), nil)
	if err != nil {
		t.Fatalf("adapting: %v (%v)", err, warnings)
	}
	if err := caddy.Load(cfg, true); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := caddy.Stop(); err != nil {
			t.Error(err)
		}
	})
}
