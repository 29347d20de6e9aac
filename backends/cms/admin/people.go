package admin

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/cms/accounts"
	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
)

type usersData struct {
	Search string
	Users  []*accounts.Account
	Next   string
}

func (c *call) users() error {
	d := &usersData{Search: strings.TrimSpace(c.Query.Text("q"))}
	var err error
	if d.Search != "" {
		d.Users, err = c.Accounts.Search(c.ctx(), d.Search, rows)
	} else {
		d.Users, err = c.Accounts.List(c.ctx(), c.Query.Number("after"), rows+1)
		if len(d.Users) > rows {
			d.Users = d.Users[:rows]
			d.Next = c.At("/users") + "?after=" + strconv.FormatInt(d.Users[rows-1].ID, 10)
		}
	}
	if err != nil {
		return err
	}
	return c.Show("users", "Users", d)
}

type userData struct {
	boxed
	*accounts.Account
	New   bool
	Roles []choice
}

func (c *call) newUser() error { return c.showUser(nil, new(accounts.Account), true) }

func (c *call) user() error {
	account, err := c.Accounts.Account(c.ctx(), c.ID("userId"))
	if err != nil {
		return err
	}
	return c.showUser(nil, account, false)
}

func (c *call) showUser(refusal error, account *accounts.Account, fresh bool) error {
	roles, err := c.Accounts.Roles(c.ctx())
	if err != nil {
		return err
	}
	d := &userData{Account: account, New: fresh}
	for _, role := range roles {
		if role.Name != kernel.RoleGuest { // all are
			d.Roles = append(d.Roles, choice{role.Name, cmp.Or(role.Label, role.Name), slices.Contains(account.Roles, role.Name)})
		}
	}
	return c.ShowForm(refusal, "user", cmp.Or(account.Name, "New user"), d)
}

// typed is a user as the form has it; an empty password stays.
func (c *call) typed() (account accounts.Account, change accounts.Change) {
	account = accounts.Account{Name: strings.TrimSpace(c.Form.Text("name")), Email: strings.TrimSpace(c.Form.Text("email")), Roles: c.Form.Values("roles"), Status: accounts.StatusActive}
	if account.Roles == nil {
		account.Roles = []string{}
	}
	change = accounts.Change{Email: &account.Email, Roles: &account.Roles}
	if password := c.Form.Text("password"); password != "" {
		change.Password = &password
	}
	return account, change
}

func (c *call) createUser() error {
	account, change := c.typed()
	made, err := c.Accounts.Create(c.ctx(), c.by, account.Name, change)
	if err != nil {
		return c.showUser(err, &account, true)
	}
	return c.Redirect("/users/"+strconv.FormatInt(made.ID, 10), "The user is made.")
}

func (c *call) saveUser() error {
	old, err := c.Accounts.Account(c.ctx(), c.ID("userId"))
	if err != nil {
		return err
	}
	account, change := c.typed()
	account.ID, account.Name, account.Status = old.ID, old.Name, old.Status
	done := "Saved."
	switch c.Form.Text("do") {
	case "delete":
		if err := c.Accounts.Delete(c.ctx(), c.by, old.ID); err != nil {
			return c.showUser(err, old, false)
		}
		return c.Redirect("/users", "The user is deleted.")
	case accounts.StatusDisabled, accounts.StatusActive:
		status := c.Form.Text("do")
		change, done = accounts.Change{Status: &status}, "The user is "+status+"."
	}
	if _, err := c.Accounts.Update(c.ctx(), c.by, old.ID, change); err != nil {
		return c.showUser(err, &account, false)
	}
	return c.Redirect("/users/"+strconv.FormatInt(old.ID, 10), done)
}

func (c *call) roles() error {
	list, err := c.Accounts.Roles(c.ctx())
	if err != nil {
		return err
	}
	return c.Show("roles", "Roles", list)
}

type roleData struct {
	boxed
	*accounts.Role
	Permissions []choice
}

// permissionLabels say what a permission lets somebody do.
var permissionLabels = map[string]string{
	kernel.PermissionAdmin:     "Open the administration",
	kernel.PermissionTemplates: "Change templates and fields",
	kernel.PermissionUsers:     "Change users",
	kernel.PermissionSettings:  "Change the settings, and see the routes",
}

func (c *call) role() error {
	id := int64(0)
	if c.R.PathValue("roleId") != "" {
		id = c.ID("roleId")
	}
	role, err := c.roleOf(id)
	if err != nil {
		return err
	}
	return c.showRole(nil, role)
}

// roleOf is the role of an id; 0: a new one.
func (c *call) roleOf(id int64) (*accounts.Role, error) {
	if id == 0 {
		return new(accounts.Role), nil
	}
	list, err := c.Accounts.Roles(c.ctx())
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(list, func(r *accounts.Role) bool { return r.ID == id }); i >= 0 {
		return list[i], nil
	}
	return nil, kernel.NotFound("role")
}

func (c *call) showRole(refusal error, role *accounts.Role) error {
	d := &roleData{Role: role}
	for _, permission := range kernel.Permissions {
		d.Permissions = append(d.Permissions, choice{permission, permissionLabels[permission], slices.Contains(role.Permissions, permission)})
	}
	return c.ShowForm(refusal, "role", cmp.Or(role.Label, role.Name, "New role"), d)
}

func (c *call) saveRole() error {
	id := int64(0)
	if c.R.PathValue("roleId") != "" {
		id = c.ID("roleId")
	}
	old, err := c.roleOf(id)
	if err != nil {
		return err
	}
	if c.Form.Text("do") == "delete" {
		if err := c.Accounts.DeleteRole(c.ctx(), c.by, id); err != nil {
			return c.showRole(err, old)
		}
		return c.Redirect("/roles", "The role is deleted.")
	}
	role := accounts.Role{ID: id, Name: strings.TrimSpace(c.Form.Text("name")), Label: strings.TrimSpace(c.Form.Text("label")), Permissions: c.Form.Values("permissions"), System: old.System}
	if old.System {
		role.Name, role.Permissions = old.Name, nil
	}
	saved, err := c.Accounts.SaveRole(c.ctx(), c.by, role)
	if err != nil {
		return c.showRole(err, &role)
	}
	return c.Redirect("/roles/"+url.PathEscape(strconv.FormatInt(saved.ID, 10)), "Saved.")
}
