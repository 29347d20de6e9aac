package accounts

import (
	"context"
	"slices"
	"strconv"

	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Role is a role of a site. Users who have the role have its permissions, and the rights that templates give to the
// role.
type Role struct {
	ID          int64    `json:"id"`
	Name        string   `json:"name"`
	Label       string   `json:"label"`
	Permissions []string `json:"permissions"` // sorted; all permissions for superuser
	System      bool     `json:"system"`      // guest or superuser
}

// Roles returns all roles, ordered by ID.
func (a *Accounts) Roles(ctx context.Context) (list []*Role, err error) {
	err = a.Read(ctx, func(c kernel.Conn) error {
		list, err = store.List(c, func(r store.Row) (*Role, error) {
			role := &Role{Permissions: []string{}}
			err := r.Scan(&role.ID, &role.Name, &role.Label)
			role.System = role.Name == kernel.RoleGuest || role.Name == kernel.RoleSuperuser
			return role, err
		}, "SELECT id, name, label FROM cms_roles ORDER BY id LIMIT 1000")
		if err != nil {
			return err
		}
		byID := make(map[int64]*Role, len(list))
		for _, role := range list {
			byID[role.ID] = role
			if role.Name == kernel.RoleSuperuser {
				role.Permissions = slices.Sorted(slices.Values(kernel.Permissions))
			}
		}
		return c.All("SELECT role_id, permission FROM cms_permissions ORDER BY permission", nil, func(r store.Row) error {
			var id int64
			var permission string
			err := r.Scan(&id, &permission)
			if role := byID[id]; role != nil {
				role.Permissions = append(role.Permissions, permission)
			}
			return err
		})
	})
	return list, err
}

// maxRoles limits the number of roles, because all roles are read at once.
const maxRoles = 200

// SaveRole creates a role if its ID is 0, and otherwise changes it. Only a superuser may do this, because roles define
// what all other users may do. The system roles guest and superuser keep their names and have no stored permissions:
// superusers need none, and guests must not have any.
func (a *Accounts) SaveRole(ctx context.Context, actor *kernel.User, role Role) (*Role, error) {
	if err := mayChangeRoles(actor); err != nil {
		return nil, err
	}
	if !kernel.GoodName(role.Name) {
		return nil, kernel.BadName()
	}
	if len(role.Label) > 255 {
		return nil, kernel.Invalid("label", "length", "the label may have at most 255 bytes")
	}
	for _, permission := range role.Permissions {
		if !slices.Contains(kernel.Permissions, permission) {
			return nil, kernel.Invalid("permissions", "unknown", "there is no permission "+strconv.Quote(permission))
		}
	}
	role.Permissions = slices.Compact(slices.Sorted(slices.Values(role.Permissions)))
	err := a.change(ctx, "", func(c kernel.Conn) error {
		if err := role.save(c); err != nil {
			return err
		}
		if _, err := c.Exec("DELETE FROM cms_permissions WHERE role_id = ?", role.ID); err != nil {
			return err
		}
		for _, permission := range role.Permissions {
			if _, err := c.Exec("INSERT INTO cms_permissions (role_id, permission) VALUES (?, ?)",
				role.ID, permission); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &role, nil
}

// save stores a role without its permissions. For a new role it sets the ID.
func (r *Role) save(c kernel.Conn) error {
	var nameOwner, count int64
	err := c.Row("SELECT COALESCE(MAX(CASE WHEN name = ? THEN id END), 0), COUNT(*) FROM cms_roles",
		r.Name).Scan(&nameOwner, &count)
	switch {
	case err != nil:
		return err
	case nameOwner != 0 && nameOwner != r.ID:
		return kernel.Invalid("name", "taken", "a role with this name exists already")
	case r.ID == 0 && count >= maxRoles:
		return kernel.Conflict("the site has the maximum number of roles, which is %d", maxRoles)
	case r.ID == 0:
		return c.Row("INSERT INTO cms_roles (name, label) VALUES (?, ?) RETURNING id", r.Name, r.Label).Scan(&r.ID)
	}
	var old string
	if err := c.Row("SELECT name FROM cms_roles WHERE id = ?", r.ID).Scan(&old); err != nil {
		return kernel.OrNotFound(err, "role")
	}
	r.System = old == kernel.RoleGuest || old == kernel.RoleSuperuser
	if r.System && (r.Name != old || len(r.Permissions) > 0) {
		return kernel.Conflict("the name and the permissions of the system role %s cannot be changed", old)
	}
	_, err = c.Exec("UPDATE cms_roles SET name = ?, label = ? WHERE id = ?", r.Name, r.Label, r.ID)
	return err
}

// DeleteRole deletes a role and removes it from all users and templates.
func (a *Accounts) DeleteRole(ctx context.Context, actor *kernel.User, id int64) error {
	if err := mayChangeRoles(actor); err != nil {
		return err
	}
	return a.change(ctx, "", func(c kernel.Conn) error {
		var name string
		if err := c.Row("SELECT name FROM cms_roles WHERE id = ?", id).Scan(&name); err != nil {
			return kernel.OrNotFound(err, "role")
		}
		if name == kernel.RoleGuest || name == kernel.RoleSuperuser {
			return kernel.Conflict("the role %s is a system role and cannot be deleted", name)
		}
		_, err := c.Exec("DELETE FROM cms_roles WHERE id = ?", id)
		return err
	})
}

// mayChangeRoles returns an error if actor must not change roles. A nil actor is the site itself.
func mayChangeRoles(actor *kernel.User) error {
	if actor != nil && !actor.Superuser() {
		return kernel.Forbidden("only a superuser may change roles")
	}
	return nil
}

// permissions returns the stored permissions of a role, which is given by its name.
func permissions(c kernel.Conn, role string) ([]string, error) {
	return store.List(c, scanText, "SELECT p.permission FROM cms_permissions p JOIN cms_roles r ON r.id = p.role_id WHERE r.name = ?", role)
}
