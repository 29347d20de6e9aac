package users

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/google/uuid"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/mailaddress"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// Upstream is the provider of users who sign in at another server.
const Upstream = "oidc"

// Person is a user as another server describes them.
type Person struct {
	Issuer, Subject string
	Email           string
	EmailVerified   bool
	Name            string
	Groups          []string // nil if the server provides none
}

var (
	errAddressTaken = apierror.New(http.StatusConflict, "conflict",
		"There is an account with your mail address already, which you cannot get into this way. Sign in with its password, or ask the operator.")
	errNoAddress = apierror.New(http.StatusBadRequest, "bad_request",
		"The other site does not tell your mail address, which is needed here.")
)

// FindOrCreate returns the user for a person who has signed in at another server. It takes the first of these:
//   - the user as whom the same person (issuer and subject) has signed in before;
//   - the user with the person's mail address, who is linked with the person from then on. This is an error if the
//     other server has not verified the address, or if the user has a password or is linked with another person;
//   - a new user with the person's address and name.
//
// The groups of the user become those of the person. If Person.Groups is nil, a user whose groups came from that server
// before loses them, since many servers omit an empty list; another user keeps the groups that the operator has set.
func (s *Users) FindOrCreate(ctx context.Context, p Person) (u *User, err error) {
	groups := p.groups()
	var id, action string
	err = s.Write(ctx, func(c store.Conn) error {
		action = ""
		u, err = scan(c.Row("SELECT "+columns+" FROM authserver_users WHERE issuer = ? AND subject = ?"+
			c.Lock(), text.Storable(p.Issuer), text.Storable(p.Subject)))
		if IsNone(err) {
			u, action, err = s.linked(c, p)
		}
		if err != nil {
			return err
		}
		id = u.ID
		return s.regroup(c, u, groups)
	})
	if err != nil {
		return nil, err
	}
	s.Tell(Topic, id)
	if action != "" {
		s.note(ctx, action, "", id)
	}
	return u, nil
}

// regroup sets the groups of a user to those that another server provides. Nil groups mean that it provides none, and
// clear the user's groups only if they came from that server before.
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

// groups returns the groups that can be stored, or nil if the server does not provide any.
func (p *Person) groups() []string {
	if p.Groups == nil {
		return nil
	}
	list := []string{}
	for _, group := range p.Groups {
		if group != "" && len([]rune(group)) <= groupMost && len(list) < groupMost && !slices.Contains(list, group) &&
			text.Storable(group) == group {
			list = append(list, group)
		}
	}
	return list
}

// linked finds a user for a person who signs in for the first time: it links the user with the person's mail address,
// or creates one. action is the audit event for what it did.
func (s *Users) linked(c store.Conn, p Person) (u *User, action string, err error) {
	email, err := Address(p.Email)
	if err != nil {
		return nil, "", errNoAddress
	}
	var has string
	u, err = scan(c.Row("SELECT "+columns+", password FROM authserver_users WHERE email_key = ?"+
		c.Lock(), mailaddress.Key(email)), &has)
	switch {
	case IsNone(err):
		u, err = s.arrived(c, p, email)
		return u, "user.created", err
	case err != nil:
		return nil, "", err
	case !p.EmailVerified || has != "" || u.Provider == Upstream:
		return nil, "", errAddressTaken
	}
	now := s.Micros()
	if u.Status == Pending { // the other server has verified the address, as a link would have
		u.Status = Active
	}
	n, err := c.Exec("UPDATE authserver_users SET provider = ?, issuer = ?, subject = ?, email_verified = 1, status = ?, updated_at = ? WHERE id = ? AND password = '' AND subject = ''",
		Upstream, text.Storable(p.Issuer), text.Storable(p.Subject), u.Status, now, u.ID)
	if err == nil && n == 0 {
		err = errAddressTaken
	}
	u.Provider, u.EmailVerified, u.UpdatedAt = Upstream, true, now
	return u, "user.updated", err
}

// arrived creates a user with the mail address email for a person.
func (s *Users) arrived(c store.Conn, p Person, email string) (*User, error) {
	displayName, err := name(p.Name)
	if err != nil {
		displayName = ""
	}
	u := &User{
		ID: uuid.Must(uuid.NewV7()).String(), Email: email, EmailVerified: p.EmailVerified, Name: displayName, Role: RoleUser,
		Status: Active, Provider: Upstream,
		CreatedAt: s.Micros(), UpdatedAt: s.Micros(),
	}
	_, err = c.Exec("INSERT INTO authserver_users (id, email, email_key, email_verified, name, role, status, provider, issuer, subject, created_at, updated_at)"+
		" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		u.ID, u.Email, mailaddress.Key(u.Email), number(u.EmailVerified), u.Name, u.Role, u.Status, u.Provider,
		text.Storable(p.Issuer), text.Storable(p.Subject), u.CreatedAt, u.UpdatedAt)
	return u, taken(err)
}
