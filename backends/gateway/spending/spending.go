// Package spending keeps account of what was spent through the model gateway: the log of requests, its sums by hour,
// day and month, the reports on them, and the sums that budgets are compared with. It knows users, teams and keys only
// by their ids.
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

// SumsTTL is how long a node may act on sums that it has read. What it has recorded itself since then is always added.
const SumsTTL = 4 * time.Second

// Ledger records and reports what was spent. Its errors are *apierror.Error, or wrap store.ErrUnavailable while the
// database cannot be reached.
type Ledger struct {
	db    *store.DB
	now   func() time.Time
	reads *store.JointReads
	log   atomic.Pointer[Log] // nil until there is one

	purses purses
	labels labelNames
}

// NewLedger returns a ledger over a database with schema.Gateway registered.
func NewLedger(db *store.DB, logger *zap.Logger, now func() time.Time) *Ledger {
	return &Ledger{db: db, now: now, reads: store.NewJointReads(logger), purses: purses{writer: rand.Text()}}
}

// Add adds a record to the log if there is one; see Log.Add.
func (s *Ledger) Add(r Record) {
	if log := s.log.Load(); log != nil {
		log.Add(r)
	}
}

// read runs a query and returns its rows, read by scan.
func read[T any](
	ctx context.Context, s *Ledger, scan func(row store.Row) (T, error), query string, args ...any,
) (out []T, err error) {
	err = s.db.Read(ctx, func(c store.Conn) (err error) {
		out, err = store.List(c, scan, query, args...)
		return err
	})
	return out, err
}

func invalid(param, format string, args ...any) error {
	return apierror.New(http.StatusBadRequest, "invalid_value", format, args...).With(param)
}
