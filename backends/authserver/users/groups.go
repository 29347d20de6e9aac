package users

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/authserver/claims"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// maxGroupRoles is the maximum number of groups that have roles.
const maxGroupRoles = 1000

// GroupRoles are the roles that a group gives to its members.
type GroupRoles struct {
	Group string
	Roles []string
}

// GroupRoles returns the groups that have roles, ordered by name.
func (s *Users) GroupRoles(ctx context.Context) ([]GroupRoles, error) {
	return kernel.Read(ctx, s.Server, func(c store.Conn) ([]GroupRoles, error) {
		return store.List(c, scanGroup, "SELECT group_name, roles FROM authserver_group_roles"+
			" ORDER BY group_name LIMIT ?", maxGroupRoles)
	})
}

// RolesOfGroup returns the roles of a group, without those of the groups that contain it.
func (s *Users) RolesOfGroup(ctx context.Context, group string) ([]string, error) {
	return kernel.Read(ctx, s.Server, func(c store.Conn) ([]string, error) {
		return rolesOf(c, []string{group})
	})
}

// scanGroup returns the group in a row with the columns group_name and roles.
func scanGroup(r store.Row) (g GroupRoles, err error) {
	var roles string
	if err = r.Scan(&g.Group, &roles); err != nil {
		return g, err
	}
	return g, json.Unmarshal([]byte(roles), &g.Roles)
}

// Check returns an error with status 422 for an invalid name or invalid roles of a group.
func (g *GroupRoles) Check() error {
	u := User{Role: RoleUser, Groups: []string{g.Group}}
	if u.check() != nil {
		return Invalid("group", "a group must be one line of 1 to 100 characters")
	}
	if fault := claims.RolesFault(g.Roles); fault != "" {
		return Invalid("roles", fault)
	}
	return nil
}

// SetGroupRoles replaces the roles of a group; an empty list removes them. The audit event names the actor. The error
// has status 422 if a value is invalid, and 409 if too many groups have roles.
func (s *Users) SetGroupRoles(ctx context.Context, g GroupRoles, actor string) error {
	if err := g.Check(); err != nil {
		return err
	}
	err := s.Write(ctx, func(c store.Conn) error {
		if len(g.Roles) == 0 {
			_, err := c.Exec("DELETE FROM authserver_group_roles WHERE group_name = ?", g.Group)
			return err
		}
		var count int
		if err := c.Row("SELECT count(*) FROM authserver_group_roles WHERE group_name <> ?",
			g.Group).Scan(&count); err != nil {
			return err
		}
		if count >= maxGroupRoles {
			return apierror.New(http.StatusConflict, "conflict",
				"%d groups have roles already, which is the maximum; remove the roles of another group first", maxGroupRoles)
		}
		_, err := c.Exec("INSERT INTO authserver_group_roles (group_name, roles) VALUES (?, ?) ON CONFLICT (group_name)"+
			" DO UPDATE SET roles = excluded.roles", g.Group, kernel.JSON(g.Roles))
		return err
	})
	if err == nil {
		s.Audit(ctx, kernel.Event{
			Action: "group.roles_set", Actor: actor,
			Detail: []string{"group", g.Group, "roles", strings.Join(g.Roles, ", ")},
		})
	}
	return err
}

// rolesOf returns the roles of groups, each once.
func rolesOf(c store.Conn, groups []string) (roles []string, err error) {
	for chunk := range slices.Chunk(groups, 200) { // to limit the number of parameters of a statement
		args := make([]any, len(chunk))
		for i, group := range chunk {
			args[i] = group
		}
		found, err := store.List(c, scanGroup, "SELECT group_name, roles FROM authserver_group_roles WHERE group_name IN (?"+
			strings.Repeat(", ?", len(chunk)-1)+") ORDER BY group_name", args...)
		if err != nil {
			return nil, err
		}
		for _, g := range found {
			for _, role := range g.Roles {
				if !slices.Contains(roles, role) {
					roles = append(roles, role)
				}
			}
		}
	}
	return roles, nil
}
