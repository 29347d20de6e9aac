// Package attempts limits attempts, such as logins, registrations and requests for mails. An attempt is counted before
// its outcome is known, so that parallel attempts cannot exceed the limit together, and subtracted again if it
// succeeds. The counts are rows of the service's database, so all nodes share them. They are changed in the caller's
// transaction, and a row is void after its end time.
package attempts

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Limit limits how often something may be attempted. Each counted attempt restarts the time Within; attempts beyond Max
// are refused and do not restart it.
type Limit struct {
	// Table is the table with the counts: key (text, primary key), tries and ends_at (integers). Times are in Unix
	// microseconds.
	Table string
	// What names the action that is attempted. It distinguishes the limits in a table.
	What string
	// Max is how many attempts are allowed. The count begins at 0 again when no attempt was counted for the time
	// Within.
	Max    int64
	Within time.Duration
}

// Of returns the count for a subject given by one or more texts, such as an account and an address. Only a hash of them
// is stored.
func (l Limit) Of(parts ...string) Count {
	sum := sha256.New()
	sum.Write([]byte(l.What))
	for _, part := range parts {
		sum.Write([]byte("\x00" + part))
	}
	return Count{l, hex.EncodeToString(sum.Sum(nil))}
}

// Count counts the attempts of one subject under a limit.
type Count struct {
	Limit
	key string
}

// Try counts an attempt. If the limit was reached it returns the time until an attempt is allowed again, and otherwise
// 0.
func (n Count) Try(c store.Conn, now time.Time) (wait time.Duration, err error) {
	query, args := n.try(now)
	return n.wait(c.Row(query, args...), now)
}

// Ask adds the query of Try to q. wait is set to the result of Try when q is run.
func (n Count) Ask(q *store.Questions, now time.Time, wait *time.Duration) {
	query, args := n.try(now)
	q.Row(func(r store.Row) (err error) {
		*wait, err = n.wait(r, now)
		return err
	}, query, args...)
}

// try returns the query that counts an attempt. Its row is for wait.
func (n Count) try(now time.Time) (query string, args []any) {
	micros := now.UnixMicro()
	return "INSERT INTO " + n.Table + " AS a (key, tries, ends_at) VALUES (?, 1, ?) ON CONFLICT (key) DO UPDATE SET" +
		" tries = CASE WHEN a.ends_at <= ? THEN 1 ELSE a.tries + 1 END," +
		" ends_at = CASE WHEN a.ends_at <= ? OR a.tries < ? THEN excluded.ends_at ELSE a.ends_at END" +
		" RETURNING tries, ends_at", []any{n.key, now.Add(n.Within).UnixMicro(), micros, micros, n.Max}
}

// wait returns the result of Try from the row of the query.
func (n Count) wait(r store.Row, now time.Time) (time.Duration, error) {
	var tries, ends int64
	if err := r.Scan(&tries, &ends); err != nil || tries <= n.Max {
		return 0, err
	}
	return time.UnixMicro(ends).Sub(now), nil
}

// Spent returns the time until an attempt is allowed again, or 0 if one is allowed now. It counts no attempt.
func (n Count) Spent(c store.Conn, now time.Time) (wait time.Duration, err error) {
	var ends int64
	err = c.Row("SELECT ends_at FROM "+n.Table+" WHERE key = ? AND ends_at > ? AND tries >= ?",
		n.key, now.UnixMicro(), n.Max).Scan(&ends)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return time.UnixMicro(ends).Sub(now), nil
}

// GiveBack subtracts an attempt that succeeded.
func (n Count) GiveBack(c store.Conn) error {
	_, err := c.Exec(n.giveBack(), n.key)
	return err
}

// GiveBackLater works like GiveBack but runs at the end of a Write; see store.Conn.Later.
func (n Count) GiveBackLater(c store.Conn) error { return c.Later(n.giveBack(), n.key) }

// giveBack returns the statement that subtracts an attempt. Its argument is the key.
func (n Count) giveBack() string {
	return "UPDATE " + n.Table + " SET tries = tries - 1 WHERE key = ? AND tries > 0"
}

// Forget resets the count.
func (n Count) Forget(c store.Conn) error {
	_, err := c.Exec("DELETE FROM "+n.Table+" WHERE key = ?", n.key)
	return err
}
