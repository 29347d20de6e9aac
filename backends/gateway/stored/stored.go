// Package stored keeps answers of the Responses API and conversations for the clients that want
// them kept: a request may continue an answer or a conversation by its id, and may be worked on in
// the background. It knows nothing of providers: before a request it puts what came earlier into
// the input, and behind it keeps what was answered.
package stored

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/jobs"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Options are the bounds of what is stored. Zero values mean the defaults.
type Options struct {
	// Retention is how long a response is kept after it was made or continued, and a conversation
	// after its last change. Default: 30 days.
	Retention time.Duration
	// Size bounds a response together with its own input, in bytes. Default: 8 MiB.
	Size int64
	// Items bounds the items of a conversation. Default: 2,000.
	Items int
	// Depth bounds the responses of a chain. Default: 500.
	Depth int
	// Parallel is how many answers this process works on in the background at a time; four times as
	// many are taken in. Default: 32.
	Parallel int
	// Time bounds an answer in the background. Default: 1h.
	Time time.Duration
}

// WithDefaults returns the options with the defaults in the places of zero values.
func (o Options) WithDefaults() Options {
	set := func(value *int, def int) {
		if *value == 0 {
			*value = def
		}
	}
	set(&o.Items, 2000)
	set(&o.Depth, 500)
	set(&o.Parallel, 32)
	if o.Retention == 0 {
		o.Retention = 30 * 24 * time.Hour
	}
	if o.Size == 0 {
		o.Size = 8 << 20
	}
	if o.Time == 0 {
		o.Time = time.Hour
	}
	return o
}

// maxHistory bounds what is put into the input of a request, in bytes.
const maxHistory = 32 << 20

// Service keeps what is stored, sealed, in a database that nodes may share. It is safe for
// concurrent use.
type Service struct {
	db      *store.DB
	ring    keyring.Keyring
	logger  *zap.Logger
	now     func() time.Time
	node    string // names this process in leases
	observe func(job, outcome string, done int)

	begin sync.Once

	mu      sync.Mutex
	end     func()          // ends the jobs; nil: they have not begun
	runs    map[string]*run // by the id of the response
	working int
	queue   []*run // that wait for their turn
	closed  bool
	idle    sync.WaitGroup
}

// New makes a service. It does nothing before it is asked. observe is told of its jobs; see
// jobs.Options. Close it.
func New(
	db *store.DB,
	ring keyring.Keyring,
	logger *zap.Logger,
	observe func(job, outcome string, done int),
	now func() time.Time,
) *Service {
	return &Service{
		db:      db,
		ring:    ring,
		logger:  logger,
		observe: observe,
		now:     now,
		node:    rand.Text(),
		runs:    make(map[string]*run),
	}
}

// Watch begins to say that this process works on what it does, and to give up what others no longer
// work on. It may be called again.
func (s *Service) Watch() {
	s.begin.Do(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.closed {
			return
		}
		s.end = jobs.New(jobs.Options{
			Jobs: []jobs.Job{
				{Name: "responses_alive", Every: beatEvery, Run: s.beat},
				{Name: "responses_lost", Every: lostEvery, Run: s.giveUp},
			},
			Observe: s.observe, Logger: func() *zap.Logger { return s.logger },
		}).Start()
	})
}

// Cut ends what this process works on in the background.
func (s *Service) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.runs {
		r.cancel(errStopped)
	}
}

// Close ends the work in the background, and waits until it has been marked as failed or the context
// ends.
func (s *Service) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	end := s.end
	s.mu.Unlock()
	s.Cut()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.idle.Wait()
		if end != nil {
			end()
		}
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Owner returns whose what is stored is: the team's that a key counts for, else the user's.
func Owner(userID, teamID string) string {
	if teamID != "" {
		return "team " + teamID
	}
	return "user " + userID
}

// Tables whose sealed texts are bound to their rows.
const (
	tableResponses     = "gateway_responses"
	tableEvents        = "gateway_response_events"
	tableConversations = "gateway_conversations"
	tableItems         = "gateway_conversation_items"
)

func (s *Service) seal(ctx context.Context, table, id string, text []byte) (string, error) {
	return s.ring.Seal(ctx, text, []byte(table+"/"+id))
}

func (s *Service) open(ctx context.Context, table, id, sealed string) ([]byte, error) {
	text, err := s.ring.Open(ctx, sealed, []byte(table+"/"+id))
	if errors.Is(err, keyring.ErrOpen) {
		s.logger.Error("stored text cannot be opened; check the keyring", zap.String("table", table), zap.String("id", id))
		return nil, &apierror.Error{
			Status:  http.StatusInternalServerError,
			Code:    "server_error",
			Message: id + " is stored but cannot be opened: tell the operator of this gateway",
			Cause:   err,
		}
	}
	return text, err
}

// read runs a read that a request waits for.
func (s *Service) read(ctx context.Context, do func(c store.Conn) error) error {
	return store.InTime(ctx, func(ctx context.Context) error { return s.db.Read(ctx, do) })
}

func (s *Service) expires(o *Options) int64 { return schema.Micros(s.now().Add(o.Retention)) }

// storable reports whether a text can be the id of something that is stored.
func storable(id string) bool {
	const limit = 200
	return id != "" && len(id) <= limit && schema.StorableID(id)
}

// Expired returns a statement that deletes responses whose time is over, with their items and events.
func Expired(now time.Time, limit int) (statement string, args []any) {
	return expired(tableResponses, now, limit)
}

// ExpiredConversations returns one that deletes conversations with their items.
func ExpiredConversations(now time.Time, limit int) (statement string, args []any) {
	return expired(tableConversations, now, limit)
}

// ExpiredEvents returns one that deletes events of streams that nobody may resume any more.
func ExpiredEvents(now time.Time, limit int) (statement string, args []any) {
	return expired(tableEvents, now, limit)
}

func expired(table string, now time.Time, limit int) (statement string, args []any) {
	return `DELETE FROM ` + table + ` WHERE id IN (SELECT id FROM ` + table + ` WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`,
		[]any{
			schema.Micros(now),
			limit,
		}
}
