// Package idempotency makes a request one that a client sends again because it did
// not see the answer: the second is answered like the first, and changes nothing.
// The client chooses a key for it, in the header Idempotency-Key
// (draft-ietf-httpapi-idempotency-key-header), and the service keeps it in a table
// of its own with what came of it.
package idempotency

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Header has the key of a request.
const Header = "Idempotency-Key"

// maxKey bounds a key, in characters.
const maxKey = 64

// Refusals, for which each service has words of its own.
var (
	ErrMalformed = errors.New("the key of the request is not 1 to 64 visible ASCII characters")
	ErrMismatch  = errors.New("the key was used for another request")
)

// Once makes a repeated request one: Key is chosen by the client, empty: none;
// Hash stands for what it asks for.
type Once struct{ Key, Hash string }

// Of reads the key of a request for a path, as the service knows it, with a body; the
// zero Once where there is none. Its error is ErrMalformed.
func Of(r *http.Request, path string, body []byte) (Once, error) {
	key := r.Header.Get(Header)
	if key == "" {
		return Once{}, nil
	}
	if len(key) > maxKey || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return Once{}, ErrMalformed
	}
	sum := sha256.New()
	sum.Write([]byte(r.Method + " " + path + "\n"))
	sum.Write(body)
	return Once{Key: key, Hash: hex.EncodeToString(sum.Sum(nil))}, nil
}

// Table is where a service keeps the keys of its users. A migration of the service
// makes it:
//
//	CREATE TABLE name (
//		user_id BIGINT NOT NULL, -- or TEXT
//		key TEXT NOT NULL, request_hash TEXT NOT NULL, body TEXT NOT NULL,
//		created_at BIGINT NOT NULL, -- microseconds
//		PRIMARY KEY (user_id, key)
//	);
//	CREATE INDEX name_age ON name (created_at);
type Table struct {
	kept                                time.Duration
	forget, claim, look, answer, purges string
}

// NewTable is a table whose keys are forgotten after a while.
func NewTable(name string, kept time.Duration) *Table {
	return &Table{
		kept:   kept,
		forget: "DELETE FROM " + name + " WHERE user_id = ? AND created_at <= ?",
		claim:  "INSERT INTO " + name + " (user_id, key, request_hash, body, created_at) VALUES (?, ?, ?, '', ?) ON CONFLICT (user_id, key) DO NOTHING",
		look:   "SELECT request_hash, body FROM " + name + " WHERE user_id = ? AND key = ?",
		answer: "UPDATE " + name + " SET body = ? WHERE user_id = ? AND key = ?",
		purges: "DELETE FROM " + name + " WHERE (user_id, key) IN (SELECT user_id, key FROM " + name + " WHERE created_at <= ? LIMIT ?)",
	}
}

// Do runs fn, a part of the transaction of c, unless the user has sent the same key
// before: then done is what fn returned at that time, which is kept as JSON. Whoever
// sends it meanwhile waits for how the first one ends; where that fails its key is
// free again. The error is ErrMismatch where the key was one of another request.
func Do[T any](c store.Conn, t *Table, user any, once Once, now time.Time, fn func(c store.Conn) (T, error)) (done T, err error) {
	if once.Key == "" {
		return fn(c)
	}
	if _, err := c.Exec(t.forget, user, t.before(now)); err != nil {
		return done, err
	}
	first, err := c.Exec(t.claim, user, once.Key, once.Hash, now.UnixMicro())
	if err != nil {
		return done, err
	}
	if first == 0 {
		var hash, body string
		if err := c.Row(t.look, user, once.Key).Scan(&hash, &body); err != nil {
			return done, err
		}
		if hash != once.Hash {
			return done, ErrMismatch
		}
		return done, json.Unmarshal([]byte(body), &done)
	}
	if done, err = fn(c); err != nil {
		return done, err
	}
	text, err := json.Marshal(done)
	if err != nil {
		return done, err
	}
	return done, c.Later(t.answer, string(text), user, once.Key)
}

func (t *Table) before(now time.Time) int64 { return now.Add(-t.kept).UnixMicro() }

// Purge forgets the keys of all users whose time is over, at most most in one
// transaction. It tells how many.
func (t *Table) Purge(ctx context.Context, db *store.DB, now time.Time, most int) (int64, error) {
	return db.Purge(ctx, most, t.purges, t.before(now))
}
