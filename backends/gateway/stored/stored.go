// Package stored stores conversations, and answers of the Responses API, for clients that request it. A request can
// continue an answer or a conversation by its id, and can be answered in the background. The package is independent of
// providers: before a request is sent it inserts the earlier items into the input, and afterwards it stores the answer.
//
// The owner of stored objects is a team or a user. A chain is a response with the earlier responses that it continues.
// The state of reasoning is the encrypted content of reasoning items, which the model needs in later requests. A run is
// an answer that this process generates in the background. It holds a lease in the database, which other processes see.
package stored

import (
	"cmp"
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

// Options are the limits of stored objects. Zero values mean the defaults.
type Options struct {
	// Retention is how long a response is kept after it was created or continued, and a conversation after its last
	// change. Default: 30 days.
	Retention time.Duration
	// Size limits a response together with the items of its request, in bytes. Default: 8 MiB.
	Size int64
	// Quota limits the stored objects of an owner, in bytes. Concurrent requests may exceed it, and so may the requests
	// of other nodes within a minute. Default: 1 GiB.
	Quota int64
	// Items limits the items of a conversation. Default: 2,000.
	Items int
	// Depth limits the number of responses in a chain. Default: 500.
	Depth int
	// Parallel is the number of answers that this process generates in the background at the same time. Up to four
	// times as many are accepted. Default: 32.
	Parallel int
	// Time limits the duration of an answer in the background. Default: 1h.
	Time time.Duration
}

// WithDefaults returns the options with zero values replaced by the defaults.
func (o Options) WithDefaults() Options {
	o.Items = cmp.Or(o.Items, 2000)
	o.Depth = cmp.Or(o.Depth, 500)
	o.Parallel = cmp.Or(o.Parallel, 32)
	o.Retention = cmp.Or(o.Retention, 30*24*time.Hour)
	o.Size = cmp.Or(o.Size, 8<<20)
	o.Quota = cmp.Or(o.Quota, 1<<30)
	o.Time = cmp.Or(o.Time, time.Hour)
	return o
}

// maxHistory limits the size of the items inserted into the input of a request, in bytes.
const maxHistory = 32 << 20

// Service stores responses and conversations, encrypted, in a database that nodes may share. It is safe for concurrent
// use.
type Service struct {
	db      *store.DB
	ring    keyring.Keyring
	logger  *zap.Logger
	now     func() time.Time
	node    string // identifies this process in leases
	observe func(job, outcome string, done int)

	startJobs sync.Once

	mu        sync.Mutex            // guards the fields below up to closed
	stopJobs  func()                // stops the jobs; nil before they are started
	runs      map[string]*run       // by id of the response
	followers map[string]int        // number of open streams by owner
	sizes     map[string]cachedSize // total size of the stored objects by owner
	working   int                   // number of runs that may generate their answers
	queue     []*run                // runs that wait for their turn
	closed    bool                  // no further run is accepted
	running   sync.WaitGroup        // the runs between the calls of enter and leave; enter adds to it while mu is held
}

// New creates a service. It starts no goroutines until it is used. observe is called after each run of a job; see
// jobs.Options. The caller must close the service.
func New(
	db *store.DB, ring keyring.Keyring, logger *zap.Logger,
	observe func(job, outcome string, done int),
	now func() time.Time,
) *Service {
	return &Service{
		db:        db,
		ring:      ring,
		logger:    logger,
		observe:   observe,
		now:       now,
		node:      rand.Text(),
		runs:      make(map[string]*run),
		followers: make(map[string]int),
		sizes:     make(map[string]cachedSize),
	}
}

// Watch starts the jobs that renew this process's leases on background answers and that mark answers of lost processes
// as failed. Further calls do nothing.
func (s *Service) Watch() {
	s.startJobs.Do(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.closed {
			return
		}
		s.stopJobs = jobs.New(jobs.Options{
			Jobs: []jobs.Job{
				{Name: "responses_alive", Every: beatEvery, Run: s.renewLeases},
				{Name: "responses_lost", Every: lostEvery, Run: s.failLost},
			},
			Observe: s.observe, Logger: func() *zap.Logger { return s.logger },
		}).Start()
	})
}

// Cut stops the answers that this process generates in the background. They are then stored as failed.
func (s *Service) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.runs {
		r.cancel(errStopped)
	}
}

// Close stops the work in the background, and waits until its answers have been marked as failed or ctx ends.
func (s *Service) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	stopJobs := s.stopJobs
	s.mu.Unlock()
	s.Cut()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.running.Wait()
		if stopJobs != nil { // only now, since the leases of the runs must be renewed until their failures are stored
			stopJobs()
		}
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Owner returns the owner of the objects that a request stores: the team that its key counts for, or its user if teamID
// is empty.
func Owner(userID, teamID string) string {
	if teamID != "" {
		return "team " + teamID
	}
	return "user " + userID
}

// The tables with sealed texts. The associated data of a text is the name of the table, a slash and the row's id.
const (
	tableResponses     = "gateway_responses"
	tableEvents        = "gateway_response_events"
	tableConversations = "gateway_conversations"
	tableItems         = "gateway_conversation_items"
)

// seal encrypts the text of the row with the id in a table.
func (s *Service) seal(ctx context.Context, table, id string, text []byte) (string, error) {
	return s.ring.Seal(ctx, text, []byte(table+"/"+id))
}

// open decrypts a text that seal has encrypted for the same table and id.
func (s *Service) open(ctx context.Context, table, id, sealed string) ([]byte, error) {
	text, err := s.ring.Open(ctx, sealed, []byte(table+"/"+id))
	if errors.Is(err, keyring.ErrOpen) {
		s.logger.Error("stored text cannot be opened; check the keyring", zap.String("table", table), zap.String("id", id))
		return nil, &apierror.Error{
			Status:  http.StatusInternalServerError,
			Code:    "server_error",
			Message: id + " is stored but cannot be decrypted: tell the operator of this gateway",
			Cause:   err,
		}
	}
	return text, err
}

// read runs a database read for which a request waits.
func (s *Service) read(ctx context.Context, fn func(c store.Conn) error) error {
	return store.InTime(ctx, func(ctx context.Context) error { return s.db.Read(ctx, fn) })
}

// expires returns when an object that is stored now expires, as a column value.
func (s *Service) expires(o *Options) int64 { return schema.Micros(s.now().Add(o.Retention)) }

// storable reports whether a stored object can have this id.
func storable(id string) bool {
	const limit = 200
	return id != "" && len(id) <= limit && schema.StorableID(id)
}

// Expired returns a statement that deletes at most limit expired responses with their items and events.
func Expired(now time.Time, limit int) (statement string, args []any) {
	return expired(tableResponses, now, limit)
}

// ExpiredConversations returns a statement that deletes at most limit expired conversations with their items.
func ExpiredConversations(now time.Time, limit int) (statement string, args []any) {
	return expired(tableConversations, now, limit)
}

// ExpiredEvents returns a statement that deletes at most limit rows of events of streams that can no longer be resumed.
func ExpiredEvents(now time.Time, limit int) (statement string, args []any) {
	return expired(tableEvents, now, limit)
}

func expired(table string, now time.Time, limit int) (statement string, args []any) {
	return `DELETE FROM ` + table + ` WHERE id IN (SELECT id FROM ` + table +
		` WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`, []any{schema.Micros(now), limit}
}
