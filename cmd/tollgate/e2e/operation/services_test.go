package operation

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// services is a node with the gateway, a board and run events.
type services struct {
	*e2e.Node
	gateway, board, events string            // base URLs
	user, key              string            // a user's token and gateway key
	tokens                 map[string]string // of the board
}

func newServices(t *testing.T) *services {
	t.Helper()
	base := func() string { return "http://127.0.0.1:" + e2e.FreePort(t) }
	s := &services{gateway: base(), board: base(), events: base()}
	config := e2e.Shipped(t, "board", "{$TOLLGATE_DOMAIN:localhost}", s.board) +
		"\n" + s.gateway + " {\n\ttollgate gateway\n}\n" + s.events + " {\n\ttollgate events {\n\t\tsubmit any\n\t\tread any\n\t}\n}\n"
	s.Node = e2e.NewNode(t, config)
	fixture := e2e.Repo("backends/board/testdata/fixture.json")
	var made struct {
		Tokens []struct{ Name, Token string }
	}
	if err := json.Unmarshal([]byte(s.Tool("board", "seed", "--fixture", fixture, "--json")), &made); err != nil {
		t.Fatal(err)
	}
	s.tokens = make(map[string]string)
	for _, token := range made.Tokens {
		s.tokens[token.Name] = token.Token
	}
	s.Start()
	s.user = strings.TrimSpace(s.Tool("keychain", "token", "ada"))
	e2e.Eventually(t, e2e.StartLimit, "the gateway has a user", func() error {
		a := e2e.Do(t, e2e.Client, http.MethodPost, s.gateway+"/users/init", s.user, "")
		var user struct {
			Key struct {
				Key string `json:"key"`
			} `json:"key"`
		}
		if err := json.Unmarshal([]byte(a.Body), &user); err != nil || user.Key.Key == "" {
			return fmt.Errorf("%d %s", a.Status, a.Body)
		}
		s.key = user.Key.Key
		return nil
	})
	return s
}

// TestDeclaredTooLarge: a body that is said to be larger than a service takes is
// refused before it comes: nobody asks for it.
func TestDeclaredTooLarge(t *testing.T) {
	t.Parallel()
	s := newServices(t)
	const object, form = "application/json", "application/x-www-form-urlencoded"
	for name, c := range map[string]struct{ base, path, token, kind string }{
		"chat":              {s.gateway, "/v1/chat/completions", s.key, object},
		"messages":          {s.gateway, "/v1/messages", s.key, object},
		"responses":         {s.gateway, "/v1/responses", s.key, object},
		"counting":          {s.gateway, "/v1/messages/count_tokens", s.key, object},
		"management":        {s.gateway, "/users/ada/keychain-keys", s.user, object},
		"board":             {s.board, "/api/v1/forums/4/threads", s.tokens["alice"], object},
		"attachment":        {s.board, "/api/v1/threads/1/posts/1/attachments?name=a.txt", s.tokens["alice"], "text/plain"},
		"page":              {s.board, "/login", "", form},
		"command":           {s.events, "/store/cmd/v1", "", object},
		"query of events":   {s.events, "/store/query/v4/events", "", object},
		"query at the root": {s.events, "/store/query/v4", "", object},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := e2e.Dial(t, c.base)
			if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			token := ""
			if c.token != "" {
				token = "Authorization: Bearer " + c.token + "\r\n"
			}
			_, _ = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\nAccept: */*\r\n%sExpect: 100-continue\r\nContent-Length: 400000000\r\n\r\n",
				c.path, strings.TrimPrefix(c.base, "http://"), c.kind, token)
			in := bufio.NewReader(conn)
			line, err := in.ReadString('\n')
			if err != nil || !strings.HasPrefix(line, "HTTP/1.1 413 ") {
				rest, _ := io.ReadAll(io.LimitReader(in, 1000))
				t.Errorf("%q, %v\n%s", line, err, rest)
			}
		})
	}
}

// TestNoSniff: no answer of a service lets a browser guess what it is.
func TestNoSniff(t *testing.T) {
	t.Parallel()
	s := newServices(t)
	for _, c := range []struct{ base, token, method, path string }{
		{s.gateway, "", "GET", "/"},
		{s.gateway, "", "GET", "/health"},
		{s.gateway, "", "GET", "/models"},
		{s.gateway, "", "GET", "/openapi.json"},
		{s.gateway, "", "GET", "/docs"},
		{s.gateway, "", "GET", "/console"},
		{s.gateway, "", "GET", "/console/"},
		{s.gateway, "", "GET", "/console/nothing.js"},
		{s.gateway, s.key, "GET", "/v1/models"},
		{s.gateway, s.key, "POST", "/v1/chat/completions"},
		{s.gateway, "", "POST", "/v1/messages"},
		{s.gateway, s.key, "GET", "/v1/nothing"},
		{s.gateway, s.key, "POST", "/v1/messages/count_tokens"},
		{s.gateway, s.user, "GET", "/users/ada/keychain-keys"},
		{s.gateway, "", "GET", "/users/ada/keychain-keys"},
		{s.board, "", "GET", "/"},
		{s.board, "", "GET", "/nothing"},
		{s.board, "", "GET", "/feed.atom"},
		{s.board, "", "GET", "/assets/nothing.css"},
		{s.board, "", "GET", "/api/v1/forums"},
		{s.board, "", "GET", "/api/v1/openapi.json"},
		{s.board, s.tokens["alice"], "POST", "/api/v1/forums/4/threads"},
		{s.board, "bad", "GET", "/api/v1/forums"},
		{s.events, "", "GET", "/store"},
		{s.events, "", "GET", "/store/query/v4/events"},
		{s.events, "", "GET", "/store/status/v1/simple"},
		{s.events, "", "GET", "/store/openapi.json"},
		{s.events, "", "GET", "/store/dashboard/nothing.js"},
		{s.events, "", "GET", "/store/nothing"},
		{s.events, "", "POST", "/store/cmd/v1"},
		{s.events, "", "DELETE", "/store/meta/v1/version"},
	} {
		a := e2e.Do(t, e2e.Client, c.method, c.base+c.path, c.token, "")
		if got := a.Header.Values("X-Content-Type-Options"); len(got) != 1 || got[0] != "nosniff" {
			t.Errorf("%s %s: %d, %v", c.method, c.path, a.Status, got)
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodOptions, s.gateway+"/v1/chat/completions", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Origin", "https://app.example")
	request.Header.Set("Access-Control-Request-Method", "POST")
	a, err := e2e.Client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = a.Body.Close()
	if a.StatusCode != http.StatusNoContent || a.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("the answer before a request: %s, %v", a.Status, a.Header)
	}
}
