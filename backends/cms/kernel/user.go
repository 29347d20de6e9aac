package kernel

import "slices"

// The roles that every site has. All are guests; a superuser may do everything.
const (
	RoleGuest     = "guest"
	RoleSuperuser = "superuser"
)

// The permissions that a role can give, beside what templates say of their pages.
const (
	PermissionAdmin     = "admin"     // see the administration
	PermissionTemplates = "templates" // change templates and fields
	PermissionUsers     = "users"     // change users and roles, but no superuser
	PermissionSettings  = "settings"  // change the settings of the module and its webhooks
)

// Permissions are all of them.
var Permissions = []string{PermissionAdmin, PermissionTemplates, PermissionUsers, PermissionSettings}

// User is who acts: a user who has signed in, or the guest. It is not changed once it
// is made.
type User struct {
	ID   int64
	Name string
	// Roles are names, sorted; guest is one of them.
	Roles []string
	// Permissions are what the roles give, sorted; empty for a superuser, who needs none.
	Permissions []string
}

// Is reports whether the user has a role.
func (u *User) Is(role string) bool { return slices.Contains(u.Roles, role) }

// Superuser reports whether the user may do everything.
func (u *User) Superuser() bool { return u.Is(RoleSuperuser) }

// Guest reports whether nobody has signed in.
func (u *User) Guest() bool { return u.Name == RoleGuest }

// May reports whether a role of the user gives a permission.
func (u *User) May(permission string) bool {
	return u.Superuser() || slices.Contains(u.Permissions, permission)
}

// Site is the site itself as one who acts: a command, an installation, a job.
func Site() *User { return &User{Roles: []string{RoleSuperuser}} }
