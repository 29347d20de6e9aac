// Package spending is the model gateway's memory of what was spent: the log of requests, its sums
// by hour, day and month, the reports on them, and what budgets have to be compared with. It knows
// users, teams and keys by their ids alone.
package spending

import (
	"context"
	"crypto/rand"
	"net/http"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// SumsTTL is how long a node may act on sums that it has read. What it has recorded itself since
// then is always counted, too.
const SumsTTL = 4 * time.Second

// Ledger knows what was spent. Its errors are *apierror.Error, or wrap store.ErrUnavailable while
// the database cannot be reached.
type Ledger struct {
	db    *store.DB
	now   func() time.Time
	reads *store.JointReads
	log   atomic.Pointer[Log] // nil: there is none yet

	purses purses
	labels labelNames
}

// NewLedger makes the ledger over a database with schema.Gateway registered.
func NewLedger(db *store.DB, logger *zap.Logger, now func() time.Time) *Ledger {
	return &Ledger{db: db, now: now, reads: store.NewJointReads(logger), purses: purses{writer: rand.Text()}}
}

// Add gives a record to the log, where one is running; see Log.Add.
func (s *Ledger) Add(r Record) {
	if log := s.log.Load(); log != nil {
		log.Add(r)
	}
}

// read lists what a statement finds.
func read[T any](ctx context.Context, s *Ledger, scan func(row store.Row) (T, error), query string, args ...any) (out []T, err error) {
	err = s.db.Read(ctx, func(c store.Conn) (err error) {
		out, err = store.List(c, scan, query, args...)
		return err
	})
	return out, err
}

func invalid(param, format string, args ...any) error {
	return apierror.New(http.StatusBadRequest, "invalid_value", format, args...).With(param)
}
