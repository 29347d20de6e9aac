package admin

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/cms/accounts"
	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/internal/resource"
)

// itoa formats an ID.
func itoa(id int64) string { return strconv.FormatInt(id, 10) }

// joinedCell returns a cell with several texts.
func joinedCell(texts []string) resource.Cell { return resource.Text(strings.Join(texts, ", ")) }

// idOf returns the ID of the record that an action concerns. In a list, row is this ID. On the page of a single
// record, row is empty, and the path contains the ID at the given wildcard.
func (c *call) idOf(row, wildcard string) int64 {
	if row == "" {
		return c.ID(wildcard)
	}
	id, _ := strconv.ParseInt(row, 10, 64) // 0 is not found
	return id
}

var userList = resource.List[*call, *accounts.Account]{
	Path: "/users", Admit: requirePeople, Nouns: [2]string{"user", "users"}, CSV: "users.csv",
	Head:  resource.Head{Title: "Users", New: resource.Target{Label: "New user", Path: "/users/new"}},
	Empty: "There are no users yet. Create the first one.",
	Columns: []resource.Column[*accounts.Account]{
		{Label: "Name", Sort: "name", Show: func(u *accounts.Account) resource.Cell {
			if u.Name == kernel.RoleGuest {
				return resource.Text(u.Name)
			}
			return resource.Link("/users/"+itoa(u.ID), u.Name)
		}},
		{Label: "Mail address", Text: func(u *accounts.Account) string { return u.Email }},
		{Label: "Roles", Show: func(u *accounts.Account) resource.Cell { return joinedCell(u.Roles) }},
		{Label: "Status", Show: userStatus},
		{Label: "Since", Sort: "since", Down: true, Time: func(u *accounts.Account) kernel.Moment { return u.Created }},
	},
	Filters: []resource.Input[*call]{
		{Name: "q", Label: "Beginning of the name, or mail address", Max: 255},
		{Name: "role", Label: "Role", Options: func(c *call) ([]resource.Choice, error) {
			return c.roleChoices(resource.All(), kernel.RoleGuest)
		}},
		{Name: "status", Label: "Status", Options: func(*call) ([]resource.Choice, error) {
			return resource.All(resource.Words(accounts.StatusActive, accounts.StatusDisabled)...), nil
		}},
	},
	Fixed: func(q resource.Query) bool { return q.Text("q") != "" || q.Text("role") != "" },
	Rows: func(c *call, q resource.Query) ([]*accounts.Account, string, error) {
		return c.Accounts.Find(c.ctx(), accounts.Query{
			Text: q.Text("q"), Role: q.Text("role"), Status: q.Text("status"), Newest: q.Sort == "since", After: q.After,
			Limit: q.Limit,
		})
	},
	ID: func(u *accounts.Account) string { return itoa(u.ID) }, Name: func(u *accounts.Account) string { return u.Name },
	Actions: userActions,
}

// userStatus returns a cell with the user's status. A disabled user is marked with the CSS class gone.
func userStatus(u *accounts.Account) resource.Cell {
	return resource.Tag(u.Status, map[string]string{accounts.StatusDisabled: "gone"}[u.Status])
}

// userActions are the actions on a user, in the list and on the user's page.
var userActions = []resource.Action[*call]{
	{
		Name: "activate", Label: "Activate", Done: "activated",
		Do: func(c *call, id string) error { return c.setStatus(id, accounts.StatusActive) },
	},
	{
		Name: "disable", Label: "Disable", Done: "disabled",
		Do: func(c *call, id string) error { return c.setStatus(id, accounts.StatusDisabled) },
	},
	{
		Name: "delete", Label: "Delete", Done: "deleted", Danger: true, To: "/users",
		Confirm: "Deleted users cannot be restored. The pages that they created are kept.",
		Do:      func(c *call, id string) error { return c.Accounts.Delete(c.ctx(), c.user, c.idOf(id, "userId")) },
	},
}

// setStatus changes the status of the user whom idOf returns for row.
func (c *call) setStatus(row, status string) error {
	_, err := c.Accounts.Update(c.ctx(), c.user, c.idOf(row, "userId"), accounts.Change{Status: &status})
	return err
}

