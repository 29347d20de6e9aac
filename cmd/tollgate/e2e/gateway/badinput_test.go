package gateway

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestBadInput checks that the sender of an invalid request gets a clear error in the format of the API, and that
// nothing is sent to a provider.
func TestBadInput(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	g := e2e.NewGateway(t, "")
	key := g.User("ada", up, e2e.Script("text", "ok"))
	revoked, err := g.CreateKey(t.Context(), "ada", keychain.KeyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.RevokeKey(t.Context(), "ada", revoked.ID); err != nil {
		t.Fatal(err)
	}
	const chat = "/v1/chat/completions"
	message := func(more string) string {
		return `{"model":"keychain-high","messages":[{"role":"user","content":"Hi"}]` + more + `}`
	}
	for name, test := range map[string]struct {
		method, path, body string
		key                string // empty: the valid key; "-": no key
		status             int
		code, param        string
	}{
		"broken json":     {body: `{"model":"keychain-high","messages":[`, status: 400, code: "invalid_json"},
		"no json":         {body: "model=keychain-high", status: 400, code: "invalid_json"},
		"empty":           {body: " ", status: 400, code: "invalid_json"},
		"two documents":   {body: message("") + message(""), status: 400, code: "invalid_json"},
		"array":           {body: `[1]`, status: 400, code: "invalid_json"},
		"not utf-8":       {body: "{\"model\":\"\xff\xfe\",\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}", status: 400, code: "invalid_json"},
		"deep nesting":    {body: message(`,"metadata":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)), status: 400, code: "invalid_json"},
		"no model":        {body: `{"messages":[{"role":"user","content":"Hi"}]}`, status: 400, code: "missing_required_parameter", param: "model"},
		"no messages":     {body: `{"model":"keychain-high"}`, status: 400, code: "missing_required_parameter", param: "messages"},
		"model type":      {body: `{"model":7,"messages":[]}`, status: 400, code: "invalid_value", param: "model"},
		"messages type":   {body: `{"model":"keychain-high","messages":"Hi"}`, status: 400, code: "invalid_value", param: "messages"},
		"stream type":     {body: message(`,"stream":"yes"`), status: 400, code: "invalid_value", param: "stream"},
		"max_tokens type": {body: message(`,"max_tokens":"many"`), status: 400, code: "invalid_value", param: "max_tokens"},
		"tools type":      {body: message(`,"tools":{}`), status: 400, code: "invalid_value", param: "tools"},
		"duplicate key":   {body: message(`,"model":"own/1"`), status: 400, code: "invalid_value", param: "model"},
		"unknown model":   {body: `{"model":"gpt-99","messages":[{"role":"user","content":"Hi"}]}`, status: 404, code: "model_not_found", param: "model"},
		"no key":          {key: "-", body: message(""), status: 401, code: "invalid_api_key"},
		"unknown key":     {key: "ak-" + strings.Repeat("x", 40), body: message(""), status: 401, code: "invalid_api_key"},
		"long key":        {key: "ak-" + strings.Repeat("x", 4000), body: message(""), status: 401, code: "invalid_api_key"},
		"revoked key":     {key: revoked.Key, body: message(""), status: 401, code: "invalid_api_key"},
		"wrong method":    {method: "GET", path: chat, status: 405, code: "method_not_allowed"},
		"put":             {method: "PUT", path: chat, body: message(""), status: 405, code: "method_not_allowed"},
		"models by post":  {method: "POST", path: "/v1/models", body: "{}", status: 405, code: "method_not_allowed"},
		"unknown path":    {method: "POST", path: "/v1/fine_tuning/jobs", body: "{}", status: 404, code: "not_found"},
		"no text":         {method: "POST", path: "/v1/embeddings", body: `{"model":"own/1"}`, status: 400, code: "missing_required_parameter", param: "input"},
		"vectors by get":  {method: "GET", path: "/v1/embeddings", status: 405, code: "method_not_allowed"},
		"path outside":    {method: "POST", path: "/chat/completions", body: message(""), status: 404, code: "not_found"},
		"base URL twice":  {method: "POST", path: "/v1/v1/chat/completions", body: message(""), status: 404, code: "not_found"},
		"health by post":  {method: "POST", path: "/health", body: "{}", key: "-", status: 405, code: "method_not_allowed"},
		"unknown entry":   {method: "GET", path: "/v1/models/own/9", status: 404, code: "model_not_found"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			method, path, credential := test.method, test.path, test.key
			if method == "" {
				method, path = http.MethodPost, chat
			}
			switch credential {
			case "":
				credential = key
			case "-":
				credential = ""
			}
			a := e2e.Do(t, e2e.Client, method, g.Base+path, credential, test.body)
			f := a.Refused(t, test.status, test.code)
			param := ""
			if f.Error.Param != nil {
				param = *f.Error.Param
			}
			if param != test.param {
				t.Errorf("param %q, want %q: %s", param, test.param, a.Body)
			}
			kind := map[int]string{400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error", 405: "invalid_request_error"}[test.status]
			if f.Error.Type != kind {
				t.Errorf("type %q, want %q", f.Error.Type, kind)
			}
			if test.status == 405 && a.Header.Get("Allow") == "" {
				t.Error("a 405 without Allow")
			}
			if test.status == 401 && (a.Header.Get("WWW-Authenticate") == "" || (credential != "" && strings.Contains(a.Body, credential))) {
				t.Errorf("401: %v %s", a.Header, a.Body)
			}
			if (strings.HasPrefix(test.path, "/v1/v1") || strings.HasPrefix(test.path, "/chat")) && !strings.Contains(f.Error.Message, "base URL") {
				t.Errorf("no hint: %s", f.Error.Message)
			}
		})
	}
	t.Cleanup(func() { // after the parallel tests
		if n := len(up.Models()); n != 0 {
			t.Errorf("a provider was asked %d times", n)
		}
	})
}

// TestLargeBody checks that a body of more than 32 MB is refused: unread if its length is declared, and before its end
// if it is chunked.
func TestLargeBody(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	g := e2e.NewGateway(t, "")
	key := g.User("ada", up, e2e.Script("text", "ok"))
	head := func(more string) string {
		return "POST /v1/chat/completions HTTP/1.1\r\nHost: " + strings.TrimPrefix(g.Base, "http://") + "\r\nAuthorization: Bearer " + key +
			"\r\nContent-Type: application/json\r\n" + more + "\r\n\r\n"
	}
	t.Run("length", func(t *testing.T) {
		t.Parallel()
		// net/http reads 256 KB of a refused body. The other bytes that count as sent here are in the buffers of the
		// system.
		a, count := raw(t, g.Base, head("Content-Length: 33000000"), bytes.Repeat([]byte(" "), 1<<16))
		a.Refused(t, 413, "request_too_large")
		if count > 16<<20 {
			t.Errorf("%d bytes were taken", count)
		}
	})
	t.Run("chunked", func(t *testing.T) {
		t.Parallel()
		chunk := []byte("10000\r\n" + strings.Repeat(" ", 1<<16) + "\r\n")
		a, count := raw(t, g.Base, head("Transfer-Encoding: chunked"), chunk)
		a.Refused(t, 413, "request_too_large")
		if count > 60<<20 {
			t.Errorf("%d bytes of an endless body were taken", count)
		}
	})
	t.Run("just below", func(t *testing.T) {
		t.Parallel()
		body := e2e.Prompt("keychain-high", false)
		body += strings.Repeat(" ", 31_900_000-len(body))
		if got := e2e.Ask(t.Context(), g.Base, key, body).Text(t); got != "ok" {
			t.Errorf("%q", got)
		}
	})
	t.Run("cut short", func(t *testing.T) {
		t.Parallel()
		// The client leaves in the middle of its body. No provider gets a request, and the gateway continues.
		conn := e2e.Dial(t, g.Base)
		if _, err := io.WriteString(conn, head("Content-Length: 5000")+`{"model":`); err != nil {
			t.Fatal(err)
		}
		_ = conn.Close()
		g.Healthy()
	})
}

// TestSmuggling checks that requests with ambiguous boundaries or credentials are refused, and that the bytes after
// such a request are never processed as an authorized request.
func TestSmuggling(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	g := e2e.NewGateway(t, "")
	key := g.User("ada", up, e2e.Script("text", "ok"))
	bob := g.User("bob", up)
	body := e2e.Prompt("keychain-high", false)
	start := "POST /v1/chat/completions HTTP/1.1\r\nHost: gateway.test\r\nContent-Type: application/json\r\n"
	host := strings.Replace(start, "gateway.test", strings.TrimPrefix(g.Base, "http://"), 1)
	auth := "Authorization: Bearer " + key + "\r\n"
	length := fmt.Sprintf("Content-Length: %d\r\n", len(body))
	for name, test := range map[string]struct {
		request string
		status  []int
	}{
		"chunked, then other": {host + auth + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", []int{400, 501}},
		"two lengths":         {host + auth + length + "Content-Length: 5\r\n\r\n" + body, []int{400}},
		"length with sign":    {host + auth + "Content-Length: +5\r\n\r\n12345", []int{400}},
		"space before colon":  {host + auth + "Content-Length : 5\r\n\r\n12345", []int{400}},
		"folded header":       {host + "Authorization:\r\n Bearer " + key + "\r\n" + length + "X: a\x00b\r\n\r\n" + body, []int{400}},
		"two hosts":           {host + "Host: other.test\r\n" + auth + length + "\r\n" + body, []int{400}},
		"huge header":         {host + auth + "X-Filler: " + strings.Repeat("a", 2<<20) + "\r\n\r\n", []int{400, 431}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := e2e.Dial(t, g.Base)
			go func() { _, _ = io.WriteString(conn, test.request) }()
			reader := bufio.NewReader(conn)
			resp, err := http.ReadResponse(reader, nil)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			ok := false
			for _, status := range test.status {
				ok = ok || resp.StatusCode == status
			}
			if !ok {
				t.Errorf("status %d, want one of %v: %s", resp.StatusCode, test.status, text)
			}
			if second, err := http.ReadResponse(reader, nil); err == nil {
				_ = second.Body.Close()
				t.Errorf("the bytes after the request were answered: %s", second.Status)
			}
		})
	}
	t.Run("length and chunked", func(t *testing.T) {
		t.Parallel()
		// net/http uses the chunks and ignores the length (RFC 9112, 6.3), so the body is empty. The bytes after it may
		// be read as a second request, which must not inherit the key of the first.
		conn := e2e.Dial(t, g.Base)
		_, err := io.WriteString(conn, host+auth+length+"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"+host+length+"\r\n"+body)
		if err != nil {
			t.Fatal(err)
		}
		reader := bufio.NewReader(conn)
		e2e.Read(http.ReadResponse(reader, nil)).Refused(t, 400, "invalid_json") //nolint:bodyclose // read does
		if second, err := http.ReadResponse(reader, nil); err == nil {           //nolint:bodyclose // read does
			e2e.Read(second, nil).Refused(t, 401, "invalid_api_key")
		}
	})
	t.Run("two credentials", func(t *testing.T) {
		t.Parallel()
		two := func(first, second string) *e2e.Answer {
			a, _ := raw(t, g.Base, host+"Connection: close\r\n"+first+second+length+"\r\n"+body, nil)
			return a
		}
		bobs, wrong := "Authorization: Bearer "+bob+"\r\n", "Authorization: Bearer ak-wrong\r\n"
		// If a header is repeated, another server might use another of the values.
		for _, pair := range [][2]string{
			{auth, bobs},
			{auth, auth},
			{wrong, auth},
			{auth, "Authorization: Basic dTpw\r\n"},
			{"x-api-key: " + key + "\r\n", "X-Api-Key: " + key + "\r\n"},
			{"x-api-key: " + key + "\r\n", "x-api-key: ak-wrong\r\n"},
		} {
			two(pair[0], pair[1]).Refused(t, 401, "invalid_api_key")
		}
		// If there is an Authorization header, x-api-key is ignored.
		two("Authorization: Basic dTpw\r\n", "x-api-key: "+key+"\r\n").Refused(t, 401, "invalid_api_key")
		two(wrong, "x-api-key: "+key+"\r\n").Refused(t, 401, "invalid_api_key")
		// Bob has no models, so his key gives 400.
		two(bobs, "x-api-key: "+key+"\r\n").Refused(t, 400, "no_provider_keys")
		for _, alone := range []string{"x-api-key: " + key + "\r\n", "authorization:   bearer   " + key + "  \r\n"} {
			if a := two(alone, ""); a.Text(t) != "ok" {
				t.Errorf("%q: %d", alone, a.Status)
			}
		}
	})
}

// raw sends head, then chunk repeatedly until there is an answer. It returns the answer and the number of bytes of
// chunks that were sent.
func raw(t *testing.T, base, head string, chunk []byte) (a *e2e.Answer, count int64) {
	t.Helper()
	conn := e2e.Dial(t, base)
	if _, err := io.WriteString(conn, head); err != nil {
		t.Fatal(err)
	}
	answered, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for chunk != nil && answered.Err() == nil {
			n, err := io.Copy(conn, bytes.NewReader(chunk))
			count += n
			if err != nil {
				return
			}
		}
	}()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil) //nolint:bodyclose // read does
	cancel()
	a = e2e.Read(resp, err)
	if errors.Is(a.Err, io.ErrUnexpectedEOF) {
		t.Errorf("the answer breaks off: %q", a.Body)
	}
	_ = conn.SetDeadline(time.Now()) // interrupts a write that blocks
	<-done
	return a, count
}
