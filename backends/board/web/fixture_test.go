package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	"github.com/tollgate-gateway/tollgate/backends/board"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/seed"
	"github.com/tollgate-gateway/tollgate/backends/board/web"
	"github.com/tollgate-gateway/tollgate/internal/pages/pagestest"
	"github.com/tollgate-gateway/tollgate/internal/password"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/store/storetest"
)

// databases holds databases with the fixture.
var databases = storetest.Fixture{Schemas: []store.Schema{board.Schema()}, Fill: func(ctx context.Context, db *store.DB) error {
	service := board.New(db, kernel.Options{Passwords: cheap}, zap.NewNop(), func() time.Time { return begins })
	defer service.Close()
	_, err := service.Seed(ctx, strings.NewReader(fixture), seed.Options{})
	return err
}}

// cheap hashes passwords at no cost.
var cheap = password.Hasher{Params: password.Params{Memory: 8, Passes: 1, Lanes: 1}}

// begins is the time at which the fixture is made and every test begins.
var begins = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// onBoth runs a test on SQLite and on PostgreSQL.
func onBoth(t *testing.T, test func(t *testing.T, db *store.DB)) {
	t.Helper()
	databases.OnBoth(t, test)
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// clock is a clock that only the test moves.
type clock struct{ micros atomic.Int64 }

func (c *clock) now() time.Time          { return time.UnixMicro(c.micros.Load()) }
func (c *clock) advance(d time.Duration) { c.micros.Add(d.Microseconds()) }

// fixture has one of every kind of content that is hidden from somebody. Each has a mark of the word secret and
// the readers who may see it.
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
	service *board.Server
	clock   *clock
	server  *httptest.Server
	noMails atomic.Bool
}

func newSite(t *testing.T, db *store.DB, options web.Options) *site {
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
	pages := s.service.Pages(options, zaptest.NewLogger(t))
	if base, err := url.Parse(options.BaseURL); err == nil && base.Path != "" {
		stripped := http.StripPrefix(strings.TrimSuffix(base.Path, "/"), pages)
		s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, base.Path) {
				stripped.ServeHTTP(w, r)
			} else { // tests ask for the paths of the board
				pages.ServeHTTP(w, r)
			}
		}))
	} else {
		s.server = httptest.NewServer(pages)
	}
	t.Cleanup(s.server.Close)
	return s
}

// in returns the site for a subtest.
func (s *site) in(t *testing.T) *site {
	return &site{t: t, db: s.db, service: s.service, clock: s.clock, server: s.server}
}

// inParts runs a function for the elements of a list, several parts of it at the same time.
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

// browser is the browser of one person on the site.
type browser struct {
	*site
	*pagestest.Browser
}

// guest opens a new browser.
func (s *site) guest() *browser {
	s.t.Helper()
	b := &browser{s, pagestest.New(s.t, s.server.URL, true)}
	b.Always.Set("X-Test-Address", "192.0.2.1")
	return b
}

// as opens a new browser and signs a member in, or nobody if name is empty.
func (s *site) as(name string) *browser {
	s.t.Helper()
	b := s.guest()
	if name != "" {
		b.Get("/login").Send("/login", "name", name, "password", "correct horse").Want(200)
	}
	return b
}

// join sends the form to join, after the time that a person needs for it.
func (s *site) join(p *pagestest.Page, fields ...string) *pagestest.Page {
	s.t.Helper()
	if stamp := p.Hidden("stamp"); stamp != "" {
		fields = append(fields, "stamp", stamp)
	}
	s.clock.advance(time.Minute)
	return p.Send("/register", fields...)
}

// number reads one number from the database.
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
