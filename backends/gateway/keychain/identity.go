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

// Identity describes whom a gateway key stands for.
type Identity struct {
	UserID     string
	TeamID     string // the team that the requests count for; empty if there is none
	KeyID      string
	Label      string
	EffortMode EffortMode
	// Limits are the user's own for the key. Imposed are those that the operator and the administrators of the team have
	// set beside them. All of them apply.
	Limits
	Imposed []Imposed

	expires int64 // Unix microseconds; 0 if it never expires
}

func (id *Identity) expired(now time.Time) bool {
	return id.expires != 0 && schema.Micros(now) >= id.expires
}

// cachedKey is the cached result of a lookup. A nil id means that the key stands for nobody.
type cachedKey struct{ id *Identity }

// changes counts the changes made through this Service, so that a read that began before a change does not put its
// stale result into a cache after it.
type changes struct {
	mu sync.Mutex
	n  uint64
}

func (c *changes) current() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// forgetKey discards every result about a key that was read before now: the one in the cache, the one on its way into
// the cache (which could appear after the deletion if it were not waited for), and that of a read that is still under
// way. Nobody joins such a read any more, since the number of changes is part of its name.
func (s *Service) forgetKey(hash string) {
	s.changes.mu.Lock()
	defer s.changes.mu.Unlock()
	s.changes.n++
	s.keys.Wait()
	s.keys.Del(hash)
}

// topic is the topic of notices between the nodes on a database. A notice consists of the origin, and then either "key"
// with the hash of a gateway key, as in the database, or "account" with the id of a user.
const topic = "gateway"

func (s *Service) notify(c store.Conn, what, which string) error {
	return c.Notify(topic, s.origin+" "+what+" "+which)
}

// changeKey runs fn in a transaction that changes a gateway key, and whose hash fn returns. Every node then reads the
// key anew, this one before the call returns.
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

// changeAccount is like changeKey, for a change of what an Account holds of the user.
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

// heard handles a notice of another node: it forgets what that node has changed.
func (s *Service) heard(notice string) {
	origin, change, _ := strings.Cut(notice, " ")
	what, which, _ := strings.Cut(change, " ")
	switch {
	case origin == s.origin: // forgotten already
	case what == "key":
		s.forgetKey(which)
	case what == "account":
		s.forgetAccount(which)
	default:
		s.forgetAll()
	}
}

// forgetAll is like forgetKey for all keys and accounts. It is used if it is not known which of them were changed.
func (s *Service) forgetAll() {
	s.changes.mu.Lock()
	defer s.changes.mu.Unlock()
	s.changes.n++
	s.keys.Wait()
	s.keys.Clear()
	s.accts.Wait()
	s.accts.Clear()
}

// refused returns the one error for every key that is not valid, so that it does not tell an unknown key from one that
// has ended.
func refused() error {
	return apierror.New(http.StatusUnauthorized, "invalid_api_key",
		"the gateway key is not valid: it is unknown, expired or revoked")
}

// Authenticate returns the identity that a gateway key stands for. It hashes and looks up every text in the same way,
// so that its time does not tell a near miss from a wild guess. Its errors are 401 invalid_api_key, and those that wrap
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

// Keyless returns the identity of a request that is made in the name of a user without a gateway key. Only the limits
// imposed on the user, on their default team and on the organisation apply to it. It returns an error with 403 once
// these limits have ended its use.
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
			"the limits that the operator set on the user %.200q, on their team or on everybody have ended their use", userID)
	}
	return id, err
}

// keyless reads the team of a user and the limits that apply to their requests without a key.
func (s *Service) keyless(c store.Conn, userID string) (*Identity, error) {
	id := &Identity{UserID: userID, EffortMode: EffortOverride}
	st, err := s.standing(c, userID)
	if err == nil {
		err = st.refusal(userID)
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
	for on, holder := range map[string]string{
		OnUser: userID, OnTeam: id.TeamID, OnTeamOwn: id.TeamID, OnOrganisation: Organisation,
	} {
		limits, raise, err := s.imposedWithRaise(c, on, holder)
		if err != nil {
			return nil, err
		}
		if !limits.none() {
			id.Imposed = append(id.Imposed, imposedOn(on, holder, limits, raise))
		}
	}
	if end := ends(new(Limits), id.Imposed); end != nil {
		id.expires = schema.Micros(*end)
	}
	return id, nil
}

// identity returns the cached identity of the given name, or reads it and caches it.
func (s *Service) identity(ctx context.Context, name string, read func(ctx context.Context) (*Identity, error),
) (*Identity, error) {
	if cached, ok := s.keys.Get(name); ok {
		return cached.id, nil
	}
	version := s.changes.current()
	found, err := s.reads.Do(ctx, fmt.Sprint("key/", version, "/", name), func(ctx context.Context) (any, error) {
		id, err := read(ctx)
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

// accept checks the end of a key on every call, since a key may end while it is in the cache.
func (s *Service) accept(id *Identity) (*Identity, error) {
	now := s.now()
	if id == nil {
		return nil, refused()
	}
	if id.expired(now) {
		s.recordExpired(id, now)
		return nil, refused()
	}
	s.used.accepted.mark(id.KeyID, now)
	return id, nil
}

// CodeKeyExpired is the code of a usage record that says that an expired key was sent.
const CodeKeyExpired = "key_expired"

// recordExpired records in the usage log that an expired key was sent, at most once a minute per key. The response does
// not say so, since anybody may have sent it.
func (s *Service) recordExpired(id *Identity, now time.Time) {
	if s.used.expired.mark(id.KeyID, now) {
		s.spent.Add(spending.Record{
			At: now, UserID: id.UserID, TeamID: id.TeamID, KeyID: id.KeyID, Status: http.StatusUnauthorized,
			Code: CodeKeyExpired,
		})
	}
}
