package keychain

import (
	"context"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// togetherKey is the context key of Together's transaction.
type togetherKey struct{}

// together returns the transaction of Together if ctx comes from Together.
func together(ctx context.Context) (c store.Conn, ok bool) {
	c, ok = ctx.Value(togetherKey{}).(store.Conn)
	return c, ok
}

// Together runs fn in one transaction. All changes of users, teams and limits that fn makes with its context become
// visible to others at the same time when fn returns nil; if fn returns an error no change is made. Reads with the
// context see the changes already. fn may be called more than once, so it must assign to captured variables rather than
// add to them. It must not use the service with another context.
func (s *Service) Together(ctx context.Context, fn func(ctx context.Context) error) error {
	return s.changeLimits(ctx, func(c store.Conn) error {
		return fn(context.WithValue(c.Context(), togetherKey{}, c))
	})
}

// write runs fn in a transaction that may write. Inside Together it uses Together's transaction.
func (s *Service) write(ctx context.Context, fn func(c store.Conn) error) error {
	if c, ok := together(ctx); ok {
		return fn(c)
	}
	return s.db.Write(ctx, fn)
}

// read runs fn in a transaction that only reads. Inside Together it uses Together's transaction.
func (s *Service) read(ctx context.Context, fn func(c store.Conn) error) error {
	if c, ok := together(ctx); ok {
		return fn(c)
	}
	return s.db.Read(ctx, fn)
}

// AddUser creates a user without a gateway key, before they sign in. The error has status 409 if a user with the id
// exists.
func (s *Service) AddUser(ctx context.Context, id string) error {
	if err := CheckUserID(id); err != nil {
		return err
	}
	return s.write(ctx, func(c store.Conn) error {
		created, err := s.insertUser(c, &User{ID: id, CreatedAt: s.now()})
		if err == nil && !created {
			err = apierror.New(409, "already_exists", "the user %.200q already exists", id)
		}
		if err != nil {
			return err
		}
		return s.audit(ctx, c, "user.created", id, nil)
	})
}

// Holder has the id of a holder of imposed limits, and these limits.
type Holder struct {
	ID string
	Limits
}

// LimitedHolders returns at most limit holders of a kind, such as OnUser, that have imposed limits. They are ordered by
// id, with ids greater than afterID. Accounts of teams are left out.
func (s *Service) LimitedHolders(ctx context.Context, kind, afterID string, limit int) ([]Holder, error) {
	if !schema.StorableID(afterID) {
		return nil, nil
	}
	return read(ctx, s, func(row store.Row) (h Holder, err error) {
		var cells limitCells
		if err := row.Scan(append([]any{&h.ID}, cells.scanArgs()...)...); err != nil {
			return h, err
		}
		h.Limits, err = cells.read()
		return h, err
	}, `SELECT l.holder, `+limitColumns("l")+` FROM gateway_limits AS l WHERE l.kind = ? AND l.holder > ?
		AND l.holder NOT IN (SELECT id FROM gateway_users WHERE is_service = 1 AND l.kind = 'user') ORDER BY l.holder LIMIT ?`, kind, afterID, limit)
}

// SuspendedUsers returns at most limit suspended people, ordered by id, with ids greater than afterID.
func (s *Service) SuspendedUsers(ctx context.Context, afterID string, limit int) ([]User, error) {
	if !schema.StorableID(afterID) {
		return nil, nil
	}
	return read(ctx, s, scanUser,
		selectUsers+`WHERE suspended_at IS NOT NULL AND is_service = 0 AND id > ? ORDER BY id LIMIT ?`, afterID, limit)
}

// Look runs fn in a transaction that only reads, for packages with tables of their own. Inside Together it uses
// Together's transaction.
func (s *Service) Look(ctx context.Context, fn func(c store.Conn) error) error {
	return s.read(ctx, fn)
}

// Change runs fn in a transaction that may write, for packages with tables of their own, and records the change in the
// audit log in the same transaction. action, subject and details are fields of the AuditEntry; details is encoded as a
// JSON object and may be nil. If Change returns an error nothing is stored. fn may be called more than once. Inside
// Together, Change uses Together's transaction.
func (s *Service) Change(ctx context.Context, action, subject string, details any, fn func(c store.Conn) error) error {
	return s.write(ctx, func(c store.Conn) error {
		if err := fn(c); err != nil {
			return err
		}
		return s.audit(ctx, c, action, subject, details)
	})
}

// StoredKey is a provider key with its limits and its sealed text, which HasText can compare.
type StoredKey struct {
	ProviderKey
	Limits KeyLimits

	sealed string
}

// StoredKeys returns the provider keys of an owner, oldest first. Inside Together it sees the changes made so far.
func (s *Service) StoredKeys(ctx context.Context, owner Owner) ([]StoredKey, error) {
	rows, err := s.keysOf(ctx, owner)
	if err != nil {
		return nil, err
	}
	keys := make([]StoredKey, len(rows))
	for i := range rows {
		row := &rows[i]
		keys[i] = StoredKey{row.ProviderKey, row.storedLimits.OfKey(), row.sealed}
	}
	return keys, nil
}

// LimitStored replaces the limits of a provider key, like LimitKey. Unlike LimitKey it can be used inside Together.
func (s *Service) LimitStored(ctx context.Context, owner Owner, id string, limits KeyLimits) error {
	_, err := s.limitKey(ctx, owner, id, limits)
	return err
}

// HasText reports whether text is the text of the key k. Its errors are those of holds.
func (s *Service) HasText(ctx context.Context, k *StoredKey, text string) (bool, error) {
	text, err := catalog.CheckKey(text)
	if err != nil { // no such text can be stored
		return false, nil
	}
	return s.holds(ctx, k.sealed, k.associated(), text)
}
