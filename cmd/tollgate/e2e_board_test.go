package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/api"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
)

// boardNode is a node with the shipped board Caddyfile, without TLS, seeded.
type boardNode struct {
	*node
	config string
	api    string // http://127.0.0.1:port/api/v1
	tokens map[string]string
}

func newBoard(t *testing.T, replace ...string) *boardNode {
	t.Helper()
	port := freePort(t)
	config := shipped(t, "board", append([]string{"{$TOLLGATE_DOMAIN:localhost}", "http://127.0.0.1:" + port}, replace...)...)
	b := &boardNode{node: newNode(t, config), config: config, api: "http://127.0.0.1:" + port + kernel.Mount}
	fixture, err := filepath.Abs("../../backends/board/testdata/fixture.json")
	if err != nil {
		t.Fatal(err)
	}
	b.tokens = make(map[string]string)
	b.seed(fixture)
	b.start()
	return b
}

// seed loads a fixture, and keeps its tokens by their names.
func (b *boardNode) seed(fixture string) {
	b.t.Helper()
	var made struct {
		Tokens []struct{ Name, Token string }
	}
	if err := json.Unmarshal([]byte(b.tool("board", "seed", "--fixture", fixture, "--json")), &made); err != nil {
		b.t.Fatal(err)
	}
	for _, token := range made.Tokens {
		b.tokens[token.Name] = token.Token
	}
}

func (b *boardNode) do(as, method, path, body string) *answer {
	b.t.Helper()
	token := b.tokens[as]
	if token == "" {
		token = as
	}
	return do(b.t, client, method, b.api+path, token, body)
}

// TestBoard: the shipped board serves its API with its errors, rates and
// commands.
func TestBoard(t *testing.T) {
	t.Parallel()
	b := newBoard(t)
	if password := b.tool("board", "init", "--admin", "root", "--email", "root@example.com"); strings.TrimSpace(password) != "" {
		t.Errorf("a board with an administrator made another: %q", password)
	}
	token := strings.TrimSpace(b.tool("board", "token", "issue", "--user", "alice", "--name", "cli", "--expires", "never"))
	if a := b.do(token, "GET", "/me", ""); a.status != 200 || !strings.Contains(a.body, `"username":"alice"`) || a.header.Get("X-Ratelimit-Limit") != "600" {
		t.Errorf("me: %d %s %v", a.status, a.body, a.header)
	}

	a := b.do("", "POST", "/forums/4/threads", `{"title":"A title","message":"A message"}`)
	if a.status != 401 || a.header.Get("WWW-Authenticate") != `Bearer realm="board"` || !strings.Contains(a.body, `"code":"unauthenticated"`) {
		t.Errorf("guest's POST: %d %s", a.status, a.body)
	}
	if a.header.Get("X-Request-Id") == "" || !strings.Contains(a.body, `"requestId":"`+a.header.Get("X-Request-Id")+`"`) {
		t.Errorf("request id %q: %s", a.header.Get("X-Request-Id"), a.body)
	}
	if a = b.do("brd_pat_wrong", "GET", "/forums", ""); a.status != 401 || a.header.Get("WWW-Authenticate") != `Bearer realm="board", error="invalid_token"` {
		t.Errorf("bad token: %d %s", a.status, a.body)
	}
	if a = b.do("narrow", "GET", "/threads/1", ""); a.status != 403 || !strings.Contains(a.body, `"missing_scope"`) {
		t.Errorf("narrow token: %d %s", a.status, a.body)
	}
	if a = b.do("", "GET", "/nothing", ""); a.status != 404 || !strings.Contains(a.body, `"no_such_route"`) {
		t.Errorf("unknown route: %d %s", a.status, a.body)
	}
	if a = b.do("alice", "POST", "/forums/4/threads", `{"title":"`+strings.Repeat("x", 300<<10)+`"}`); a.status != 413 || !strings.Contains(a.body, `"payload_too_large"`) {
		t.Errorf("large body: %d %s", a.status, a.body)
	}
	if a = b.do("", "GET", "/openapi.json", ""); a.status != 200 || !strings.Contains(a.body, `"version":"0.37.6"`) || a.header.Get("ETag") == "" {
		t.Errorf("document: %d", a.status)
	}
	a = b.do("alice", "POST", "/forums/4/threads", `{"title":"A new thread","message":"Hello **all**"}`)
	if a.status != 201 || a.header.Get("X-Ratelimit-Cost") != "10" || !strings.HasPrefix(a.header.Get("Location"), "/api/v1/threads/") {
		t.Errorf("new thread: %d %s %v", a.status, a.body, a.header)
	}
	b.tool("board", "token", "revoke", token)
	if a = b.do(token, "GET", "/me", ""); a.status != 401 {
		t.Errorf("a revoked token: %d", a.status)
	}
	b.stop()
}

