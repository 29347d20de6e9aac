package accounts

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Quota is the state of an account's quota in its current window. Used, Pending and Limit are numbers of answers.
// Pending is how many answers are reserved for questions that are not answered yet.
type Quota struct {
	Used, Pending, Limit int64
	Start, End           time.Time // of the window
}

// Exceeded reports whether the next question would be refused.
func (q Quota) Exceeded() bool { return q.Used+q.Pending >= q.Limit }

// Rate is the state of a key's rate limit.
type Rate struct {
	Limit, Remaining int
	// Reset is the number of seconds until the oldest counted question leaves the window and one more question is
	// accepted. It is 0 if no question is counted.
	Reset int64
	// Window is the period over which the questions are counted.
	Window time.Duration
}

// RefusedError is returned for a question that is not accepted.
type RefusedError struct {
	Reason     string // RateLimited or QuotaExceeded
	RetryAfter int64  // the number of seconds after which the question may be accepted
	Rate       Rate   // the state of the rate limit, without this question
}

// Error implements error.
func (r *RefusedError) Error() string { return r.Reason }

// Reasons of a RefusedError.
const (
	RateLimited   = "RateLimited"
	QuotaExceeded = "QuotaExceeded"
)

// Once makes a request with an Idempotency-Key take effect only once, however often the client repeats it. Key is the
// Idempotency-Key, and Hash the hash of the request. The zero Once means that the request has no Idempotency-Key.
type Once struct{ Key, Hash string }

// ErrMismatch is returned if the Idempotency-Key was used for another request.
var ErrMismatch = errors.New("the Idempotency-Key was used for another request")

// onceLifetime is how long an Idempotency-Key belongs to its first request.
const onceLifetime = 24 * time.Hour

// Accept counts a question against the rate limit of the caller's key and reserves the answer with the given id from
// the quota of the caller's account. If it does not do both, it does neither. If the same Idempotency-Key was sent
// before, Accept changes nothing and returns the id of the earlier answer. It returns a *RefusedError if the rate or
// the quota is used up, and ErrMismatch if the Idempotency-Key was used for another request.
func (a *Accounts) Accept(
	ctx context.Context, caller *Caller, id string, once Once,
) (rate Rate, earlier string, err error) {
	// The function lock makes concurrent questions of an account wait for each other, so the isolation level "read
	// committed" suffices.
	err = a.Write(store.ReadCommitted(ctx), func(c kernel.Conn) error {
		earlier = "" // an attempt of this transaction that failed may have set it
		if err := lock(c, caller.Account); err != nil {
			return err
		}
		now := a.Now()
		if err := reap(c, caller.Account, now); err != nil { // the reservations of a crashed process must not count
			return err
		}
		if once.Key != "" {
			if earlier, err = a.earlierAnswer(c, caller, once, now); err != nil || earlier != "" {
				return err
			}
		}
		if rate, err = a.rate(c, caller.Key, now); err != nil {
			return err
		}
		if rate.Remaining == 0 {
			return &RefusedError{RateLimited, rate.Reset, rate}
		}
		window, err := a.window(c, caller.Account, now)
		if err != nil {
			return err
		}
		// The limit is read here, so that a lowered limit takes effect at once.
		n, err := c.Exec(`UPDATE answer_windows SET pending = pending + 1 WHERE account_id = ? AND began = ?
			AND used + pending < (SELECT total_limit FROM answer_accounts WHERE id = ?)`, caller.Account, window.Start.UnixMicro(), caller.Account)
		if err != nil {
			return err
		}
		if n == 0 {
			return &RefusedError{QuotaExceeded, secondsUntil(now.UnixMicro(), window.End.UnixMicro()), rate}
		}
		if rate.Remaining--; rate.Reset == 0 { // the first question in the window
			rate.Reset = secondsUntil(0, rate.Window.Microseconds())
		}
		if _, err = c.Exec("INSERT INTO answer_accepted (key_id, at, answer) VALUES (?, ?, ?)",
			caller.Key, now.UnixMicro(), id); err != nil {
			return err
		}
		_, err = c.Exec("INSERT INTO answer_reservations (answer, account_id, began, lease) VALUES (?, ?, ?, ?)",
			id, caller.Account, window.Start.UnixMicro(), now.Add(a.options.Lease).UnixMicro())
		if err != nil {
			return err
		}
		_, err = c.Exec("INSERT INTO answer_answers (id, account_id, key_id, status, once_key, once_hash, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
			id, caller.Account, caller.Key, Pending, nullable(once.Key), once.Hash, now.UnixMicro())
		return err
	})
	return rate, earlier, err
}

