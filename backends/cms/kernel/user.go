package kernel

import "slices"

// The roles that every site has. Every user has the role guest; a superuser may do everything.
const (
	RoleGuest     = "guest"
	RoleSuperuser = "superuser"
)

// The permissions that a role can grant. The rights of a role to view, edit and create pages are in the templates
// instead.
const (
	PermissionAdmin     = "admin"     // see the administration
	PermissionTemplates = "templates" // change templates and fields
	PermissionUsers     = "users"     // change users, except superusers
	PermissionSettings  = "settings"  // change the settings of the module and its webhooks
)

// Permissions lists all permissions.
var Permissions = []string{PermissionAdmin, PermissionTemplates, PermissionUsers, PermissionSettings}

// User is the acting user: a user who has signed in, or the guest. A User is immutable.
type User struct {
	ID   int64
	Name string
	// Roles are the sorted names of the user's roles, including guest.
	Roles []string
	// Permissions are the sorted permissions that the roles grant. A superuser needs no permissions, so the list may be
	// empty.
	Permissions []string
}

// Is reports whether the user has the given role.
func (u *User) Is(role string) bool { return slices.Contains(u.Roles, role) }

// Superuser reports whether the user may do everything.
func (u *User) Superuser() bool { return u.Is(RoleSuperuser) }

// Guest reports whether this is the guest, which represents callers who have not signed in.
func (u *User) Guest() bool { return u.Name == RoleGuest }

// May reports whether the user is a superuser or has a role that grants the permission.
func (u *User) May(permission string) bool {
	return u.Superuser() || slices.Contains(u.Permissions, permission)
}

// Site returns the user that represents commands, the installation and jobs. It is a superuser without an ID.
func Site() *User { return &User{Roles: []string{RoleSuperuser}} }
