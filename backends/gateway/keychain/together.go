package keychain

import (
	"context"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// togetherKey marks the context of Together; its value is the transaction.
type togetherKey struct{}

func together(ctx context.Context) (c store.Conn, ok bool) {
	c, ok = ctx.Value(togetherKey{}).(store.Conn)
	return c, ok
}

// Together has the changes of people, teams and limits that fn makes with its context be one:
// all of them are made, and seen, when it returns nil, and none otherwise. What fn reads with
// the context has them already. It may be called more than once, so it sets what it captured
// instead of adding to it, and does nothing else with the service.
func (s *Service) Together(ctx context.Context, fn func(ctx context.Context) error) error {
	return s.changeLimits(ctx, func(c store.Conn) error {
		return fn(context.WithValue(c.Context(), togetherKey{}, c))
	})
}

// write changes the database, in the transaction of Together where there is one.
func (s *Service) write(ctx context.Context, fn func(c store.Conn) error) error {
	if c, ok := together(ctx); ok {
		return fn(c)
	}
	return s.db.Write(ctx, fn)
}

// read is write for who only reads.
func (s *Service) read(ctx context.Context, fn func(c store.Conn) error) error {
	if c, ok := together(ctx); ok {
		return fn(c)
	}
	return s.db.Read(ctx, fn)
}

// AddUser makes a user without a gateway key, before they sign in. It is an error with 409
// where there is one with the id.
func (s *Service) AddUser(ctx context.Context, id string) error {
	if err := CheckUserID(id); err != nil {
		return err
	}
	return s.write(ctx, func(c store.Conn) error {
		made, err := s.insertUser(c, &User{ID: id, CreatedAt: s.now()})
		if err == nil && !made {
			err = apierror.New(409, "already_exists", "there is a user %.200q already", id)
		}
		if err != nil {
			return err
		}
		return s.audit(ctx, c, "user.created", id, nil)
	})
}

// Holder is one on whom the operator imposes limits.
type Holder struct {
	ID string
	Limits
}

// LimitedHolders lists those of a kind, such as OnUser, which are people then, that have limits, by id, at most limit
// of them behind after.
func (s *Service) LimitedHolders(ctx context.Context, on, after string, limit int) ([]Holder, error) {
	if !schema.StorableID(after) {
		return nil, nil
	}
	return read(ctx, s, func(row store.Row) (h Holder, err error) {
		var cells limitCells
		if err := row.Scan(append([]any{&h.ID}, cells.into()...)...); err != nil {
			return h, err
		}
		h.Limits, err = cells.read()
		return h, err
	}, `SELECT l.holder, `+limitColumns("l")+` FROM gateway_limits AS l WHERE l.kind = ? AND l.holder > ?
		AND l.holder NOT IN (SELECT id FROM gateway_users WHERE is_service = 1 AND l.kind = 'user') ORDER BY l.holder LIMIT ?`, on, after, limit)
}

// SuspendedUsers lists the people who are suspended, by id, at most limit of them behind after.
func (s *Service) SuspendedUsers(ctx context.Context, after string, limit int) ([]User, error) {
	if !schema.StorableID(after) {
		return nil, nil
	}
	return read(ctx, s, scanUser, selectUsers+`WHERE suspended_at IS NOT NULL AND is_service = 0 AND id > ? ORDER BY id LIMIT ?`, after, limit)
}
