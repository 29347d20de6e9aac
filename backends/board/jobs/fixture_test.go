package jobs_test

import (
	"flag"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/board"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/backends/board/seed"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/password"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/store/storetest"
)

// site is a board with the fixture of the package board.
type site struct {
	t       *testing.T
	db      *store.DB
	service *board.Server
	tokens  map[string]string
	ahead   atomic.Int64 // how far the clock is ahead
}

var databases = storetest.Fixture{Schemas: []store.Schema{board.Schema()}}

// onBoth runs the test on a board of each engine.
func onBoth(t *testing.T, test func(t *testing.T, s *site)) {
	t.Helper()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) { test(t, newSite(t, db)) })
}

func newSite(t *testing.T, db *store.DB) *site {
	t.Helper()
	s := &site{t: t, db: db}
	s.service = s.node()
	file, err := os.Open("../testdata/fixture.json")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	tokens, err := s.service.Seed(t.Context(), file, seed.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.tokens = make(map[string]string)
	for _, token := range tokens {
		s.tokens[token.Name] = token.Token
	}
	if err := s.service.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// node returns another board on the same database.
func (s *site) node() *board.Server {
	s.t.Helper()
	ring, err := keyring.NewAES([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		s.t.Fatal(err)
	}
	options := kernel.Options{Passwords: password.Hasher{Params: password.Params{Memory: 8, Passes: 1, Lanes: 1}}, NoFlood: true, Keyring: func() (keyring.Keyring, error) { return ring, nil }, Mails: func() bool { return true }}
	service := board.New(s.db, options, zap.NewNop(), func() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) })
	s.t.Cleanup(service.Close)
	return service
}

func (s *site) as(name string) *rights.Actor {
	s.t.Helper()
	a, err := s.service.Accounts.Authenticate(s.t.Context(), s.tokens[name])
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

// reply posts a reply of bob to the first thread, which everybody may read.
func (s *site) reply(message string) posts.Posted {
	s.t.Helper()
	done, err := s.service.Posts.Reply(s.t.Context(), s.as("bob"), 1, posts.NewReply{Message: message}, posts.Once{})
	if err != nil {
		s.t.Fatal(err)
	}
	return done
}

// follow subscribes members, who have a mail address, to the first thread.
func (s *site) follow(names ...string) {
	s.t.Helper()
	for _, name := range names {
		if err := s.service.Following.Subscribe(s.t.Context(), s.as(name), 1, "instant"); err != nil {
			s.t.Fatal(err)
		}
		s.exec("UPDATE board_users SET email_confirmed = 1, email = ? WHERE username = ?", name+"@example.com", name)
	}
}

var update = flag.Bool("update", false, "write the golden files")
