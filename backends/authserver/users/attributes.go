package users

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/authserver/claims"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// Given holds the roles and attributes that the operator has assigned to a user.
type Given struct {
	Roles      []string
	Attributes map[string][]string
}

// Check returns an error with status 422 for invalid roles or attributes.
func (g *Given) Check() error {
	if fault := claims.RolesFault(g.Roles); fault != "" {
		return Invalid("roles", fault)
	}
	if fault := claims.AttributesFault(g.Attributes); fault != "" {
		return Invalid("attributes", fault)
	}
	return nil
}

// Given returns the roles and attributes of a user, which may be empty.
func (s *Users) Given(ctx context.Context, id string) (Given, error) {
	return kernel.Read(ctx, s.Server, func(c store.Conn) (Given, error) {
		return givenIn(c, id)
	})
}

// givenIn returns the roles and attributes of the user with an id, read with the connection c.
func givenIn(c store.Conn, id string) (g Given, err error) {
	var roles, attributes string
	err = c.Row("SELECT roles, attributes FROM authserver_user_facts WHERE user_id = ?",
		text.Storable(id)).Scan(&roles, &attributes)
	if err != nil {
		return g, kernel.IfNoRows(err, nil)
	}
	return g, errors.Join(json.Unmarshal([]byte(roles), &g.Roles), json.Unmarshal([]byte(attributes), &g.Attributes))
}

// Regroup replaces the groups, roles and attributes of a user, and returns the user with the new values. Nil arguments
// leave the stored values unchanged. Tokens contain the new values from the next refresh on. The audit event names the
// actor. If the user does not exist, IsNone reports true for the error. If a value is invalid, the error has status
// 422.
func (s *Users) Regroup(
	ctx context.Context, id string, groups, roles *[]string, attributes *map[string][]string, actor string,
) (*User, Given, error) {
	var u *User
	var g Given
	err := s.Change(ctx, Topic, id, func(c store.Conn) (err error) {
		// The lists are written as a whole. So the user is locked, since a concurrent change would otherwise be lost.
		var locked string
		if err := c.Row("SELECT id FROM authserver_users WHERE id = ?"+c.Lock(), text.Storable(id)).Scan(&locked); err != nil {
			return kernel.IfNoRows(err, errNoUser())
		}
		if u, err = In(c, id); err != nil {
			return err
		}
		if g, err = givenIn(c, id); err != nil {
			return err
		}
		set(&u.Groups, groups)
		set(&g.Roles, roles)
		set(&g.Attributes, attributes)
		if err := errors.Join(u.check(), g.Check()); err != nil {
			return err
		}
		u.UpdatedAt = s.Micros()
		if _, err := c.Exec("UPDATE authserver_users SET user_groups = ?, updated_at = ? WHERE id = ?",
			kernel.JSON(u.Groups), u.UpdatedAt, u.ID); err != nil {
			return err
		}
		return g.store(c, id)
	})
	if err != nil {
		return nil, g, err
	}
	s.Audit(ctx, kernel.Event{
		Action: "user.updated", Actor: actor,
		Detail: []string{"user", id, "of", "groups, roles and attributes"},
	})
	return u, g, nil
}

// Put stores the roles and attributes of a new user. The user must have been created in the same transaction, and Check
// must have succeeded.
func (g *Given) Put(c store.Conn, id string) error {
	if len(g.Roles)+len(g.Attributes) == 0 {
		return nil
	}
	return g.store(c, id)
}

// store stores the roles and attributes of a user. If they are empty, store deletes their row.
func (g *Given) store(c store.Conn, id string) error {
	attributes := "{}"
	if len(g.Attributes) > 0 {
		attributes = kernel.JSON(g.Attributes)
	}
	_, err := c.Exec("INSERT INTO authserver_user_facts (user_id, roles, attributes) VALUES (?, ?, ?)"+
		" ON CONFLICT (user_id) DO UPDATE SET roles = excluded.roles, attributes = excluded.attributes",
		id, kernel.JSON(g.Roles), attributes)
	return err
}

// Facts returns the groups and attributes of a user, and the roles of the user and of these groups. If the user does
// not exist, they are empty.
func (s *Users) Facts(ctx context.Context, id string) (*claims.Facts, error) {
	f := new(claims.Facts)
	err := s.Read(ctx, func(c store.Conn) error {
		*f = claims.Facts{}
		u, err := In(c, id)
		if IsNone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		g, err := givenIn(c, id)
		if err != nil {
			return err
		}
		f.Groups, f.Attributes, f.Roles = u.Groups, g.Attributes, g.Roles
		groupRoles, err := rolesOf(c, withAncestors(u.Groups))
		if err != nil {
			return err
		}
		for _, role := range groupRoles {
			if !slices.Contains(f.Roles, role) {
				f.Roles = append(f.Roles, role)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(f.Roles)
	return f, nil
}

// withAncestors returns the groups and the groups that contain them: "a/b/c" is contained in "a/b", and that in "a".
func withAncestors(groups []string) (names []string) {
	for _, group := range groups {
		for end := len(group); end > 0; end = strings.LastIndexByte(group[:end], '/') {
			if ancestor := group[:end]; !slices.Contains(names, ancestor) {
				names = append(names, ancestor)
			}
		}
	}
	return names
}
