package web

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	"github.com/tollgate-gateway/tollgate/backends/board"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/password"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/store/storetest"
)

// databases have the fixture.
var databases = storetest.Fixture{Schemas: []store.Schema{board.Schema()}, Fill: func(ctx context.Context, db *store.DB) error {
	service := board.New(db, kernel.Options{Passwords: cheap}, zap.NewNop(), func() time.Time { return begins })
	defer service.Close()
	_, err := service.Seed(ctx, strings.NewReader(fixture), func(string, int) {})
	return err
}}

// cheap hashes passwords at no cost.
var cheap = password.Hasher{Params: password.Params{Memory: 8, Passes: 1, Lanes: 1}}

// begins is when the fixture is made and every test begins.
var begins = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// onBoth runs the test on a database of each engine.
func onBoth(t *testing.T, test func(t *testing.T, db *store.DB)) {
	t.Helper()
	databases.OnBoth(t, test)
}

// clock is a time that only the test moves.
type clock struct{ micros atomic.Int64 }

func (c *clock) now() time.Time          { return time.UnixMicro(c.micros.Load()) }
func (c *clock) advance(d time.Duration) { c.micros.Add(d.Microseconds()) }

// fixture has every kind of thing that somebody must not see, each marked by the
// word secret and who may see it.
const fixture = `{
"users": [
	{"name": "ada", "email": "ada@example.com", "emailConfirmed": true, "password": "correct horse", "groups": ["registered", "administrators"], "posts": 9},
	{"name": "mod", "email": "mod@example.com", "emailConfirmed": true, "password": "correct horse", "groups": ["registered", "moderators"], "posts": 9},
	{"name": "bob", "email": "bob@example.com", "emailConfirmed": true, "password": "correct horse", "posts": 9},
	{"name": "eve", "email": "eve@example.com", "emailConfirmed": true, "password": "correct horse", "posts": 9},
	{"name": "awaiting", "password": "correct horse", "state": "awaiting"},
	{"name": "banned", "password": "correct horse", "state": "banned"}
],
"forums": [
	{"slug": "root", "title": "Root", "type": "category"},
	{"slug": "public", "title": "Public", "parent": "root"},
	{"slug": "members", "title": "secretmember forum", "parent": "root"},
	{"slug": "staff", "title": "secretstaff forum", "parent": "root"},
	{"slug": "tickets", "title": "Tickets", "parent": "root"},
	{"slug": "link", "title": "Link", "type": "link", "linkUrl": "https://example.com/", "parent": "root"}
],
"overrides": [
	{"forum": "members", "group": "guest", "deny": ["forum.view"]},
	{"forum": "staff", "group": "guest", "deny": ["forum.view"]},
	{"forum": "staff", "group": "registered", "deny": ["forum.view"]},
	{"forum": "staff", "group": "moderators", "deny": ["forum.view"]},
	{"forum": "tickets", "group": "guest", "deny": ["thread.viewOthers"]},
	{"forum": "tickets", "group": "registered", "deny": ["thread.viewOthers"]}
],
"prefixes": [{"label": "Question", "forums": ["public"]}],
"threads": [
	{"forum": "public", "title": "Open thread", "posts": [
		{"author": "bob", "message": "common first", "at": "2026-01-01T00:00:00Z"},
		{"author": "eve", "message": "common second", "at": "2026-01-01T00:01:00Z"},
		{"author": "bob", "message": "common secretheld post", "at": "2026-01-01T00:02:00Z", "visibility": "unapproved"},
		{"author": "bob", "message": "common secretdeleted post", "at": "2026-01-01T00:03:00Z", "visibility": "deleted"}
	]},
	{"forum": "public", "title": "secretheld thread", "posts": [{"author": "bob", "message": "common secretheld", "at": "2026-01-01T00:04:00Z", "visibility": "unapproved"}]},
	{"forum": "public", "title": "secretdeleted thread", "posts": [{"author": "bob", "message": "common secretdeleted", "at": "2026-01-01T00:05:00Z", "visibility": "deleted"}]},
	{"forum": "public", "title": "Sticky thread", "sticky": true, "posts": [{"author": "mod", "message": "common sticky", "at": "2026-01-01T00:05:30Z"}]},
	{"forum": "members", "title": "secretmember thread", "posts": [{"author": "bob", "message": "common secretmember", "at": "2026-01-01T00:06:00Z"}]},
	{"forum": "staff", "title": "secretstaff thread", "posts": [{"author": "mod", "message": "common secretstaff", "at": "2026-01-01T00:07:00Z"}]},
	{"forum": "tickets", "title": "secretticket thread", "posts": [{"author": "bob", "message": "common secretticket", "at": "2026-01-01T00:08:00Z"}]}
]}`

// site is a board with its pages.
type site struct {
	t       *testing.T
	db      *store.DB
	service *board.Service
	clock   *clock
	server  *httptest.Server
	noMails atomic.Bool
}

