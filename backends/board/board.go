// Package board is a discussion board: forums, threads and posts with rights,
// moderation and rules, served as a JSON API.
package board

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/semaphore"

	"github.com/tollgate-gateway/tollgate/internal/blob"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/password"
	"github.com/tollgate-gateway/tollgate/internal/signed"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// flushEvery is how often what is counted in memory is written.
const flushEvery = time.Minute

// Options are the settings of a board.
type Options struct {
	// BaseURL is put before the paths of Location headers. Default: none.
	BaseURL string
	// Realm is named by challenges. Default: board.
	Realm string
	// Offline closes the board for all but those who may see it nevertheless.
	Offline bool
	// HoldFirst holds the first posts of a member, this many. Default: 0.
	HoldFirst int64
	// NoFlood switches the flood control off.
	NoFlood bool
	// Keyring encrypts secrets in the database. Default: none.
	Keyring func() (keyring.Keyring, error)
	// Attachments is the folder of attached files. Default: the database.
	Attachments string
	// Mails reports whether somebody sends mails. Default: nobody.
	Mails func() bool
	// Passwords hashes those of the members. Default: see password.Hasher.
	Passwords password.Hasher
	// Address is the client's address, by which attempts are counted. Default:
	// that of the connection.
	Address func(*http.Request) string
}

// Service is a board. Web pages and the API call the same methods of it.
type Service struct {
	*shared
	options Options
	access  atomic.Pointer[access] // its settings depend on the options
	files   *blob.Store            // attachments
}

// shared is what all services on one board have in common, whatever their options.
type shared struct {
	db     *store.DB
	logger *zap.Logger
	now    func() time.Time

	tokens  *tokenCache
	secret  atomic.Pointer[[]byte] // signs cursors and forms
	prepare sync.Mutex
	views   viewCounter
	looks   lookCounter
	words   wordCounter
	strips  *semaphore.Weighted // images that are stripped at once

	ctx     context.Context //nolint:containedctx // ends with Close and bounds the work in the background
	cancel  context.CancelFunc
	running sync.WaitGroup
	started sync.Once
}

// New returns a board on a database with its schema. It touches nothing yet.
func New(db *store.DB, options Options, logger *zap.Logger, now func() time.Time) *Service {
	ctx, cancel := context.WithCancel(context.Background())
	return (&Service{shared: &shared{db: db, logger: logger, now: now, tokens: newTokenCache(), looks: lookCounter{now: now}, words: newWordCounter(), strips: semaphore.NewWeighted(stripsAtOnce), ctx: ctx, cancel: cancel}}).With(options)
}

// With returns the same board with other options. Closing one closes all.
func (s *Service) With(options Options) *Service {
	if options.Realm == "" {
		options.Realm = "board"
	}
	with := &Service{shared: s.shared, options: options}
	with.files = with.newFiles(options.Attachments)
	return with
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
	s.started.Do(func() { s.running.Go(s.run) })
	return nil
}

// signer signs what the board hands out under a label.
func (s *Service) signer(label string) signed.Signer {
	return signed.Signer{Key: *s.secret.Load(), Label: label}
}

// run writes what was counted, now and then.
func (s *Service) run() {
	ticker := time.NewTicker(flushEvery)
	defer ticker.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-ticker.C:
		case <-s.views.full():
		case <-s.words.ready:
			if err := s.foldWords(s.ctx); err != nil && s.ctx.Err() == nil {
				s.logger.Warn("index of words not tidied", zap.Error(err))
			}
			continue
		}
		if err := s.Flush(s.ctx); err != nil && s.ctx.Err() == nil {
			s.logger.Warn("views not written", zap.Error(err))
		}
	}
}

// Close writes what is left and ends the work in the background. The database
// must still be open.
func (s *Service) Close() {
	s.cancel()
	s.running.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := s.Flush(ctx); err != nil {
		s.logger.Warn("views not written", zap.Error(err))
	}
	s.tokens.known.Close()
}

// setting is a value of the table of settings; empty: there is none.
func setting(c store.Conn, name string) (value string, err error) {
	err = c.Row("SELECT value FROM board_settings WHERE name = ?", name).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return value, err
}

// micros is now as it is stored.
func (s *Service) micros() int64 { return s.now().UnixMicro() }

// none turns sql.ErrNoRows into the answer for what is not there.
func none(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return notFound()
	}
	return err
}

// null is a number for a column that is NULL where there is none.
func null(n int64) sql.NullInt64 { return sql.NullInt64{Int64: n, Valid: n != 0} }

// boolean is a truth value as it is stored on both engines.
func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
