package keychain

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Identity describes the user and team for whom a request is made, and the limits that apply to the request.
type Identity struct {
	UserID     string
	TeamID     string // the team that the requests count for; empty means no team
	KeyID      string
	Label      string
	EffortMode EffortMode
	// Limits are those that the user has set on the key. Imposed are those set by the operator and by the
	// administrators of the team. All of them apply.
	Limits
	Imposed []Imposed

	expires int64 // Unix microseconds; 0 if it never expires
}

// expired reports whether the key, or the limits for requests without a key, have expired at the time now.
func (id *Identity) expired(now time.Time) bool {
	return id.expires != 0 && schema.Micros(now) >= id.expires
}

// cachedKey is the cached result of a lookup. A nil id means that no valid key was found.
type cachedKey struct{ id *Identity }

// changes counts the changes made through this Service. A read that began before a change compares the counts and does
// not cache its stale result.
type changes struct {
	mu sync.Mutex
	n  uint64 // the number of changes; mu guards it, and is also held while results are written to the caches
}

// current returns the number of changes so far.
func (c *changes) current() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// forgetKey discards every result about a key that was read before now. It deletes the cached result, after waiting
// for results that are still on their way into the cache. It also increments the number of changes, so that a read
// under way does not cache its result. Later calls do not join that read, since reads are named by the number of
// changes and the key.
func (s *Service) forgetKey(hash string) {
	s.changes.mu.Lock()
	defer s.changes.mu.Unlock()
	s.changes.n++
	s.keys.Wait()
	s.keys.Del(hash)
}

// topic is the topic of notices between the nodes on a database. A notice consists of the sender's id, a kind and an
// id. For the kind "key" the id is the hash of a gateway key, as in the database. For the kind "account" it is the id
// of a user. Any other text means that everything may have changed.
const topic = "gateway"

// notify sends a notice to the other nodes when the transaction c commits. kind and id are as described at topic.
func (s *Service) notify(c store.Conn, kind, id string) error {
	return c.Notify(topic, s.origin+" "+kind+" "+id)
}

// changeKey runs fn in a transaction. fn changes a gateway key and returns its hash. Every node then discards its
// cached identity of the key; this node does so before changeKey returns.
func (s *Service) changeKey(ctx context.Context, fn func(c store.Conn) (hash string, err error)) error {
	var hash string
	err := s.db.Write(ctx, func(c store.Conn) (err error) {
		if hash, err = fn(c); err != nil {
			return err
		}
		return s.notify(c, "key", hash)
	})
	if err == nil {
		s.forgetKey(hash)
	}
	return err
}

// changeAccount runs fn, which changes a part of the user's Account, in a transaction. Every node then discards its
// cached account; this node does so before changeAccount returns.
func (s *Service) changeAccount(ctx context.Context, userID string, fn func(c store.Conn) error) error {
	err := s.db.Write(ctx, func(c store.Conn) error {
		if err := fn(c); err != nil {
			return err
		}
		return s.notify(c, "account", userID)
	})
	if err == nil {
		s.forgetAccount(userID)
	}
	return err
}

// handleNotice handles a notice of another node: it discards the cached results that the notice names.
func (s *Service) handleNotice(notice string) {
	origin, change, _ := strings.Cut(notice, " ")
	kind, id, _ := strings.Cut(change, " ")
	switch {
	case origin == s.origin: // this node has discarded its results already
	case kind == "key":
		s.forgetKey(id)
	case kind == "account":
		s.forgetAccount(id)
	default:
		s.forgetAll()
	}
}

// forgetAll discards all cached keys and accounts, after a change that may concern many of them.
func (s *Service) forgetAll() {
	s.changes.mu.Lock()
	defer s.changes.mu.Unlock()
	s.changes.n++
	s.keys.Wait()
	s.keys.Clear()
	s.accounts.Wait()
	s.accounts.Clear()
}

// errInvalidKey returns the error for every invalid key. All of them get the same error, so that clients cannot
// distinguish an unknown key from an expired or revoked key.
func errInvalidKey() error {
	return apierror.New(http.StatusUnauthorized, "invalid_api_key",
		"the gateway key is not valid: it is unknown, expired or revoked")
}

