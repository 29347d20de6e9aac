// Package idempotency makes repeated requests safe. A client that did not get the response sends the request again; the
// second request changes nothing and gets the response of the first. The client chooses a key, in the header
// Idempotency-Key (draft-ietf-httpapi-idempotency-key-header). The service stores the key with the result, in a Table.
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

// Header is the name of the header with the key.
const Header = "Idempotency-Key"

// maxKey limits the length of a key, in characters.
const maxKey = 64

// These errors are the client's fault. Each service answers with its own message for them.
var (
	ErrMalformed = errors.New("the key of the request is not 1 to 64 visible ASCII characters")
	ErrMismatch  = errors.New("the key was used for another request")
)

// Once identifies a request. Key is chosen by the client; an empty Key means that a repeated request is run again. Hash
// is a hash of the request.
type Once struct{ Key, Hash string }

// Of returns the Once of a request: its key, and a hash of its method, path and body, by which a repeated request is
// recognised. path may differ from the path of r's URL. Of returns the zero Once if the request has no key. If the key
// is malformed the error is ErrMalformed.
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

// Table is the table in which a service stores the keys of its users. A migration of the service makes it:
//
//	CREATE TABLE name (
//		user_id BIGINT NOT NULL, -- or TEXT
//		key TEXT NOT NULL, request_hash TEXT NOT NULL, body TEXT NOT NULL,
//		created_at BIGINT NOT NULL, -- microseconds
//		PRIMARY KEY (user_id, key)
//	);
//	CREATE INDEX name_age ON name (created_at);
type Table struct {
	lifetime time.Duration
	// SQL statements: forget deletes the expired keys of a user, claim inserts a key unless it exists, look reads the
	// request and the result of a key, answer stores the result, and purges deletes expired keys of all users.
	forget, claim, look, answer, purges string
}

// NewTable returns a Table for the database table with the given name. Its keys are forgotten after lifetime.
func NewTable(name string, lifetime time.Duration) *Table {
	return &Table{
		lifetime: lifetime,
		forget:   "DELETE FROM " + name + " WHERE user_id = ? AND created_at <= ?",
		claim:    "INSERT INTO " + name + " (user_id, key, request_hash, body, created_at) VALUES (?, ?, ?, '', ?) ON CONFLICT (user_id, key) DO NOTHING",
		look:     "SELECT request_hash, body FROM " + name + " WHERE user_id = ? AND key = ?",
		answer:   "UPDATE " + name + " SET body = ? WHERE user_id = ? AND key = ?",
		purges:   "DELETE FROM " + name + " WHERE (user_id, key) IN (SELECT user_id, key FROM " + name + " WHERE created_at <= ? LIMIT ?)",
	}
}

// Do runs fn within the transaction of c and stores its result as JSON. If the user has sent the same key before, Do
// returns the stored result and does not run fn. A concurrent request with the same key waits until the first request
// ends; if that one fails, its key is free again. The error is ErrMismatch if the key was used for another request. If
// once has no key, Do only runs fn.
func Do[T any](
	c store.Conn, t *Table, user any, once Once, now time.Time, fn func(c store.Conn) (T, error),
) (result T, err error) {
	if once.Key == "" {
		return fn(c)
	}
	if _, err := c.Exec(t.forget, user, t.before(now)); err != nil {
		return result, err
	}
	claimed, err := c.Exec(t.claim, user, once.Key, once.Hash, now.UnixMicro())
	if err != nil {
		return result, err
	}
	if claimed == 0 { // the key exists already; its transaction has ended, so the result is there
		var hash, body string
		if err := c.Row(t.look, user, once.Key).Scan(&hash, &body); err != nil {
			return result, err
		}
		if hash != once.Hash {
			return result, ErrMismatch
		}
		return result, json.Unmarshal([]byte(body), &result)
	}
	if result, err = fn(c); err != nil {
		return result, err
	}
	text, err := json.Marshal(result)
	if err != nil {
		return result, err
	}
	return result, c.Later(t.answer, string(text), user, once.Key)
}

// before returns the creation time, in microseconds, up to which keys have expired.
func (t *Table) before(now time.Time) int64 { return now.Add(-t.lifetime).UnixMicro() }

// Purge deletes the expired keys of all users, at most limit per transaction, and returns their number.
func (t *Table) Purge(ctx context.Context, db *store.DB, now time.Time, limit int) (int64, error) {
	return db.Purge(ctx, limit, t.purges, t.before(now))
}