// TestBoardBudget: 60 threads of cost 10 fit into the window of a token, 120
// requests into that of a guest, and bad tokens are bounded.
func TestBoardBudget(t *testing.T) {
	t.Parallel()
	b := newBoard(t, "\ttollgate board\n", "\ttollgate board {\n\t\tno_flood\n\t}\n")
	for i := range 60 {
		if a := b.do("bob", "POST", "/forums/4/threads", fmt.Sprintf(`{"title":"Thread %d","message":"Message %d"}`, i, i)); a.status != 201 {
			t.Fatalf("thread %d: %d %s", i, a.status, a.body)
		}
	}
	a := b.do("bob", "POST", "/forums/4/threads", `{"title":"One more","message":"Message"}`)
	if a.status != 429 || !strings.Contains(a.body, `"rate_limited"`) || a.header.Get("Retry-After") == "" || a.header.Get("X-Ratelimit-Remaining") != "0" {
		t.Errorf("the 61st: %d %s %v", a.status, a.body, a.header)
	}
	if policy := a.header.Get("Ratelimit-Policy"); policy != `"token";q=600;w=300` {
		t.Errorf("policy %s", policy)
	}
	for i := range 120 {
		if a = b.do("", "GET", "/forums", ""); a.status != 200 {
			t.Fatalf("guest %d: %d", i, a.status)
		}
	}
	if a = b.do("", "GET", "/forums", ""); a.status != 429 || a.header.Get("Ratelimit-Policy") != `"guest";q=120;w=300` {
		t.Errorf("the 121st of a guest: %d %v", a.status, a.header)
	}
	if a = b.do("brd_pat_wrong", "GET", "/forums", ""); a.status != 429 {
		t.Errorf("a bad token with nothing left: %d", a.status)
	}
	if a = b.do("alice", "GET", "/forums", ""); a.status != 200 {
		t.Errorf("another token: %d", a.status)
	}
}

// TestBoardCosts: the costs of the short form are those of the route table.
func TestBoardCosts(t *testing.T) {
	t.Parallel()
	token, guest, _ := strings.Cut(longForm(t, "board"), "\tbudget @guest")
	guest, _, _ = strings.Cut(guest, "\tbudget @pages")
	var want, wantGuest []string
	for _, r := range api.Routes() {
		if line := fmt.Sprintf("cost %d %s %s%s", *r.Cost, r.Method, kernel.Mount, r.Path); *r.Cost != 1 {
			want = append(want, line)
			if r.Guest {
				wantGuest = append(wantGuest, line)
			}
		}
	}
	if got := costLines(token); !slices.Equal(got, want) {
		t.Errorf("costs of tokens\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := costLines(guest); !slices.Equal(got, wantGuest) {
		t.Errorf("costs of guests\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(wantGuest, "\n"))
	}
}

func costLines(text string) (lines []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "cost ") {
			lines = append(lines, line)
		}
	}
	return lines
}

// TestBoardKill: what was acknowledged before a kill -9 is there after it, and
// the counters are those of a recount.
func TestBoardKill(t *testing.T) {
	t.Parallel()
	b := newBoard(t, "\ttollgate board\n", "\ttollgate board {\n\t\tno_flood\n\t\ttoken_limit 100000\n\t}\n")
	var mu sync.Mutex
	acknowledged := 0
	enough := make(chan struct{})
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			for i := 0; ; i++ {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.api+"/threads/1/posts", strings.NewReader(fmt.Sprintf(`{"message":"kill %d %d"}`, w, i)))
				if err != nil {
					return
				}
				request.Header.Set("Authorization", "Bearer "+b.tokens["mod"])
				a := read(client.Do(request)) //nolint:bodyclose // read does
				if a.err != nil {
					return // the process is gone
				}
				if a.status != 201 {
					t.Errorf("a reply: %d %s", a.status, a.body)
					return
				}
				mu.Lock()
				if acknowledged++; acknowledged == 100 {
					close(enough)
				}
				mu.Unlock()
			}
		})
	}
	<-enough
	b.kill()
	writers.Wait()
	b.start()
	var thread struct{ Data struct{ ReplyCount int } }
	if err := json.Unmarshal([]byte(b.do("mod", "GET", "/threads/1", "").body), &thread); err != nil {
		t.Fatal(err)
	}
	posts, after := 0, 0
	for {
		var page struct {
			Data        []struct{ Number int }
			NextAfterID *int `json:"nextAfterId"`
		}
		if err := json.Unmarshal([]byte(b.do("bob", "GET", fmt.Sprintf("/threads/1/posts?limit=100&after=%d", after), "").body), &page); err != nil {
			t.Fatal(err)
		}
		posts += len(page.Data)
		if page.NextAfterID == nil {
			break
		}
		after = *page.NextAfterID
	}
	// bob sees his own held post too, which no counter has.
	if thread.Data.ReplyCount != posts-2 || thread.Data.ReplyCount < acknowledged+1 {
		t.Errorf("reply count %d, %d posts listed, %d acknowledged", thread.Data.ReplyCount, posts, acknowledged)
	}
}
