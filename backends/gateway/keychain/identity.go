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

// Identity is who a gateway key stands for.
type Identity struct {
	UserID     string
	TeamID     string // that the requests count for; empty: none
	KeyID      string
	Label      string
	EffortMode EffortMode
	// Limits are the user's own for the key, and Imposed those that the operator has set
	// beside them. All of them count.
	Limits
	Imposed []Imposed

	expires int64 // Unix microseconds; 0: never
}

func (id *Identity) expired(now time.Time) bool {
	return id.expires != 0 && schema.Micros(now) >= id.expires
}

// cachedKey is the answer to a key: who it is, or (id nil) that it is nobody.
type cachedKey struct{ id *Identity }

// changes numbers the changes made through this Service, so that a read that
// began before a change does not put its stale answer into a cache after it.
type changes struct {
	mu sync.Mutex
	n  uint64
}

func (c *changes) current() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// forgetKey makes every answer about a key that was read before now unusable:
// the one in the cache, the one on its way into it (which could show up after
// the deletion, were it not waited for), and the one that a read still under way
// is about to give: nobody joins it any more, since reads are named by changes too.
func (s *Service) forgetKey(hash string) {
	s.changes.mu.Lock()
	defer s.changes.mu.Unlock()
	s.changes.n++
	s.keys.Wait()
	s.keys.Del(hash)
}

// topic is what the nodes on a database tell each other of: who says it, "key" and
// the hash of a gateway key, which is what the database has of it, or "account" and
// the id of a user.
const topic = "gateway"

func (s *Service) notify(c store.Conn, what, which string) error {
	return c.Notify(topic, s.origin+" "+what+" "+which)
}

// changeKey is write for a change of a gateway key, whose hash fn returns: every
// node looks at the key anew, this one before the call returns.
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

// changeAccount is changeKey for what an Account has of the user.
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

// heard forgets what another node has changed.
func (s *Service) heard(notice string) {
	origin, change, _ := strings.Cut(notice, " ")
	what, which, _ := strings.Cut(change, " ")
	switch {
	case origin == s.origin: // it has forgotten it already
	case what == "key":
		s.forgetKey(which)
	case what == "account":
		s.forgetAccount(which)
	default:
		s.forgetAll()
	}
}

// forgetAll is forgetKey for all keys and accounts, when it is not known which of
// them were changed.
func (s *Service) forgetAll() {
	s.changes.mu.Lock()
	defer s.changes.mu.Unlock()
	s.changes.n++
	s.keys.Wait()
	s.keys.Clear()
	s.accts.Wait()
	s.accts.Clear()
}

// refused is the one answer to every key that is not good, so that an answer
// does not tell an unknown key from one that has ended.
func refused() error {
	return apierror.New(http.StatusUnauthorized, "invalid_api_key",
		"the gateway key is not valid: it is unknown, expired or revoked")
}

// Authenticate tells whom a gateway key stands for. It hashes and looks up
// every text alike, so its time does not tell a near miss from a wild guess.
// Errors: 401 invalid_api_key; or one that wraps store.ErrUnavailable.
func (s *Service) Authenticate(ctx context.Context, key string) (*Identity, error) {
	key = strings.TrimSpace(key)
	if len(key) > 256 {
		key = key[:256] // longer than any key: it will not be found
	}
	hash := hashKey(key)
	id, err := s.identity(ctx, hash, func(ctx context.Context) (*Identity, error) { return s.selectIdentity(ctx, hash) })
	if err != nil {
		return nil, err
	}
	return s.accept(id)
}

// Keyless returns who a request without a gateway key stands for that is made in the name
// of a user: only the limits that are imposed on the user, on their default team and on the
// organisation bind it. It is refused with 403 once they have ended its use.
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

// keyless reads the team of a user and the limits that bind their requests without a key.
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
	for on, holder := range map[string]string{OnUser: userID, OnTeam: id.TeamID, OnOrganisation: Organisation} {
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

// identity reads an identity, or takes it from the cache, where it is called name.
func (s *Service) identity(ctx context.Context, name string, read func(ctx context.Context) (*Identity, error),
) (*Identity, error) {
	if cached, ok := s.keys.Get(name); ok {
		return cached.id, nil
	}
	before := s.changes.current()
	found, err := s.reads.Do(ctx, fmt.Sprint("key/", before, "/", name), func(ctx context.Context) (any, error) {
		id, err := read(ctx)
		if err != nil {
			return nil, err
		}
		cached := &cachedKey{id}
		s.changes.mu.Lock()
		if s.changes.n == before {
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

// accept looks at the clock each time: a key may end while it is in the cache.
func (s *Service) accept(id *Identity) (*Identity, error) {
	now := s.now()
	if id == nil {
		return nil, refused()
	}
	if id.expired(now) {
		s.tellExpired(id, now)
		return nil, refused()
	}
	s.used.accepted.mark(id.KeyID, now)
	return id, nil
}

// CodeKeyExpired is the code of a record that says that an expired key was sent.
const CodeKeyExpired = "key_expired"

// tellExpired notes in the usage log of the key's user that it was sent although it has
// expired, once a minute: the answer does not say so, since who sends it may be anybody.
func (s *Service) tellExpired(id *Identity, now time.Time) {
	if s.used.expired.mark(id.KeyID, now) {
		s.spent.Add(spending.Record{At: now, UserID: id.UserID, TeamID: id.TeamID, KeyID: id.KeyID, Status: http.StatusUnauthorized, Code: CodeKeyExpired})
	}
}
