package users

import (
	"context"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// SwapGroups removes groups from a user and adds others, up to the maximum number of groups. A group that is both
// removed and added stays. SwapGroups stores the result and changes u. c must be a transaction; after the commit the
// caller must call Note.
func (s *Users) SwapGroups(c store.Conn, u *User, remove, add []string) error {
	groups := slices.DeleteFunc(slices.Clone(u.Groups), func(group string) bool {
		return slices.Contains(remove, group) && !slices.Contains(add, group)
	})
	for _, group := range storable(add) {
		if !slices.Contains(groups, group) && len(groups) < maxGroup {
			groups = append(groups, group)
		}
	}
	if slices.Equal(groups, u.Groups) {
		return nil
	}
	u.Groups, u.UpdatedAt = groups, s.Micros()
	if _, err := c.Exec("UPDATE authserver_users SET user_groups = ?, updated_at = ? WHERE id = ?",
		kernel.JSON(u.Groups), u.UpdatedAt, u.ID); err != nil {
		return err
	}
	return c.Notify("authserver_"+Topic, u.ID)
}

// Note adds an event about the user with an id to the audit feed, and makes this node drop the user from its caches.
// The event names the actor. The detail consists of names and values, alternately.
func (s *Users) Note(ctx context.Context, action, actor, id string, detail ...string) {
	s.Tell(Topic, id)
	s.note(ctx, action, actor, id, detail...)
}

// HasPassword reports whether a user has a password. If the user does not exist, the error is sql.ErrNoRows.
func HasPassword(c store.Conn, id string) (hasPassword bool, err error) {
	err = c.Row("SELECT password <> '' FROM authserver_users WHERE id = ?", id).Scan(&hasPassword)
	return hasPassword, err
}

// IsOf reports whether a user is linked with a person at the issuer, the provider of the section oidc. If the user does
// not exist, the error is sql.ErrNoRows.
func IsOf(c store.Conn, id, issuer string) (linked bool, err error) {
	err = c.Row("SELECT subject <> '' AND issuer = ? FROM authserver_users WHERE id = ?", issuer, id).Scan(&linked)
	return linked, err
}

// Leave removes the link between a user and the person with this issuer and subject at the provider of the section
// oidc. It does nothing if they are not linked.
func Leave(c store.Conn, id, issuer, subject string) error {
	_, err := c.Exec("UPDATE authserver_users SET issuer = '', subject = '' WHERE id = ? AND issuer = ? AND subject = ?",
		id, issuer, subject)
	return err
}
