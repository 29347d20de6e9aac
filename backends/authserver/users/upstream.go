package users

import (
	"context"
	"database/sql"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/mailaddress"
	"github.com/tollgate-gateway/tollgate/internal/oidclogin"
	"github.com/tollgate-gateway/tollgate/internal/people"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// Upstream is the provider of users who sign in at another server.
const Upstream = "oidc"

var errAddressTaken = apierror.New(http.StatusConflict, "conflict",
	"There is an account with your mail address already, but you cannot sign in to it this way."+
		" Sign in with its password, or ask the operator.")

// refusals maps the reasons why FindOrCreate refuses a person to errors for the person.
var refusals = map[string]error{
	people.Taken: errAddressTaken,
	people.NoAddress: apierror.New(http.StatusBadRequest, "bad_request",
		"The identity provider has not sent your mail address, which is needed here."),
	people.BadSubject: apierror.New(http.StatusBadRequest, "bad_request",
		"The identity provider has sent an identifier of you that cannot be stored here."),
}

// FindOrCreate returns the user for a person who has signed in at the provider of the section oidc. It is the first of
// these:
//   - the user who is linked with the person (issuer and subject) since an earlier sign-in;
//   - the user with the person's mail address, who is linked with the person from then on. This is an error if the
//     provider has not verified the address, or if the user is disabled, has a password or is linked with another
//     person;
//   - a new user with the person's address and name.
//
// The groups of the user become those of the person. If Person.Claimed is nil, groups that came from the provider
// before are removed, since many providers omit an empty list. Groups set by the operator are then kept.
//
// The error is one of refusals, ErrDisabled, or an error of the database.
func (s *Users) FindOrCreate(ctx context.Context, p *oidclogin.Person) (u *User, err error) {
	groups := storable(p.Claimed)
	action := "" // of the audit event; empty if the person was linked before
	rules := &people.Rules[*User]{
		Linked: ByUpstream,
		Holder: func(c store.Conn, key string) (*people.Holder[*User], error) {
			h, hasPassword, err := HolderOf(c, key)
			if err != nil {
				return nil, err
			}
			h.Proven = true // an account with a password or of Upstream is barred; nobody can have signed in to any other yet
			h.Barred = hasPassword || h.ID.Provider == Upstream
			return h, nil
		},
		Join: func(c store.Conn, email string) (*User, error) {
			action = "user.created"
			return s.Arrive(c, email, p.Confirmed, displayName(p))
		},
		Link: func(c store.Conn, u *User, isNew bool) error {
			if !isNew {
				action = "user.updated"
			}
			return s.link(c, u, p)
		},
		JoinUnconfirmed: true, Wording: refusals,
	}
	err = people.Retry(func() error {
		return s.Write(ctx, func(c store.Conn) (err error) {
			action = "" // a former attempt may have set it
			if u, err = rules.Account(c, p); err != nil {
				return err
			}
			return s.regroup(c, u, groups)
		})
	})
	if err != nil {
		return nil, err
	}
	s.Tell(Topic, u.ID)
	if action != "" {
		s.note(ctx, action, "", u.ID)
	}
	return u, nil
}

// displayName returns the name of a person to display, or "": the first name that contains a space and is therefore a
// full name, and otherwise the last of the names from the provider.
func displayName(p *oidclogin.Person) string {
	if i := slices.IndexFunc(p.Names, func(name string) bool { return strings.Contains(name, " ") }); i >= 0 {
		return p.Names[i]
	}
	if n := len(p.Names); n > 0 {
		return p.Names[n-1]
	}
	return ""
}

// HolderOf returns the user with a mail address, for people.Rules, and whether the user has a password. The key is the
// address as mailaddress.Key returns it. HolderOf sets the fields ID, Email and Closed of h. It locks the user's row.
// If there is no such user, the error is sql.ErrNoRows.
func HolderOf(c store.Conn, key string) (h *people.Holder[*User], hasPassword bool, err error) {
	u, err := scan(c.Row("SELECT "+columns+", password <> '' FROM authserver_users WHERE email_key = ?"+c.Lock(), key),
		&hasPassword)
	if err != nil {
		return nil, false, asNoRows(err)
	}
	h = &people.Holder[*User]{ID: u, Email: u.Email}
	if u.Status == Disabled {
		h.Closed = ErrDisabled
	}
	return h, hasPassword, nil
}

// asNoRows returns sql.ErrNoRows for an error that means that the user does not exist, and otherwise err.
func asNoRows(err error) error {
	if IsNone(err) {
		return sql.ErrNoRows
	}
	return err
}

// ByUpstream returns the user who is linked with an identity at an upstream provider, given by issuer and subject. The
// provider may be that of the section oidc or one of the list upstreams. ByUpstream locks the user's row. If there is
// no such user, the error is sql.ErrNoRows.
func ByUpstream(c store.Conn, issuer, subject string) (*User, error) {
	u, err := scan(c.Row("SELECT "+columns+" FROM authserver_users WHERE issuer = ? AND subject = ? OR id ="+
		" (SELECT user_id FROM authserver_identities WHERE issuer = ? AND subject = ?)"+c.Lock(),
		issuer, subject, issuer, subject))
	return u, asNoRows(err)
}

// link links a user with a person at the provider of the section oidc. It returns errAddressTaken if the user has a
// password or is linked with a person already.
func (s *Users) link(c store.Conn, u *User, p *oidclogin.Person) error {
	if u.Status == Pending { // the provider has verified the address, like a mailed link
		u.Status = Active
	}
	u.Provider, u.EmailVerified, u.UpdatedAt = Upstream, p.Confirmed, s.Micros()
	n, err := c.Exec("UPDATE authserver_users SET provider = ?, issuer = ?, subject = ?, email_verified = ?, status = ?,"+
		" updated_at = ? WHERE id = ? AND password = '' AND subject = ''",
		Upstream, p.Issuer, p.Subject, kernel.Flag(u.EmailVerified), u.Status, u.UpdatedAt, u.ID)
	if err == nil && n == 0 {
		err = errAddressTaken
	}
	return err
}

// regroup sets the groups of a user to those that the provider has sent. If groups is nil, the provider has sent no
// groups; the user's groups are then cleared if they came from the provider before.
func (s *Users) regroup(c store.Conn, u *User, groups []string) error {
	var fromProvider int // 1 if the stored groups came from the provider
	if err := c.Row("SELECT groups_told FROM authserver_users WHERE id = ?", u.ID).Scan(&fromProvider); err != nil {
		return err
	}
	if groups == nil && fromProvider == 0 { // set by the operator
		return nil
	}
	if !slices.Equal(u.Groups, groups) {
		u.Groups, u.UpdatedAt = groups, s.Micros()
	} else if fromProvider == 1 {
		return nil
	}
	_, err := c.Exec("UPDATE authserver_users SET user_groups = ?, groups_told = 1, updated_at = ? WHERE id = ?",
		kernel.JSON(u.Groups), u.UpdatedAt, u.ID)
	return err
}

// storable returns those of the groups that can be stored, without duplicates and at most maxGroup. It returns nil
// only if groups is nil, which means that the provider has sent no list.
func storable(groups []string) []string {
	if groups == nil {
		return nil
	}
	result := []string{}
	for _, group := range groups {
		if group != "" && len([]rune(group)) <= maxGroup && len(result) < maxGroup && !slices.Contains(result, group) &&
			text.Storable(group) == group {
			result = append(result, group)
		}
	}
	return result
}

// Arrive creates a user without a password for a person who has signed in at an upstream provider. The caller links the
// user with the person in the same transaction. If verified is set, the provider has verified the mail address. An
// invalid name is dropped. The error has status 409 if another user has the address.
func (s *Users) Arrive(c store.Conn, email string, verified bool, displayName string) (*User, error) {
	displayName, err := storableName(displayName)
	if err != nil {
		displayName = ""
	}
	u := &User{
		ID: uuid.Must(uuid.NewV7()).String(), Email: email, EmailVerified: verified, Name: displayName, Role: RoleUser,
		Status: Active, Provider: Upstream, CreatedAt: s.Micros(), UpdatedAt: s.Micros(),
	}
	_, err = c.Exec("INSERT INTO authserver_users (id, email, email_key, email_verified, name, role, status, provider,"+
		" created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		u.ID, u.Email, mailaddress.Key(u.Email), kernel.Flag(u.EmailVerified), u.Name, u.Role, u.Status, u.Provider,
		u.CreatedAt, u.UpdatedAt)
	return u, emailTaken(err)
}
