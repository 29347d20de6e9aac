// Package board is a discussion board: forums, threads and posts with rights, moderation and
// rules, served as a JSON API and as pages. It ties the rooms, each of which stands on those
// before it: kernel (what all stand on), rights, attachments, content (rows of forums, threads
// and posts), following, search, posts, accounts, mails, admin, seed (fixtures), api, web and
// jobs. wire.go makes them; no room has a rule of another one.
package board

import (
	"context"
	"encoding/hex"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/admin"
	"github.com/tollgate-gateway/tollgate/backends/board/attachments"
	"github.com/tollgate-gateway/tollgate/backends/board/following"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/mails"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/backends/board/search"
	"github.com/tollgate-gateway/tollgate/backends/board/seed"
	"github.com/tollgate-gateway/tollgate/internal/jobs"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// flushEvery is how often what is counted in memory is written.
const flushEvery = time.Minute

// Server is a board: its rooms, and what they have in common. Web pages and the API call
// the same methods of the rooms.
type Server struct {
	Rights      *rights.Service
	Attachments *attachments.Service
	Following   *following.Service
	Search      *search.Service
	Posts       *posts.Service
	Accounts    *accounts.Service
	Mails       *mails.Service
	Admin       *admin.Service

	seeds  *seed.Service
	kernel *kernel.Server
	shared *shared
}

// New returns a board on a database with its schema. It touches nothing yet.
func New(db *store.DB, options kernel.Options, logger *zap.Logger, now func() time.Time) *Server {
	return wire(newShared(now), db, options, logger, now)
}

// With returns the same board with other options. Closing one closes all.
func (s *Server) With(options kernel.Options) *Server {
	return wire(s.shared, s.kernel.DB, options, s.kernel.Logger, s.kernel.Now)
}

// Key returns the secret of the board, which signs cursors, forms and links. There is one once
// the board is ready.
func (s *Server) Key() []byte { return s.kernel.Key() }

// Ready makes sure that the board has what it starts with; the first call
// prepares an empty database.
func (s *Server) Ready(ctx context.Context) error {
	if s.shared.secret.Load() != nil {
		return nil
	}
	s.shared.prepare.Lock()
	defer s.shared.prepare.Unlock()
	if s.shared.secret.Load() != nil {
		return nil
	}
	text, err := s.setup(ctx)
	if store.IsUniqueViolation(err) { // another node was faster
		text, err = s.setup(ctx)
	}
	if err != nil {
		return err
	}
	secret, err := hex.DecodeString(text)
	if err != nil || len(secret) < 32 {
		return errors.New("the board's secret in the table board_settings is broken")
	}
	s.shared.secret.Store(&secret)
	if s.shared.end == nil {
		s.shared.end = s.background().Start()
	}
	return nil
}

// background returns the work that each process does for itself.
func (s *Server) background() *jobs.Runner {
	return jobs.New(jobs.Options{Logger: func() *zap.Logger { return s.kernel.Logger }, Jobs: []jobs.Job{
		{Name: "flush", Every: flushEvery, Wake: s.Posts.ViewsFull(), Run: func(ctx context.Context) (int,
			error,
		) {
			return 0, s.Flush(ctx)
		}},
		{Name: "words", Every: flushEvery, Wake: s.Search.WordsReady(), Run: func(ctx context.Context) (int,
			error,
		) {
			return 0, s.Search.FoldWords(ctx)
		}},
	}})
}

// Close ends the work in the background and writes what is left. The database must
// still be open.
func (s *Server) Close() {
	s.shared.prepare.Lock()
	end := s.shared.end
	s.shared.end = func() {} // nothing begins any more
	s.shared.prepare.Unlock()
	if end != nil {
		end()
	}
	ctx, cancel := jobs.Settling(context.Background())
	defer cancel()
	if err := s.Flush(ctx); err != nil {
		s.kernel.Logger.Warn("views not written", zap.Error(err))
	}
	s.Accounts.CloseTokens()
}

// Flush writes what was counted in memory: views, uses of tokens, and what
// administrators looked at. What another one has begun to write is written, too, when
// it returns.
func (s *Server) Flush(ctx context.Context) error {
	if err := s.shared.flushes.Acquire(ctx, 1); err != nil {
		return err
	}
	defer s.shared.flushes.Release(1)
	views, uses, looks := s.Posts.TakeViews(), s.Accounts.TakeUses(), s.shared.looks.Take()
	if len(views)+len(uses)+len(looks) == 0 {
		return nil
	}
	err := s.kernel.Write(ctx, func(c store.Conn) error {
		if err := posts.WriteViews(c, views); err != nil {
			return err
		}
		if err := accounts.WriteUses(c, uses); err != nil {
			return err
		}
		return rights.WriteLooks(c, looks)
	})
	if err != nil {
		s.Posts.ReturnViews(views)
		s.shared.looks.GiveBack(looks)
	}
	return err
}