// nullable returns text as an SQL argument, with NULL in place of the empty string.
func nullable(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// lock locks the account until the transaction ends. A write that begins with lock may run at the isolation level read
// committed: concurrent writers wait for each other. At a stricter level PostgreSQL would refuse all but one of them,
// and they would have to try again.
func lock(c kernel.Conn, account int64) error {
	_, err := c.Exec("UPDATE answer_accounts SET name = name WHERE id = ?", account)
	return err
}

// earlierAnswer returns the id of the answer to an earlier request with the same Idempotency-Key, or the empty string.
// It frees a key that is older than onceLifetime, and returns ErrMismatch for a key that was used for another request.
func (a *Accounts) earlierAnswer(c kernel.Conn, caller *Caller, once Once, now time.Time) (id string, err error) {
	var hash string
	var created int64
	err = c.Row("SELECT id, once_hash, created_at FROM answer_answers WHERE account_id = ? AND once_key = ?",
		caller.Account, once.Key).Scan(&id, &hash, &created)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return "", nil
	case err != nil:
		return "", err
	case created <= now.Add(-onceLifetime).UnixMicro():
		_, err = c.Exec("UPDATE answer_answers SET once_key = NULL WHERE id = ?", id)
		return "", err
	case hash != once.Hash:
		return "", ErrMismatch
	}
	return id, nil
}

// rate returns the state of a key's rate limit and removes the entries that have left the window. It uses a sliding
// log, so that no period of the window's length has more questions than the limit.
func (a *Accounts) rate(c kernel.Conn, key int64, now time.Time) (Rate, error) {
	r := Rate{Limit: a.options.Rate, Window: a.options.RateWindow}
	if _, err := c.Exec("DELETE FROM answer_accepted WHERE key_id = ? AND at <= ?",
		key, now.Add(-r.Window).UnixMicro()); err != nil {
		return r, err
	}
	err := a.countRate(c, &r, key, now)
	return r, err
}

// countRate sets r.Remaining and r.Reset from the key's entries in the window that ends at now. r.Reset is the time
// until the oldest entry leaves the window.
func (a *Accounts) countRate(c kernel.Conn, r *Rate, key int64, now time.Time) error {
	var n int
	var oldest int64
	err := c.Row("SELECT COUNT(*), COALESCE(MIN(at), 0) FROM answer_accepted WHERE key_id = ? AND at > ?",
		key, now.Add(-r.Window).UnixMicro()).Scan(&n, &oldest)
	if r.Remaining = max(0, r.Limit-n); n > 0 {
		r.Reset = secondsUntil(now.UnixMicro(), oldest+r.Window.Microseconds())
	}
	return err
}

// Rate returns the state of a key's rate limit without counting a question.
func (a *Accounts) Rate(ctx context.Context, caller *Caller) (r Rate, err error) {
	r = Rate{Limit: a.options.Rate, Window: a.options.RateWindow}
	err = a.Read(ctx, func(c kernel.Conn) error { return a.countRate(c, &r, caller.Key, a.Now()) })
	return r, err
}

// window returns a Quota in which only Start and End are set, to the bounds of the window that contains now. If that
// window is new, window stores it.
func (a *Accounts) window(c kernel.Conn, account int64, now time.Time) (q Quota, err error) {
	if q.Start, q.End, err = a.bounds(c, account, now); err != nil {
		return q, err
	}
	_, err = c.Exec("INSERT INTO answer_windows (account_id, began, ends) VALUES (?, ?, ?) ON CONFLICT (account_id, began) DO NOTHING",
		account, q.Start.UnixMicro(), q.End.UnixMicro())
	return q, err
}