func newSite(t *testing.T, db *store.DB, options Options) *site {
	t.Helper()
	s := &site{t: t, db: db, clock: new(clock)}
	s.clock.micros.Store(begins.UnixMicro())
	s.service = board.New(db, kernel.Options{
		Passwords: cheap, NoFlood: true, Mails: func() bool { return !s.noMails.Load() }, Address: func(r *http.Request) string { return r.Header.Get("X-Test-Address") },
	}, zap.NewNop(), s.clock.now)
	t.Cleanup(s.service.Close)
	if err := s.service.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	pages := New(s.service, options, zaptest.NewLogger(t))
	s.server = httptest.NewServer(pages)
	t.Cleanup(s.server.Close)
	return s
}

// in is the site for a part of the test.
func (s *site) in(t *testing.T) *site {
	return &site{t: t, db: s.db, service: s.service, clock: s.clock, server: s.server}
}

// inParts goes through a list by some parts at the same time.
func inParts[T any](s *site, list []T, test func(s *site, part []T)) {
	s.t.Run("parts", func(t *testing.T) {
		for part := range slices.Chunk(list, len(list)/6+1) {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				test(s.in(t), part)
			})
		}
	})
}

// browser keeps the cookies of one person.
type browser struct {
	*site
	client *http.Client
}

// guest opens a new browser.
func (s *site) guest() *browser {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	client := s.server.Client()
	return &browser{s, &http.Client{Transport: client.Transport, Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if "http://"+r.URL.Host != s.server.URL {
			return http.ErrUseLastResponse // what leads away is not followed
		}
		return nil
	}}}
}

// as opens a new browser and signs a member in; empty: nobody.
func (s *site) as(name string) *browser {
	s.t.Helper()
	b := s.guest()
	if name != "" {
		b.get("/login").send("/login", "name", name, "password", "correct horse").want(200)
	}
	return b
}

// shown is a page as a browser got it, redirects followed.
type shown struct {
	*browser
	status int
	header http.Header
	body   string
	path   string
}

func (b *browser) get(path string) *shown {
	b.t.Helper()
	return b.do(http.MethodGet, path, "")
}

func (b *browser) do(method, path, body string, header ...string) *shown {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.server.URL+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	r.Header.Set("X-Test-Address", "192.0.2.1")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return &shown{b, answer.StatusCode, answer.Header, string(text), answer.Request.URL.RequestURI()}
}

var tokenField = regexp.MustCompile(`name="token" value="([^"]+)"`)

// token is what the forms of the page send back.
func (p *shown) token() string {
	match := tokenField.FindStringSubmatch(p.body)
	if match == nil {
		return ""
	}
	return match[1]
}

var secretField = regexp.MustCompile(`name="secret" value="([^"]+)"`)

// secret is that of the link that the page was opened by.
func (p *shown) secret() string {
	match := secretField.FindStringSubmatch(p.body)
	if match == nil {
		return ""
	}
	return match[1]
}

// send sends a form of the page; fields are names and values.
func (p *shown) send(path string, fields ...string) *shown {
	p.t.Helper()
	values := url.Values{"token": {p.token()}}
	for i := 0; i+1 < len(fields); i += 2 {
		values.Add(fields[i], fields[i+1])
	}
	return p.do(http.MethodPost, path, values.Encode())
}

var stampField = regexp.MustCompile(`name="stamp" value="([^"]+)"`)

// join sends the form to join, after the time that people take.
func (p *shown) join(fields ...string) *shown {
	p.t.Helper()
	if match := stampField.FindStringSubmatch(p.body); match != nil {
		fields = append(fields, "stamp", match[1])
	}
	p.clock.advance(time.Minute)
	return p.send("/register", fields...)
}

// want checks the status and texts that the page has.
func (p *shown) want(status int, texts ...string) *shown {
	p.t.Helper()
	if p.status != status {
		p.t.Fatalf("%s: status %d, want %d:\n%s", p.path, p.status, status, p.body)
	}
	for _, text := range texts {
		if !strings.Contains(p.body, text) {
			p.t.Fatalf("%s does not have %q:\n%s", p.path, text, p.body)
		}
	}
	return p
}

// lacks checks texts that the page must not have.
func (p *shown) lacks(texts ...string) *shown {
	p.t.Helper()
	for _, text := range texts {
		if strings.Contains(p.body, text) {
			p.t.Errorf("%s has %q:\n%s", p.path, text, p.body)
		}
	}
	return p
}

// number reads one number of the database.
func (s *site) number(query string) (n int64) {
	s.t.Helper()
	err := s.db.Read(s.t.Context(), rowInto(query, &n))
	if err != nil {
		s.t.Fatalf("%s: %v", query, err)
	}
	return n
}

func (s *site) thread(title string) int64 {
	s.t.Helper()
	return s.number("SELECT id FROM board_threads WHERE title = '" + title + "'")
}

func (s *site) post(message string) int64 {
	s.t.Helper()
	return s.number("SELECT id FROM board_posts WHERE message = '" + message + "'")
}

func (s *site) forum(slug string) int64 {
	s.t.Helper()
	return s.number("SELECT id FROM board_forums WHERE slug = '" + slug + "'")
}

func at(format string, args ...any) string { return fmt.Sprintf(format, args...) }
