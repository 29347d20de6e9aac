package board

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/api"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// boardNode is a node with the shipped board Caddyfile, without TLS, with sample data.
type boardNode struct {
	*e2e.Node
	config string
	api    string // http://127.0.0.1:port/api/v1
	tokens map[string]string
}

func newBoard(t *testing.T, replace ...string) *boardNode {
	t.Helper()
	port := e2e.FreePort(t)
	config := e2e.Shipped(t, "board", append([]string{"{$TOLLGATE_DOMAIN:localhost}", "http://127.0.0.1:" + port}, replace...)...)
	b := &boardNode{Node: e2e.NewNode(t, config), config: config, api: "http://127.0.0.1:" + port + kernel.Mount}
	fixture := e2e.Repo("backends/board/testdata/fixture.json")
	b.tokens = make(map[string]string)
	b.seed(fixture)
	b.Start()
	return b
}

// seed loads a fixture and stores its tokens by their names.
func (b *boardNode) seed(fixture string) {
	b.T.Helper()
	var result struct {
		Tokens []struct{ Name, Token string }
	}
	if err := json.Unmarshal([]byte(b.Tool("board", "seed", "--fixture", fixture, "--json")), &result); err != nil {
		b.T.Fatal(err)
	}
	for _, token := range result.Tokens {
		b.tokens[token.Name] = token.Token
	}
}

func (b *boardNode) do(user, method, path, body string) *e2e.Answer {
	b.T.Helper()
	token := b.tokens[user]
	if token == "" {
		token = user
	}
	return e2e.Do(b.T, e2e.Client, method, b.api+path, token, body)
}

// TestBoard checks the API of the shipped board, with its errors, rate limits and commands.
func TestBoard(t *testing.T) {
	t.Parallel()
	b := newBoard(t)
	if password := b.Tool("board", "init", "--admin", "root", "--email", "root@example.com"); strings.TrimSpace(password) != "" {
		t.Errorf("a board with an administrator made another: %q", password)
	}
	token := strings.TrimSpace(b.Tool("board", "token", "issue", "--user", "alice", "--name", "cli", "--expires", "never"))
	if a := b.do(token, "GET", "/me", ""); a.Status != 200 || !strings.Contains(a.Body, `"username":"alice"`) || a.Header.Get("X-Ratelimit-Limit") != "600" {
		t.Errorf("me: %d %s %v", a.Status, a.Body, a.Header)
	}

	a := b.do("", "POST", "/forums/4/threads", `{"title":"A title","message":"A message"}`)
	if a.Status != 401 || a.Header.Get("WWW-Authenticate") != `Bearer realm="board"` || !strings.Contains(a.Body, `"code":"unauthenticated"`) {
		t.Errorf("guest's POST: %d %s", a.Status, a.Body)
	}
	if a.Header.Get("X-Request-Id") == "" || !strings.Contains(a.Body, `"requestId":"`+a.Header.Get("X-Request-Id")+`"`) {
		t.Errorf("request id %q: %s", a.Header.Get("X-Request-Id"), a.Body)
	}
	if a = b.do("brd_pat_wrong", "GET", "/forums", ""); a.Status != 401 || a.Header.Get("WWW-Authenticate") != `Bearer realm="board", error="invalid_token"` {
		t.Errorf("bad token: %d %s", a.Status, a.Body)
	}
	if a = b.do("narrow", "GET", "/threads/1", ""); a.Status != 403 || !strings.Contains(a.Body, `"missing_scope"`) {
		t.Errorf("narrow token: %d %s", a.Status, a.Body)
	}
	if a = b.do("", "GET", "/nothing", ""); a.Status != 404 || !strings.Contains(a.Body, `"no_such_route"`) {
		t.Errorf("unknown route: %d %s", a.Status, a.Body)
	}
	if a = b.do("alice", "POST", "/forums/4/threads", `{"title":"`+strings.Repeat("x", 300<<10)+`"}`); a.Status != 413 || !strings.Contains(a.Body, `"payload_too_large"`) {
		t.Errorf("large body: %d %s", a.Status, a.Body)
	}
	if a = b.do("", "GET", "/openapi.json", ""); a.Status != 200 || !strings.Contains(a.Body, `"version":"0.37.6"`) || a.Header.Get("ETag") == "" {
		t.Errorf("document: %d", a.Status)
	}
	a = b.do("alice", "POST", "/forums/4/threads", `{"title":"A new thread","message":"Hello **all**"}`)
	if a.Status != 201 || a.Header.Get("X-Ratelimit-Cost") != "10" || !strings.HasPrefix(a.Header.Get("Location"), "/api/v1/threads/") {
		t.Errorf("new thread: %d %s %v", a.Status, a.Body, a.Header)
	}
	b.Tool("board", "token", "revoke", token)
	if a = b.do(token, "GET", "/me", ""); a.Status != 401 {
		t.Errorf("a revoked token: %d", a.Status)
	}
	b.Stop()
}

