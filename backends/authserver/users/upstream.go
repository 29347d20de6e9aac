package users

import (
	"context"
	"database/sql"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

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
	"There is an account with your mail address already, which you cannot get into this way. Sign in with its password,"+
		" or ask the operator.")

// wording maps the reasons why FindOrCreate refuses a person to errors for the person.
var wording = map[string]error{
	people.Taken: errAddressTaken,
	people.NoAddress: apierror.New(http.StatusBadRequest, "bad_request",
		"The other site does not tell your mail address, which is needed here."),
	people.BadSubject: apierror.New(http.StatusBadRequest, "bad_request",
		"The other site does not tell who you are in a way that can be stored here."),
}

// FindOrCreate returns the user for a person who has signed in at the provider of the section oidc. It is the first of
// these:
//   - the user as whom the same person (issuer and subject) has signed in before;
//   - the user with the person's mail address, who is linked with the person from then on. This is an error if the
//     provider has not verified the address, or if the user is disabled, has a password or is linked with another
//     person;
//   - a new user with the person's address and name.
//
// The groups of the user become those of the person. If Person.Claimed is nil, groups that came from the provider
// before are removed, since many providers omit an empty list. Groups set by the operator are kept.
func (s *Users) FindOrCreate(ctx context.Context, p *oidclogin.Person) (u *User, err error) {
	groups := storable(p.Claimed)
	action := ""
	rules := &people.Rules[*User]{
		Linked: ByUpstream,
		Holder: func(c store.Conn, key string) (*people.Holder[*User], error) {
			h, password, err := HolderOf(c, key)
			// A user without a password could not sign in yet, so nobody else uses the account.
			h.Proven, h.Barred = true, password || err == nil && h.ID.Provider == Upstream
			return h, err
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
		JoinUnconfirmed: true, Wording: wording,
	}
	err = people.Retry(func() error {
		return s.Write(ctx, func(c store.Conn) (err error) {
			action = ""
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

// displayName returns the name of a person to display: the full name, if the provider's claims contain one.
func displayName(p *oidclogin.Person) string {
	if i := slices.IndexFunc(p.Names, func(name string) bool { return strings.Contains(name, " ") }); i >= 0 {
		return p.Names[i]
	}
	if n := len(p.Names); n > 0 {
		return p.Names[n-1]
	}
	return ""
}

// HolderOf returns the user with a mail address and whether the user has a password. The key is the address as
// mailaddress.Key returns it. If there is no such user, the error is sql.ErrNoRows.
func HolderOf(c store.Conn, key string) (h *people.Holder[*User], password bool, err error) {
	h = new(people.Holder[*User])
	u, err := scan(c.Row("SELECT "+columns+", password <> '' FROM authserver_users WHERE email_key = ?"+c.Lock(), key),
		&password)
	if err != nil {
		return h, false, noRows(err)
	}
	if h.ID, h.Email = u, u.Email; u.Status == Disabled {
		h.Closed = ErrDisabled
	}
	return h, password, nil
}

// noRows returns sql.ErrNoRows for an error that means that the user does not exist, and otherwise err.
func noRows(err error) error {
	if IsNone(err) {
		return sql.ErrNoRows
	}
	return err
}

// ByUpstream returns the user who is linked with an issuer and subject, of the section oidc or of the list upstreams.
// If there is no such user, the error is sql.ErrNoRows.
func ByUpstream(c store.Conn, issuer, subject string) (*User, error) {
	u, err := scan(c.Row("SELECT "+columns+" FROM authserver_users WHERE issuer = ? AND subject = ? OR id ="+
		" (SELECT user_id FROM authserver_identities WHERE issuer = ? AND subject = ?)"+c.Lock(),
		issuer, subject, issuer, subject))
	return u, noRows(err)
}

// link links a user with a person of the section oidc.
func (s *Users) link(c store.Conn, u *User, p *oidclogin.Person) error {
	if u.Status == Pending { // the other server has verified the address, as a link would have
		u.Status = Active
	}
	u.Provider, u.EmailVerified, u.UpdatedAt = Upstream, p.Confirmed, s.Micros()
	n, err := c.Exec("UPDATE authserver_users SET provider = ?, issuer = ?, subject = ?, email_verified = ?, status = ?,"+
		" updated_at = ? WHERE id = ? AND password = '' AND subject = ''",
		Upstream, p.Issuer, p.Subject, number(u.EmailVerified), u.Status, u.UpdatedAt, u.ID)
	if err == nil && n == 0 {
		err = errAddressTaken
	}
	return err
}

// regroup sets the groups of a user to those that the provider sends. If groups is nil, the provider sends no groups;
// the user's groups are then cleared if they came from the provider before.
func (s *Users) regroup(c store.Conn, u *User, groups []string) error {
	var provided int
	if err := c.Row("SELECT groups_told FROM authserver_users WHERE id = ?", u.ID).Scan(&provided); err != nil {
		return err
	}
	if groups == nil && provided == 0 || slices.Equal(u.Groups, groups) && (groups == nil || provided == 1) {
		return nil
	}
	raw, err := json.Marshal(slices.Concat([]string{}, groups))
	if err != nil {
		return err
	}
	if !slices.Equal(u.Groups, groups) {
		u.Groups, u.UpdatedAt = groups, s.Micros()
	}
	_, err = c.Exec("UPDATE authserver_users SET user_groups = ?, groups_told = 1, updated_at = ? WHERE id = ?",
		string(raw), u.UpdatedAt, u.ID)
	return err
}

// storable returns the groups that can be stored. It returns nil for nil.
func storable(groups []string) []string {
	if groups == nil {
		return nil
	}
	list := []string{}
	for _, group := range groups {
		if group != "" && len([]rune(group)) <= maxGroup && len(list) < maxGroup && !slices.Contains(list, group) &&
			text.Storable(group) == group {
			list = append(list, group)
		}
	}
	return list
}

// Arrive creates a user for a person who signed in at a provider of the list upstreams. The caller links the user with
// the person in the same transaction. If verified is set, the provider has verified the mail address. An invalid name
// is dropped. The error has status 409 if another user has the address.
func (s *Users) Arrive(c store.Conn, email string, verified bool, displayName string) (*User, error) {
	displayName, err := name(displayName)
	if err != nil {
		displayName = ""
	}
	u := &User{
		ID: uuid.Must(uuid.NewV7()).String(), Email: email, EmailVerified: verified, Name: displayName, Role: RoleUser,
		Status: Active, Provider: Upstream, CreatedAt: s.Micros(), UpdatedAt: s.Micros(),
	}
	_, err = c.Exec("INSERT INTO authserver_users (id, email, email_key, email_verified, name, role, status, provider,"+
		" created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		u.ID, u.Email, mailaddress.Key(u.Email), number(u.EmailVerified), u.Name, u.Role, u.Status, u.Provider,
		u.CreatedAt, u.UpdatedAt)
	return u, taken(err)
}
