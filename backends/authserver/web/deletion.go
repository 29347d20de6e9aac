package web

import (
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/pages"
)

// deletionForm is the data of the form that asks whether to delete the account.
type deletionForm struct {
	At    time.Time // when the account would be deleted
	Email string
	Local bool // the user has a password here
}

// deletionForm returns the data of the form that deletes the account. The result done reports whether a response has
// been sent instead.
func (c *call) deletionForm() (form *deletionForm, done bool, err error) {
	if done, err := c.requireSession(); done {
		return nil, true, err
	}
	if c.Accounts.Grace == 0 {
		return nil, true, pages.NotFound()
	}
	user := c.session.User
	return &deletionForm{c.Now().Add(c.Accounts.Grace), user.Email, user.Provider == users.Local}, false, nil
}

// askDeletion shows the form that deletes the account.
func (c *call) askDeletion() error {
	form, done, err := c.deletionForm()
	if done {
		return err
	}
	return c.Show("deletion", c.T("Delete your account"), form)
}

// deleteAccount handles the form that schedules the deletion of the account after the grace period.
func (c *call) deleteAccount() error {
	form, done, err := c.deletionForm()
	if done {
		return err
	}
	if err := c.Accounts.Delete(c.Context(), c.session.User, c.Form.Text("present"), c.Address(c.R)); err != nil {
		return c.ShowForm(err, "deletion", c.T("Delete your account"), form)
	}
	if err := c.endThisSession(); err != nil {
		return err
	}
	return c.Redirect("/login", c.T("Your account will be deleted. To keep it, sign in before that."))
}

// keepAccount handles the form that cancels the deletion of the account.
func (c *call) keepAccount() error {
	if done, err := c.requireSession(); done {
		return err
	}
	err := c.Users.CancelDeletion(c.Context(), c.session.User.ID)
	return c.Then(err, accountPath, c.T("Your account will not be deleted."))
}