// bounds returns the bounds of the window that contains now. A rolling window that has begun continues until it ends;
// otherwise a new window begins now.
func (a *Accounts) bounds(c kernel.Conn, account int64, now time.Time) (began, ends time.Time, err error) {
	began, ends = a.options.Window.bounds(now)
	if a.options.Window.rolling == 0 {
		return began, ends, nil
	}
	var storedBegan, storedEnds int64
	err = c.Row("SELECT began, ends FROM answer_windows WHERE account_id = ? AND began <= ? AND ends > ? ORDER BY began DESC LIMIT 1",
		account, now.UnixMicro(), now.UnixMicro()).Scan(&storedBegan, &storedEnds)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return began, ends, nil
	case err != nil:
		return began, ends, err
	}
	return kernel.TimeOf(storedBegan), kernel.TimeOf(storedEnds), nil
}

// reap releases at most 1000 expired reservations of an account, or of all accounts together if account is 0. It also
// stores that the answers of these reservations have failed. Such reservations are left by processes that have
// crashed.
func reap(c kernel.Conn, account int64, now time.Time) error {
	type reservation struct {
		answer         string
		account, began int64
	}
	expired, err := store.List(c, func(r store.Row) (e reservation, err error) {
		err = r.Scan(&e.answer, &e.account, &e.began)
		return e, err
	},
		"SELECT answer, account_id, began FROM answer_reservations WHERE (account_id = ? OR ? = 0) AND lease <= ? LIMIT 1000",
		account, account, now.UnixMicro())
	for _, e := range expired {
		if err = release(c, e.answer, e.account, e.began, 0); err != nil {
			return err
		}
		_, err = c.Exec("UPDATE answer_answers SET status = ?, code = 503, reason = 'ServiceUnavailable', once_key = NULL WHERE id = ? AND status = ?", Failed, e.answer, Pending)
		if err != nil {
			return err
		}
	}
	return err
}

// release ends the reservation of an answer and adds count, which is 0 or 1, to the number of used answers in a
// window of the account's quota. began is the time when that window began, in microseconds. release returns
// errLeaseEnded if there is no such reservation.
func release(c kernel.Conn, answer string, account, began int64, count int) error {
	n, err := c.Exec("DELETE FROM answer_reservations WHERE answer = ?", answer)
	if err != nil {
		return err
	}
	if n == 0 {
		return errLeaseEnded
	}
	_, err = c.Exec("UPDATE answer_windows SET pending = pending - 1, used = used + ? WHERE account_id = ? AND began = ?",
		count, account, began)
	return err
}

// Reap releases the reservations of crashed processes in all accounts.
func (a *Accounts) Reap(ctx context.Context) error {
	return a.Write(ctx, func(c kernel.Conn) error { return reap(c, 0, a.Now()) })
}

// Reserved returns how many answers are reserved in all accounts.
func (a *Accounts) Reserved(ctx context.Context) (n int, err error) {
	err = a.Read(ctx, func(c kernel.Conn) error {
		return c.Row("SELECT COUNT(*) FROM answer_reservations WHERE lease > ?", a.Micros()).Scan(&n)
	})
	return n, err
}

// Quota returns the state of the quota of the caller's account. Expired reservations are not counted as pending.
func (a *Accounts) Quota(ctx context.Context, caller *Caller) (q Quota, err error) {
	now := a.Now()
	err = a.Read(ctx, func(c kernel.Conn) error {
		if q.Start, q.End, err = a.bounds(c, caller.Account, now); err != nil {
			return err
		}
		if err := c.Row("SELECT total_limit FROM answer_accounts WHERE id = ?", caller.Account).Scan(&q.Limit); err != nil {
			return err
		}
		err := c.Row(`SELECT w.used, w.pending - (SELECT COUNT(*) FROM answer_reservations r WHERE r.account_id = w.account_id AND r.began = w.began AND r.lease <= ?)
			FROM answer_windows w WHERE w.account_id = ? AND w.began = ?`, now.UnixMicro(), caller.Account, q.Start.UnixMicro()).Scan(&q.Used, &q.Pending)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	return q, err
}