// Authenticate returns the identity of a gateway key. Every text is hashed and looked up in the same way, so that the
// response time does not reveal whether a key is nearly right. Its errors are 401 invalid_api_key, and those that wrap
// store.ErrUnavailable.
func (s *Service) Authenticate(ctx context.Context, key string) (*Identity, error) {
	key = strings.TrimSpace(key)
	if len(key) > 256 {
		key = key[:256] // longer than any key, so it will not be found
	}
	hash := hashKey(key)
	id, err := s.identity(ctx, hash, func(ctx context.Context) (*Identity, error) { return s.selectIdentity(ctx, hash) })
	if err != nil {
		return nil, err
	}
	return s.accept(id)
}

// Keyless returns the identity for requests that a user makes without a gateway key. Only the limits imposed on the
// user, on their default team and on the organisation apply to them. The error has status 403 if such a limit has
// expired.
func (s *Service) Keyless(ctx context.Context, userID string) (*Identity, error) {
	id, err := s.identity(ctx, "user/"+userID, func(ctx context.Context) (*Identity, error) {
		var id *Identity
		err := s.db.Read(ctx, func(c store.Conn) (err error) {
			id, err = s.keyless(c, userID)
			return err
		})
		return id, err
	})
	if err == nil && id.expired(s.now()) {
		return nil, apierror.New(http.StatusForbidden, "expired",
			"the limits on the user %.200q, on their team or on the organisation have expired: ask the operator for a later expiry",
			userID)
	}
	return id, err
}

// keyless reads the team of a user and the limits that apply to their requests without a key.
func (s *Service) keyless(c store.Conn, userID string) (*Identity, error) {
	id := &Identity{UserID: userID, EffortMode: EffortOverride}
	standing, err := s.standing(c, userID)
	if err == nil {
		err = standing.refusal(userID)
	}
	if err != nil {
		return nil, err
	}
	var team sql.NullString
	err = c.Row(`SELECT team_id FROM gateway_users WHERE id = ?`, userID).Scan(&team)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	id.TeamID = team.String
	// In the order of limitHolders, since bounds expects the two kinds of limits on a team side by side.
	for _, holder := range [...]Owner{
		{OnUser, userID}, {OnTeam, id.TeamID}, {OnTeamOwn, id.TeamID}, TheOrganisation,
	} {
		limits, raise, err := s.imposedWithRaise(c, holder.Kind, holder.ID)
		if err != nil {
			return nil, err
		}
		if !limits.empty() {
			id.Imposed = append(id.Imposed, newImposed(holder.Kind, holder.ID, limits, raise))
		}
	}
	if end := earliestEnd(new(Limits), id.Imposed); end != nil {
		id.expires = schema.Micros(*end)
	}
	return id, nil
}

// identity returns the identity cached under the given name. If there is none it calls load and caches the result,
// which may be nil. Concurrent calls with the same name share one call of load.
func (s *Service) identity(ctx context.Context, name string, load func(ctx context.Context) (*Identity, error),
) (*Identity, error) {
	if cached, ok := s.keys.Get(name); ok {
		return cached.id, nil
	}
	version := s.changes.current()
	found, err := s.reads.Do(ctx, fmt.Sprint("key/", version, "/", name), func(ctx context.Context) (any, error) {
		id, err := load(ctx)
		if err != nil {
			return nil, err
		}
		cached := &cachedKey{id}
		s.changes.mu.Lock()
		if s.changes.n == version {
			s.keys.SetWithTTL(name, cached, 1, s.ttl)
		}
		s.changes.mu.Unlock()
		return cached, nil
	})
	if err != nil {
		return nil, err
	}
	return found.(*cachedKey).id, nil
}

// accept returns id, or an error if id is nil or has expired. It checks on every call, since a cached key may expire.
func (s *Service) accept(id *Identity) (*Identity, error) {
	now := s.now()
	if id == nil {
		return nil, errInvalidKey()
	}
	if id.expired(now) {
		s.recordExpired(id, now)
		return nil, errInvalidKey()
	}
	s.used.accepted.mark(id.KeyID, now)
	return id, nil
}

// CodeKeyExpired is the code of a usage record for a request with an expired key.
const CodeKeyExpired = "key_expired"

// recordExpired records in the usage log that an expired key was sent. It does so at most once a minute per key. The
// response does not mention the expiry, since the sender need not be the key's user.
func (s *Service) recordExpired(id *Identity, now time.Time) {
	if s.used.expired.mark(id.KeyID, now) {
		s.ledger.Add(spending.Record{
			At: now, UserID: id.UserID, TeamID: id.TeamID, KeyID: id.KeyID, Status: http.StatusUnauthorized,
			Code: CodeKeyExpired,
		})
	}
}
