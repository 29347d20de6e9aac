// Package board is a discussion board: forums, threads and posts with rights,
// moderation and rules, served as a JSON API.
package board

import (
	"context"
	"encoding/hex"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/semaphore"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/admin"
	"github.com/tollgate-gateway/tollgate/backends/board/api"
	"github.com/tollgate-gateway/tollgate/backends/board/attachments"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/mails"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/backends/board/seed"
	"github.com/tollgate-gateway/tollgate/internal/jobs"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// flushEvery is how often what is counted in memory is written.
const flushEvery = time.Minute

// Service is a board. Web pages and the API call the same methods of it.
type Service struct {
	*seed.Service
	*shared
}

// shared is what all services on one board have in common, whatever their options.
type shared struct {
	posts   *posts.State
	strips  *semaphore.Weighted // images that are stripped at once
	tokens  *accounts.Tokens
	looks   *rights.LookLog
	flushes *semaphore.Weighted    // one at a time
	secret  atomic.Pointer[[]byte] // signs cursors and forms
	prepare sync.Mutex
	end     func() // the work in the background; nil: it has not begun
}

// New returns a board on a database with its schema. It touches nothing yet.
func New(db *store.DB, options kernel.Options, logger *zap.Logger, now func() time.Time) *Service {
	return newService(&shared{
		posts: posts.NewState(), strips: attachments.NewStrips(), tokens: accounts.NewTokens(), looks: rights.NewLookLog(now), flushes: semaphore.NewWeighted(1),
	}, kernel.Board{DB: db, Logger: logger, Now: now, Options: options})
}

// With returns the same board with other options. Closing one closes all.
func (s *Service) With(options kernel.Options) *Service {
	with := *s.Board
	with.Options = options
	return newService(s.shared, with)
}

func newService(common *shared, with kernel.Board) *Service {
	if with.Options.Realm == "" {
		with.Options.Realm = "board"
	}
	with.Key = func() []byte { return *common.secret.Load() }
	with.Hooks = posts.NewHooks(&with)
	content := posts.New(attachments.New(rights.New(&with, common.looks), common.strips), common.posts)
	return &Service{seed.New(admin.New(mails.New(accounts.New(content, common.tokens)))), common}
}

// Ready makes sure that the board has what it starts with; the first call
// prepares an empty database.
func (s *Service) Ready(ctx context.Context) error {
	if s.secret.Load() != nil {
		return nil
	}
	s.prepare.Lock()
	defer s.prepare.Unlock()
	if s.secret.Load() != nil {
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
	s.secret.Store(&secret)
	if s.end == nil {
		s.end = s.background().Start()
	}
	return nil
}

// background is the work of each process for itself.
func (s *Service) background() *jobs.Runner {
	return jobs.New(jobs.Options{Logger: func() *zap.Logger { return s.Logger }, Jobs: []jobs.Job{
		{Name: "flush", Every: flushEvery, Wake: s.ViewsFull(), Run: func(ctx context.Context) (int, error) { return 0, s.Flush(ctx) }},
		{Name: "words", Every: flushEvery, Wake: s.WordsReady(), Run: func(ctx context.Context) (int, error) { return 0, s.FoldWords(ctx) }},
	}})
}

// Close ends the work in the background and writes what is left. The database must
// still be open.
func (s *Service) Close() {
	s.prepare.Lock()
	end := s.end
	s.end = func() {} // nothing begins any more
	s.prepare.Unlock()
	if end != nil {
		end()
	}
	ctx, cancel := jobs.Settling(context.Background())
	defer cancel()
	if err := s.Flush(ctx); err != nil {
		s.Logger.Warn("views not written", zap.Error(err))
	}
	s.CloseTokens()
}

// Flush writes what was counted in memory: views, uses of tokens, and what
// administrators looked at. What another one has begun to write is written, too, when
// it returns.
func (s *Service) Flush(ctx context.Context) error {
	if err := s.flushes.Acquire(ctx, 1); err != nil {
		return err
	}
	defer s.flushes.Release(1)
	views, uses, looks := s.TakeViews(), s.TakeUses(), s.looks.Take()
	if len(views)+len(uses)+len(looks) == 0 {
		return nil
	}
	err := s.Write(ctx, func(c store.Conn) error {
		if err := posts.WriteViews(c, views); err != nil {
			return err
		}
		if err := accounts.WriteUses(c, uses); err != nil {
			return err
		}
		return rights.WriteLooks(c, looks)
	})
	if err != nil {
		s.ReturnViews(views)
		s.looks.GiveBack(looks)
	}
	return err
}

// API returns the API of the board.
func (s *Service) API() *api.API { return api.New(s.Service.Service) }
