package board

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/api"
	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/backends/board/seed"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/formguard"
	"github.com/tollgate-gateway/tollgate/internal/password"
	"github.com/tollgate-gateway/tollgate/internal/rest/openapitest"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/store/storetest"
)

var databases = storetest.Fixture{Schemas: []store.Schema{Schema()}}

// onBoth runs the test on an empty database of each engine.
func onBoth(t *testing.T, test func(t *testing.T, db *store.DB)) {
	t.Helper()
	databases.OnBoth(t, test)
}

// cheap hashes passwords at no cost.
var cheap = password.Params{Memory: 8, Passes: 1, Lanes: 1}

// hashed returns the hash of a password as the board would store it.
func hashed(t *testing.T, typed string) string {
	t.Helper()
	stored, err := password.Hasher{Params: cheap}.Hash(t.Context(), typed)
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

// clock is a time that only the test advances.
type clock struct{ micros atomic.Int64 }

func newClock() *clock {
	c := new(clock)
	c.micros.Store(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixMicro())
	return c
}

func (c *clock) now() time.Time          { return time.UnixMicro(c.micros.Load()) }
func (c *clock) advance(d time.Duration) { c.micros.Add(d.Microseconds()) }

// site is a board with its API, as it is served behind api_errors.
type site struct {
	t       *testing.T
	service *Server
	api     *api.API
	clock   *clock
	// document is compared with every answer. It is nil on PostgreSQL.
	document *openapitest.Document
	tokens   map[string]string // by the names of members
}

// newSite returns a board seeded with testdata/fixture.json.
func newSite(t *testing.T, db *store.DB, options kernel.Options) *site {
	t.Helper()
	s := &site{t: t, clock: newClock()}
	options.Passwords = password.Hasher{Params: cheap, Gate: make(chan struct{}, 2)}
	s.service = New(db, options, zap.NewNop(), s.clock.now)
	t.Cleanup(s.service.Close)
	file, err := os.Open("testdata/fixture.json")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	tokens, err := s.service.Seed(t.Context(), file, seed.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.service.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.tokens = make(map[string]string)
	for _, token := range tokens {
		s.tokens[token.Name] = token.Token
	}
	s.api = s.service.API()
	if db.Dialect() == store.Postgres {
		return s // responses do not depend on the engine, and validating them takes long
	}
	document, err := s.api.OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	s.document = openapitest.New(t, document)
	return s
}

// answer is the response to a request.
type answer struct {
	t      *testing.T
	status int
	header http.Header
	body   string
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	err := s.serve(w, r)
	if err == nil {
		return
	}
	e, ok := apierror.From(err)
	if !ok {
		s.t.Errorf("%s %s: %v", r.Method, r.URL, err)
		e = apierror.New(http.StatusInternalServerError, "internal", "internal error")
	}
	object := map[string]any{"code": e.Code, "message": e.Message, "requestId": "req_1"}
	if len(e.Details) > 0 {
		object["details"] = e.Details
	}
	w.Header().Set("Content-Type", api.JsonType)
	w.WriteHeader(e.Status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": object})
}

func (s *site) serve(w http.ResponseWriter, r *http.Request) error {
	a, err := s.service.Rights.Guest(r.Context())
	if header := r.Header.Get("Authorization"); header != "" {
		a, err = s.service.Accounts.Authenticate(r.Context(), strings.TrimPrefix(header, "Bearer "))
	} else if err == nil && s.api.NeedsToken(r) {
		err = apierror.New(http.StatusUnauthorized, "unauthenticated", "this needs a token")
	}
	if err != nil {
		return err
	}
	return s.api.Serve(w, r, a)
}

// do sends a request as a member, or as the guest if user is empty.
func (s *site) do(user, method, path, body string) *answer {
	s.t.Helper()
	return s.send(s.request(user, method, path, body))
}

func (s *site) request(user, method, path, body string) *http.Request {
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r := httptest.NewRequest(method, kernel.Mount+path, reader)
	if user != "" {
		token := s.tokens[user]
		if token == "" {
			token = user
		}
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r
}

func (s *site) send(r *http.Request) *answer {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	s.documented(r, w)
	return &answer{s.t, w.Code, w.Header(), w.Body.String()}
}

// documented fails where an answer is not what the document says.
func (s *site) documented(r *http.Request, w *httptest.ResponseRecorder) {
	s.t.Helper()
	_, ours := s.api.Router.Find(r)
	if s.document == nil || !ours || w.Code == http.StatusMethodNotAllowed || w.Code == http.StatusNotModified {
		return // not in the document
	}
	s.document.Response(s.t, r, w.Result(), openapitest.UnknownPath)
}

// want checks the status, and for refusals the code and the first reason.
func (a *answer) want(status int, codes ...string) *answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	var refusal struct {
		Error struct {
			Code    string
			Details []struct{ Reason string }
		}
	}
	if len(codes) > 0 {
		a.into(&refusal)
		if refusal.Error.Code != codes[0] {
			a.t.Fatalf("code %q, want %q: %s", refusal.Error.Code, codes[0], a.body)
		}
	}
	if len(codes) > 1 && (len(refusal.Error.Details) == 0 || refusal.Error.Details[0].Reason != codes[1]) {
		a.t.Fatalf("details %v, want the reason %q", refusal.Error.Details, codes[1])
	}
	return a
}

func (a *answer) into(value any) {
	a.t.Helper()
	d := json.NewDecoder(bytes.NewReader([]byte(a.body)))
	if err := d.Decode(value); err != nil {
		a.t.Fatalf("%v: %s", err, a.body)
	}
}

// data decodes the envelope of one thing.
func data[T any](a *answer) T {
	a.t.Helper()
	var envelope struct{ Data T }
	a.into(&envelope)
	return envelope.Data
}

// forum returns the id of a forum by its slug.
func (s *site) forum(slug string) int64 {
	s.t.Helper()
	return s.number("SELECT id FROM board_forums WHERE slug = ?", slug)
}

// threadOf returns the id of a thread by its title.
func (s *site) threadOf(title string) int64 {
	s.t.Helper()
	return s.number("SELECT id FROM board_threads WHERE title = ?", title)
}

// postOf returns the id of a post by its text.
func (s *site) postOf(message string) int64 {
	s.t.Helper()
	return s.number("SELECT id FROM board_posts WHERE message = ?", message)
}

func (s *site) number(query string, args ...any) (n int64) {
	s.t.Helper()
	err := s.service.kernel.Read(s.t.Context(), func(c store.Conn) error { return c.Row(query, args...).Scan(&n) })
	if err != nil {
		s.t.Fatalf("%s %v: %v", query, args, err)
	}
	return n
}

func (s *site) exec(query string, args ...any) {
	s.t.Helper()
	err := s.service.kernel.Write(s.t.Context(), func(c store.Conn) error {
		if _, err := c.Exec(query, args...); err != nil {
			return err
		}
		return rights.BumpPermissions(c)
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// exact fails the test if a counter differs from a recount.
func (s *site) exact() {
	s.t.Helper()
	s.counted()
	if n := s.number(`SELECT count(*) FROM board_threads t WHERE t.next_number - 1 <> (SELECT count(DISTINCT number) FROM board_posts p WHERE p.thread_id = t.id)
			OR t.next_number - 1 <> (SELECT max(number) FROM board_posts p WHERE p.thread_id = t.id)`); n != 0 {
		s.t.Errorf("numbers in threads: %d have gaps", n)
	}
}

// counted fails if a counter differs from what it counts. Unlike exact it allows for posts that have left a thread.
func (s *site) counted() {
	s.t.Helper()
	for name, query := range map[string]string{
		"reply_count of threads": `SELECT count(*) FROM board_threads t WHERE t.reply_count <>
			(SELECT count(*) FROM board_posts p WHERE p.thread_id = t.id AND p.visibility = 0 AND p.number > 1)`,
		"last post of threads": `SELECT count(*) FROM board_threads t WHERE t.visibility = 0 AND t.last_post_id <>
			(SELECT max(p.id) FROM board_posts p WHERE p.thread_id = t.id AND p.visibility = 0)`,
		"thread_count of forums": `SELECT count(*) FROM board_forums f WHERE ` + content.ForumThreads + ` <>
			(SELECT count(*) FROM board_threads t WHERE t.forum_id = f.id AND t.visibility = 0)`,
		"post_count of forums": `SELECT count(*) FROM board_forums f WHERE ` + content.ForumPosts + ` <>
			(SELECT count(*) FROM board_posts p JOIN board_threads t ON t.id = p.thread_id WHERE t.forum_id = f.id AND t.visibility = 0 AND p.visibility = 0)`,
		"last post of forums": `SELECT count(*) FROM board_forums f WHERE COALESCE(` + content.LastOfForum(s.service.kernel.DB.Dialect(), "last_post_at") + `, 0) <>
			(SELECT COALESCE(max(t.last_post_at), 0) FROM board_threads t WHERE t.forum_id = f.id AND t.visibility = 0)`,
		"posts of members": `SELECT count(*) FROM board_users u CROSS JOIN board_forums f WHERE
			COALESCE((SELECT m.posts FROM board_member_posts m WHERE m.user_id = u.id AND m.forum_id = f.id), 0) <>
			(SELECT count(*) FROM board_posts p JOIN board_threads t ON t.id = p.thread_id WHERE t.forum_id = f.id AND t.visibility = 0 AND p.visibility = 0 AND p.author_id = u.id)`,
		"numbers in threads": `SELECT count(*) FROM board_threads t WHERE t.next_number - 1 < (SELECT COALESCE(max(number), 0) FROM board_posts p WHERE p.thread_id = t.id)
			OR (SELECT count(*) FROM board_posts p WHERE p.thread_id = t.id) <> (SELECT count(DISTINCT number) FROM board_posts p WHERE p.thread_id = t.id)`,
		"visibility of posts": `SELECT count(*) FROM board_posts p JOIN board_post_ids i ON i.id = p.id WHERE i.visibility <> p.visibility`,
		"forums of posts":     `SELECT count(*) FROM board_post_ids i JOIN board_threads t ON t.id = i.thread_id WHERE i.forum_id <> t.forum_id`,
	} {
		if n := s.number(query); n != 0 {
			s.t.Errorf("%s: %d are wrong", name, n)
		}
	}
}

// joinForm returns the fields of a registration form that was shown a minute ago.
func (s *site) joinForm() accounts.JoinForm {
	return accounts.JoinForm{Browser: "browser", Stamp: formguard.Stamp(s.service.kernel.Signer("formguard"), accounts.FormToJoin, "browser", s.clock.now().Add(-time.Minute))}
}

func path(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// quoted returns a text as a JSON string.
func quoted(text string) string {
	out, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(out)
}
