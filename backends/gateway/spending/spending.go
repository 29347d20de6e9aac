// Package spending records and reports the spending through the model gateway. It has the log of requests, the sums of
// the log by hour and day, running totals, the reports on these, and the sums that are compared with budgets. It knows
// only the ids of users, teams and keys. Labels are the tags and end users that clients state in requests. A purse is a
// set of requests to which a budget applies, and a window is the period of a budget: a day, week, month or all time.
//
// A report by user, key or team reads running totals (gateway_user_totals, gateway_key_totals, gateway_team_totals):
// the spending of each user, key or team before a day began. The spending of a period is the difference between the
// totals of two days, so each line of a report needs two rows, however long the period is. The totals up to now change
// in the transactions that write the log. A job computes the totals of each day three days after its end. Older than
// 100 days only the totals of Mondays are kept. If a period begins or ends on a day without totals, the totals of the
// nearest day are used, and corrected by the sums of the days in between.
//
// Reports by model, provider and day, and reports on everything, read gateway_model_days and gateway_model_hours.
// Reports by tag and end user read gateway_label_days, and reports on a team by user read gateway_member_days. The sums
// of each user and day (gateway_usage_days) are read only by reports that combine users or keys with models or days,
// and by a user's own report.
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

// SumsTTL is how long a node may use sums that it has read. Records that this node has added since are always included.
const SumsTTL = 4 * time.Second

// Ledger records and reports spending. Its errors are *apierror.Error, or wrap store.ErrUnavailable while the database
// cannot be reached.
type Ledger struct {
	db    *store.DB
	now   func() time.Time
	reads *store.JointReads   // joins equal reads of sums that run at the same time
	log   atomic.Pointer[Log] // nil before NewLog

	purses purses
	labels labelNames
}

// NewLedger returns a ledger over a database with schema.Gateway registered.
func NewLedger(db *store.DB, logger *zap.Logger, now func() time.Time) *Ledger {
	return &Ledger{db: db, now: now, reads: store.NewJointReads(logger), purses: purses{writer: rand.Text()}}
}

// Add adds a record to the log; see Log.Add. Without a log it does nothing.
func (s *Ledger) Add(r Record) {
	if log := s.log.Load(); log != nil {
		log.Add(r)
	}
}

// read runs a query and returns its rows, each converted by scan.
func read[T any](
	ctx context.Context, s *Ledger, scan func(row store.Row) (T, error), query string, args ...any,
) (out []T, err error) {
	err = s.db.Read(ctx, func(c store.Conn) (err error) {
		out, err = store.List(c, scan, query, args...)
		return err
	})
	return out, err
}

// invalid returns an error with status 400 for the value of a query parameter.
func invalid(param, format string, args ...any) error {
	return apierror.New(http.StatusBadRequest, "invalid_value", format, args...).With(param)
}
