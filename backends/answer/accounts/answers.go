package accounts

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// States of an answer.
const (
	Pending = "pending"
	Done    = "done"
	Failed  = "failed"
)

// Retention is how long answers are stored.
const Retention = 30 * 24 * time.Hour

// Answer is the stored answer to a question, or the reason why there is no answer. Body and Trace are opaque to this
// package.
type Answer struct {
	ID      string
	Account int64
	Status  string // Pending, Done or Failed
	Code    int    // the HTTP status
	Reason  string // the reason why there is no answer; empty for an answer
	Body    string // the result that the client gets; it may be empty
	Trace   string // the record of how the outcome was reached; it may be empty
	Created time.Time
}

var (
	// ErrNoAnswer is returned for an answer that does not exist, has expired, or belongs to another account.
	ErrNoAnswer = errors.New("there is no such answer")

	errLeaseEnded = errors.New("the reservation of this answer has ended")
)

// Settle stores the outcome of a question and settles its reservation in one transaction. An answer counts as used; all
// other outcomes are free. Settle ignores the Account, Status and Created of the outcome. If freeKey is true, the
// question's Idempotency-Key may be used again, so that a client can repeat the question after a fault. Settle fails if
// the reservation has expired.
func (a *Accounts) Settle(ctx context.Context, outcome Answer, freeKey bool) error {
	return a.Write(store.ReadCommitted(ctx), func(c kernel.Conn) error {
		var account, began int64
		err := c.Row("SELECT account_id, began FROM answer_reservations WHERE answer = ?", outcome.ID).Scan(&account, &began)
		if errors.Is(err, sql.ErrNoRows) {
			return errLeaseEnded
		}
		if err != nil {
			return err
		}
		status, used := Failed, 0
		if outcome.Reason == "" {
			status, used = Done, 1
		}
		if err := lock(c, account); err != nil {
			return err
		}
		if err := release(c, outcome.ID, account, began, used); err != nil {
			return err
		}
		update := "UPDATE answer_answers SET status = ?, code = ?, reason = ?, body = ?, trace = ? WHERE id = ?"
		if freeKey {
			update = "UPDATE answer_answers SET status = ?, code = ?, reason = ?, body = ?, trace = ?, once_key = NULL WHERE id = ?"
		}
		_, err = c.Exec(update, status, outcome.Code, outcome.Reason, outcome.Body, outcome.Trace, outcome.ID)
		return err
	})
}

// Answer returns a stored answer of an account, or of any account if account is 0. It returns ErrNoAnswer if there is
// no such answer.
func (a *Accounts) Answer(ctx context.Context, account int64, id string) (ans Answer, err error) {
	err = a.Read(ctx, func(c kernel.Conn) error {
		var created int64
		err := c.Row(`SELECT id, account_id, status, code, reason, body, trace, created_at FROM answer_answers WHERE id = ? AND created_at > ?`,
			id, a.Now().Add(-Retention).UnixMicro()).Scan(&ans.ID, &ans.Account, &ans.Status, &ans.Code, &ans.Reason, &ans.Body,
			&ans.Trace, &created)
		ans.Created = kernel.TimeOf(created)
		return err
	})
	if errors.Is(err, sql.ErrNoRows) || err == nil && account != 0 && ans.Account != account {
		return Answer{}, ErrNoAnswer
	}
	return ans, err
}

// Recent returns at most limit answers of all accounts, newest first and without their texts. The list begins after the
// answer with the id beforeID, or with the newest answer if beforeID is empty.
func (a *Accounts) Recent(ctx context.Context, beforeID string, limit int) (list []Answer, err error) {
	err = a.Read(ctx, func(c kernel.Conn) error {
		list, err = store.List(c, func(r store.Row) (ans Answer, err error) {
			var created int64
			err = r.Scan(&ans.ID, &ans.Account, &ans.Status, &ans.Code, &ans.Reason, &created)
			ans.Created = kernel.TimeOf(created)
			return ans, err
		}, "SELECT id, account_id, status, code, reason, created_at FROM answer_answers WHERE (id < ? OR ? = '') AND created_at > ? ORDER BY id DESC LIMIT ?",
			beforeID, beforeID, a.Now().Add(-Retention).UnixMicro(), limit)
		return err
	})
	return list, err
}

// Purge removes answers that are older than Retention, and accepted questions that no longer count against the rate
// limit. A transaction removes at most limit rows. Purge returns how many rows it removed.
func (a *Accounts) Purge(ctx context.Context, limit int) (int64, error) {
	now := a.Now()
	n, err := a.DB.Purge(ctx, limit, "DELETE FROM answer_answers WHERE id IN (SELECT id FROM answer_answers WHERE created_at <= ? LIMIT ?)", now.Add(-Retention).UnixMicro())
	if err != nil {
		return n, err
	}
	m, err := a.DB.Purge(ctx, limit, "DELETE FROM answer_accepted WHERE (key_id, at, answer) IN (SELECT key_id, at, answer FROM answer_accepted WHERE at <= ? LIMIT ?)",
		now.Add(-a.options.RateWindow).UnixMicro())
	return n + m, err
}