// roleChoices appends all roles except excluded to list.
func (c *call) roleChoices(list []resource.Choice, excluded string) ([]resource.Choice, error) {
	roles, err := c.Accounts.Roles(c.ctx())
	for _, role := range roles {
		if role.Name != excluded {
			list = append(list, resource.Choice{Value: role.Name, Label: cmp.Or(role.Label, role.Name)})
		}
	}
	return list, err
}

// user is the form of a user. An empty password leaves the password unchanged.
type user struct {
	accounts.Account
	Password string
}

// isOldUser reports whether the form changes an existing user.
func isOldUser(_ *call, u *user) bool { return u.ID != 0 }

var userForm = resource.Form[*call, user]{
	Path: "/users/{userId}", New: "/users/new", Admit: requirePeople,
	Head: resource.Head{Title: "New user", Above: []resource.Target{{Label: "Users", Path: "/users"}}},
	About: func(_ *call, u *user, h *resource.Head) error {
		h.Title = cmp.Or(u.Account.Name, h.Title)
		if u.Status == accounts.StatusDisabled {
			h.Marks = []resource.Cell{userStatus(&u.Account)}
		}
		return nil
	},
	Load: func(c *call) (*user, error) {
		if c.R.PathValue("userId") == "" {
			return new(user), nil
		}
		account, err := c.Accounts.Account(c.ctx(), c.ID("userId"))
		if err != nil {
			return nil, err
		}
		return &user{Account: *account}, nil
	},
	Fields: []resource.Field[*call, user]{
		{
			Name: "name", Label: "Name", Required: true, Max: kernel.MaxName, Hide: isOldUser,
			Text: func(u *user) *string { return &u.Account.Name },
		},
		{Name: "email", Label: "Mail address", Type: "email", Text: func(u *user) *string { return &u.Email }},
		{
			Name: "password", Label: "Password", Type: "password",
			Help: "At least 10 characters. Leave it empty to keep the password of an existing user.",
			Text: func(u *user) *string { return &u.Password },
		},
		{
			Name: "roles", Label: "Roles", List: func(u *user) *[]string { return &u.Roles },
			Options: func(c *call, _ *user) ([]resource.Choice, error) { return c.roleChoices(nil, kernel.RoleGuest) },
		},
	},
	Save: func(c *call, u *user) (resource.Done, error) {
		roles := append([]string{}, u.Roles...)
		change := accounts.Change{Email: &u.Email, Roles: &roles}
		if u.Password != "" {
			change.Password = &u.Password
		}
		if u.ID != 0 {
			_, err := c.Accounts.Update(c.ctx(), c.user, u.ID, change)
			return resource.Done{}, err
		}
		created, err := c.Accounts.Create(c.ctx(), c.user, u.Account.Name, change)
		if err != nil {
			return resource.Done{}, err
		}
		return resource.Done{To: "/users/" + itoa(created.ID), Notice: "The user is created."}, nil
	},
	Actions: userActions, Name: func(u *user) string { return u.Account.Name },
	Offers: func(_ *call, u *user, action string) bool {
		return u.ID != 0 && (action == "delete" || (action == "activate") == (u.Status == accounts.StatusDisabled))
	},
}

// permissionLabels are the descriptions of the permissions on the page of a role.
var permissionLabels = map[string]string{
	kernel.PermissionAdmin:     "Open the administration",
	kernel.PermissionTemplates: "Change templates and fields",
	kernel.PermissionUsers:     "Change users",
	kernel.PermissionSettings:  "Change the settings, and see the routes",
}

var roleList = resource.List[*call, *accounts.Role]{
	Path: "/roles", Admit: requireSuperuser, Nouns: [2]string{"role", "roles"},
	Head: resource.Head{Title: "Roles", New: resource.Target{Label: "New role", Path: "/roles/new"}},
	Columns: []resource.Column[*accounts.Role]{
		{Label: "Role", Show: func(r *accounts.Role) resource.Cell {
			return resource.Cells(resource.Link("/roles/"+itoa(r.ID), r.Name), resource.Tag("system", "").If(r.System))
		}},
		{Label: "Label", Text: func(r *accounts.Role) string { return r.Label }},
		{Label: "Permissions", Show: func(r *accounts.Role) resource.Cell { return joinedCell(r.Permissions) }},
	},
	Rows: resource.Whole(func(c *call) ([]*accounts.Role, error) { return c.Accounts.Roles(c.ctx()) }),
}

