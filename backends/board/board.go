// Package board implements a discussion board: forums, threads and posts with permissions, moderation and posting
// rules, served as a JSON API and as web pages.
//
// This package connects the packages below it. Each of them may use the packages before it in this list: kernel (used
// by all), rights, attachments, content (the rows of forums, threads and posts), following, reactions, search, posts,
// conversations, drafts, accounts, mails, admin, seed (fixtures), api, web/administration, web and jobs. wire.go
// constructs their services and passes to each the services that it uses.
package board

import (
	"context"
	"encoding/hex"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/backends/board/seed"
	"github.com/tollgate-gateway/tollgate/backends/board/web"
	"github.com/tollgate-gateway/tollgate/internal/jobs"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// flushEvery is the interval at which counts in memory are written to the database.
const flushEvery = time.Minute

// Server is a board: the services of its packages and the state that they share. The web pages and the API call the
// same methods of these services.
type Server struct {
	web.Services

	seeds  *seed.Service
	kernel *kernel.Server
	shared *shared
}

// New returns a board on db, whose tables must exist already (see Schema). New does not access the database; Ready
// does. The Server must be closed with Close.
func New(db *store.DB, options kernel.Options, logger *zap.Logger, now func() time.Time) *Server {
	return wire(newShared(now), db, options, logger, now)
}

// With returns a Server of the same board with other options. Both servers share their state, so Close of one server
// closes both.
func (s *Server) With(options kernel.Options) *Server {
	return wire(s.shared, s.kernel.DB, options, s.kernel.Logger, s.kernel.Now)
}

// Key returns the board's secret, which signs cursors, forms and links. It must not be called before Ready has returned
// without an error.
func (s *Server) Key() []byte { return s.kernel.Key() }

// Ready prepares the board for its first request: it sets up an empty database, loads the board's secret and starts the
// background work of this process. Later calls return at once. After an error Ready may be called again.
func (s *Server) Ready(ctx context.Context) error {
	if s.shared.secret.Load() != nil {
		return nil
	}
	s.shared.prepare.Lock()
	defer s.shared.prepare.Unlock()
	if s.shared.secret.Load() != nil { // another request has prepared the board while this one waited
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
		return errors.New("the board's secret (cursor_secret in the table board_settings) is not a hexadecimal number" +
			" of at least 32 bytes")
	}
	s.shared.secret.Store(&secret)
	if s.shared.end == nil { // not after Close
		s.shared.end = s.background().Start()
	}
	return nil
}

// background returns the runner of the background work that each process does for itself. "flush" writes counts from
// memory; "words" updates the search index (see search.Service.FoldWords).
func (s *Server) background() *jobs.Runner {
	return jobs.New(jobs.Options{Logger: func() *zap.Logger { return s.kernel.Logger }, Jobs: []jobs.Job{
		{Name: "flush", Every: flushEvery, Wake: s.shared.views.Full, Run: func(ctx context.Context) (int, error) {
			return 0, s.Flush(ctx)
		}},
		{Name: "words", Every: flushEvery, Wake: s.shared.words.Ready, Run: func(ctx context.Context) (int, error) {
			return 0, s.Search.FoldWords(ctx)
		}},
	}})
}

// Close stops the background work and writes the remaining counts to the database. It must be called before the
// database is closed.
func (s *Server) Close() {
	s.shared.prepare.Lock()
	end := s.shared.end
	s.shared.end = func() {} // a later Ready starts nothing
	s.shared.prepare.Unlock()
	if end != nil {
		end()
	}
	ctx, cancel := jobs.Settling(context.Background())
	defer cancel()
	if err := s.Flush(ctx); err != nil {
		s.kernel.Logger.Warn("could not write the counted views, token uses and looks", zap.Error(err))
	}
	s.shared.tokens.Close()
}

// Flush writes the data that is collected in memory: the views of threads, the uses of API tokens, and the looks of
// administrators (see rights.LookLog). Only one Flush runs at a time. A second call waits for the first, so that the
// counts taken by the first are also written when it returns. After an error the views and looks are kept for the next
// Flush, but the uses of tokens are lost.
func (s *Server) Flush(ctx context.Context) error {
	if err := s.shared.flushes.Acquire(ctx, 1); err != nil {
		return err
	}
	defer s.shared.flushes.Release(1)
	views, uses, looks := s.shared.views.Take(), s.shared.tokens.Take(), s.shared.looks.Take()
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
		s.shared.views.GiveBack(views)
		s.shared.looks.GiveBack(looks)
	}
	return err
}
