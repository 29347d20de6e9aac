// Package spending keeps account of what was spent through the model gateway: the log of requests, its sums by hour
// and day, running totals, the reports on them, and the sums that budgets are compared with. It knows users, teams and
// keys only by their ids.
//
// A report by user, key or team reads running totals (gateway_user_totals, gateway_key_totals, gateway_team_totals):
// what each had spent before a day began. What was spent in a period is the difference of the totals of two days, so
// it takes two rows for each line, however long the period is. The totals of all days change in the transaction that
// writes the log. A job computes those of a day once it has been over for three days; of days older than 100 days only
// those of Mondays are kept. Where a period begins or ends on a day without totals, those of the nearest day are
// corrected by the sums of the days in between.
//
// Reports by model, provider, day and of everything read gateway_model_days and gateway_model_hours, those by tag and
// end user gateway_label_days, and those of a team by user gateway_member_days. Only reports that combine users, keys
// and models or days read the sums of each user and day (gateway_usage_days), which are also what a user's own report
// reads.
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