var roleForm = resource.Form[*call, accounts.Role]{
	Path: "/roles/{roleId}", New: "/roles/new", Admit: requireSuperuser,
	Head: resource.Head{Title: "New role", Above: []resource.Target{{Label: "Roles", Path: "/roles"}}},
	About: func(_ *call, r *accounts.Role, h *resource.Head) error {
		if r.ID != 0 {
			h.Title = "Role " + r.Name
		}
		h.Lead = "The templates determine which roles may view, change and create their pages."
		if r.System {
			h.Lead = "This is a system role: its name and its permissions cannot be changed."
		}
		return nil
	},
	Load: func(c *call) (*accounts.Role, error) {
		if c.R.PathValue("roleId") == "" {
			return new(accounts.Role), nil
		}
		list, err := c.Accounts.Roles(c.ctx())
		return resource.One(list, err, func(r *accounts.Role) bool { return r.ID == c.ID("roleId") })
	},
	Fields: []resource.Field[*call, accounts.Role]{
		{
			Name: "name", Label: "Name", Required: true, Max: kernel.MaxName, Hide: isSystemRole,
			Text: func(r *accounts.Role) *string { return &r.Name },
		},
		{Name: "label", Label: "Label", Max: 255, Text: func(r *accounts.Role) *string { return &r.Label }},
		{
			Name: "permissions", Label: "Permissions", Hide: isSystemRole,
			List: func(r *accounts.Role) *[]string { return &r.Permissions },
			Options: func(*call, *accounts.Role) ([]resource.Choice, error) {
				list := resource.Words(kernel.Permissions...)
				for i := range list {
					list[i].Label = permissionLabels[list[i].Value]
				}
				return list, nil
			},
		},
	},
	Save: func(c *call, r *accounts.Role) (resource.Done, error) {
		role := *r
		if role.System {
			role.Permissions = nil
		}
		saved, err := c.Accounts.SaveRole(c.ctx(), c.user, role)
		if err != nil {
			return resource.Done{}, err
		}
		return resource.Done{To: "/roles/" + itoa(saved.ID)}, nil
	},
	Actions: []resource.Action[*call]{{
		Name: "delete", Label: "Delete", Done: "deleted", Danger: true, To: "/roles",
		Confirm: "The role is removed from all users and templates.",
		Do:      func(c *call, _ string) error { return c.Accounts.DeleteRole(c.ctx(), c.user, c.ID("roleId")) },
	}},
	Name:   func(r *accounts.Role) string { return r.Name },
	Offers: func(_ *call, r *accounts.Role, _ string) bool { return r.ID != 0 && !r.System },
}

// isSystemRole reports whether the form changes a system role, whose name and permissions are fixed.
func isSystemRole(_ *call, r *accounts.Role) bool { return r.System }

// account is the form in which users change their own email and password.
type account struct{ Email, Present, Password string }

var accountForm = resource.Form[*call, account]{
	Path: "/account", Head: resource.Head{Title: "Your account"},
	Load: func(c *call) (*account, error) {
		current, err := c.Accounts.Account(c.ctx(), c.user.ID)
		if err != nil {
			return nil, err
		}
		return &account{Email: current.Email}, nil
	},
	Fields: []resource.Field[*call, account]{
		{
			Name: "email", Label: "Mail address", Type: "email", Autocomplete: "email",
			Text: func(a *account) *string { return &a.Email },
		},
		{
			Name: "present", Section: "Change the password", Label: "Current password", Type: "password",
			Autocomplete: "current-password", Text: func(a *account) *string { return &a.Present },
		},
		{
			Name: "password", Label: "New password", Type: "password",
			Help: "Leave it empty to keep your password. A new password ends all your sessions.",
			Text: func(a *account) *string { return &a.Password },
		},
	},
	// A new password ends all sessions of the user, including this one.
	Save: func(c *call, a *account) (done resource.Done, err error) {
		change := accounts.Change{Email: &a.Email}
		if a.Password != "" {
			if _, _, err := c.Auth.Check(c.ctx(), c.user.Name, a.Present, c.Address(c.R)); err != nil {
				return done, apiError(err)
			}
			change.Password, done = &a.Password,
				resource.Done{To: "/login", Notice: "Your password is changed. Sign in with the new password."}
		}
		_, err = c.Accounts.Update(c.ctx(), c.user, c.user.ID, change)
		return done, err
	},
}
