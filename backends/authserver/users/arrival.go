package users

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// SwapGroups removes the groups in less from a user and adds those in more, up to the maximum number of groups. c must
// be a transaction.
func (s *Users) SwapGroups(c store.Conn, u *User, less, more []string) error {
	groups := slices.DeleteFunc(slices.Clone(u.Groups), func(group string) bool {
		return slices.Contains(less, group) && !slices.Contains(more, group)
	})
	for _, group := range storable(more) {
		if !slices.Contains(groups, group) && len(groups) < maxGroup {
			groups = append(groups, group)
		}
	}
	if slices.Equal(groups, u.Groups) {
		return nil
	}
	raw, err := json.Marshal(append([]string{}, groups...))
	if err != nil {
		return err
	}
	u.Groups, u.UpdatedAt = groups, s.Micros()
	if _, err = c.Exec("UPDATE authserver_users SET user_groups = ?, updated_at = ? WHERE id = ?",
		string(raw), u.UpdatedAt, u.ID); err != nil {
		return err
	}
	return c.Notify("authserver_"+Topic, u.ID)
}

// Note adds an event about the user with an id to the audit feed, and makes this node drop the user from its caches.
// The event names the actor.
func (s *Users) Note(ctx context.Context, action, actor, id string, detail ...string) {
	s.Tell(Topic, id)
	s.note(ctx, action, actor, id, detail...)
}

// EndAll ends all sessions and tokens of a user. c must be a transaction.
func (s *Users) EndAll(c store.Conn, id string) error { return s.end(c, id) }

// HasPassword reports whether a user has a password.
func HasPassword(c store.Conn, id string) (result bool, err error) {
	err = c.Row("SELECT password <> '' FROM authserver_users WHERE id = ?", id).Scan(&result)
	return result, err
}

// IsOf reports whether a user is linked with a person of an issuer in the section oidc.
func IsOf(c store.Conn, id, issuer string) (linked bool, err error) {
	err = c.Row("SELECT subject <> '' AND issuer = ? FROM authserver_users WHERE id = ?", issuer, id).Scan(&linked)
	return linked, err
}

// Leave removes the link between a user and the person who has this issuer and subject in the section oidc.
func Leave(c store.Conn, id, issuer, subject string) error {
	_, err := c.Exec("UPDATE authserver_users SET issuer = '', subject = '' WHERE id = ? AND issuer = ? AND subject = ?",
		id, issuer, subject)
	return err
}