// TestBoardBudget checks that the window of a token admits 60 threads of cost 10 and that of a guest 120 requests, and
// that requests with invalid tokens are limited.
func TestBoardBudget(t *testing.T) {
	t.Parallel()
	b := newBoard(t, "\ttollgate board\n", "\ttollgate board {\n\t\tno_flood\n\t}\n")
	for i := range 60 {
		if a := b.do("bob", "POST", "/forums/4/threads", fmt.Sprintf(`{"title":"Thread %d","message":"Message %d"}`, i, i)); a.Status != 201 {
			t.Fatalf("thread %d: %d %s", i, a.Status, a.Body)
		}
	}
	a := b.do("bob", "POST", "/forums/4/threads", `{"title":"One more","message":"Message"}`)
	if a.Status != 429 || !strings.Contains(a.Body, `"rate_limited"`) || a.Header.Get("Retry-After") == "" || a.Header.Get("X-Ratelimit-Remaining") != "0" {
		t.Errorf("the 61st: %d %s %v", a.Status, a.Body, a.Header)
	}
	if policy := a.Header.Get("Ratelimit-Policy"); policy != `"token";q=600;w=300` {
		t.Errorf("policy %s", policy)
	}
	for i := range 120 {
		if a = b.do("", "GET", "/forums", ""); a.Status != 200 {
			t.Fatalf("guest %d: %d", i, a.Status)
		}
	}
	if a = b.do("", "GET", "/forums", ""); a.Status != 429 || a.Header.Get("Ratelimit-Policy") != `"guest";q=120;w=300` {
		t.Errorf("the 121st of a guest: %d %v", a.Status, a.Header)
	}
	if a = b.do("brd_pat_wrong", "GET", "/forums", ""); a.Status != 429 {
		t.Errorf("a bad token with nothing left: %d", a.Status)
	}
	if a = b.do("alice", "GET", "/forums", ""); a.Status != 200 {
		t.Errorf("another token: %d", a.Status)
	}
}

// TestBoardCosts checks that the costs in the short form are those of the route table.
func TestBoardCosts(t *testing.T) {
	t.Parallel()
	token, guest, _ := strings.Cut(e2e.LongForm(t, "board"), "\tbudget @guest")
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
	if got := e2e.CostLines(token); !slices.Equal(got, want) {
		t.Errorf("costs of tokens\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := e2e.CostLines(guest); !slices.Equal(got, wantGuest) {
		t.Errorf("costs of guests\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(wantGuest, "\n"))
	}
}

// TestBoardKill checks that everything that was acknowledged before a kill -9 is still stored, and that the counters
// equal a recount.
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
				a := e2e.Read(e2e.Client.Do(request)) //nolint:bodyclose // read does
				if a.Err != nil {
					return // the process was killed
				}
				if a.Status != 201 {
					t.Errorf("a reply: %d %s", a.Status, a.Body)
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
	b.Kill()
	writers.Wait()
	b.Start()
	var thread struct{ Data struct{ ReplyCount int } }
	if err := json.Unmarshal([]byte(b.do("mod", "GET", "/threads/1", "").Body), &thread); err != nil {
		t.Fatal(err)
	}
	posts, after := 0, 0
	for {
		var page struct {
			Data        []struct{ Number int }
			NextAfterID *int `json:"nextAfterId"`
		}
		if err := json.Unmarshal([]byte(b.do("bob", "GET", fmt.Sprintf("/threads/1/posts?limit=100&after=%d", after), "").Body), &page); err != nil {
			t.Fatal(err)
		}
		posts += len(page.Data)
		if page.NextAfterID == nil {
			break
		}
		after = *page.NextAfterID
	}
	// bob also sees his held post, which the counters exclude.
	if thread.Data.ReplyCount != posts-2 || thread.Data.ReplyCount < acknowledged+1 {
		t.Errorf("reply count %d, %d posts listed, %d acknowledged", thread.Data.ReplyCount, posts, acknowledged)
	}
}
