package kernel

import "slices"

// The roles that every site has. Every user has the role guest; a superuser may do everything.
const (
	RoleGuest     = "guest"
	RoleSuperuser = "superuser"
)

// The permissions that a role can grant, in addition to what templates allow roles to do with their pages.
const (
	PermissionAdmin     = "admin"     // see the administration
	PermissionTemplates = "templates" // change templates and fields
	PermissionUsers     = "users"     // change users and roles, but no superuser
	PermissionSettings  = "settings"  // change the settings of the module and its webhooks
)

// Permissions lists all permissions.
var Permissions = []string{PermissionAdmin, PermissionTemplates, PermissionUsers, PermissionSettings}

// User is the acting user: one who has signed in, or the guest. It is immutable.
type User struct {
	ID   int64
	Name string
	// Roles are the names of the user's roles, sorted. They include guest.
	Roles []string
	// Permissions are the permissions that the roles grant, sorted. The list is empty for a superuser, who needs
	// none.
	Permissions []string
}

// Is reports whether the user has a role.
func (u *User) Is(role string) bool { return slices.Contains(u.Roles, role) }

// Superuser reports whether the user may do everything.
func (u *User) Superuser() bool { return u.Is(RoleSuperuser) }

// Guest reports whether nobody has signed in.
func (u *User) Guest() bool { return u.Name == RoleGuest }

// May reports whether a role of the user grants a permission.
func (u *User) May(permission string) bool {
	return u.Superuser() || slices.Contains(u.Permissions, permission)
}

// Site returns the user in whose name commands, the installation and jobs act. It is a superuser without an ID.
func Site() *User { return &User{Roles: []string{RoleSuperuser}} }
