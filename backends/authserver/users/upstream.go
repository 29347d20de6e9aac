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

// Upstream is the provider of who signs in at another server.
const Upstream = "oidc"

// Person is who another server says has signed in there.
type Person struct {
	Issuer, Subject string
	Email           string
	EmailVerified   bool
	Name            string
	Groups          []string // nil: it says nothing of them
}

var (
	errAddressTaken = apierror.New(http.StatusConflict, "conflict",
		"There is an account with your mail address already, which you cannot get into this way. Sign in with its password, or ask the operator.")
	errNoAddress = apierror.New(http.StatusBadRequest, "bad_request", "The other site does not tell your mail address, which is needed here.")
)

// Known is the user that a person of another server is: the one they were before, or the
// one with their address, where that server has confirmed it and the account has no
// password, or else a new one. Their groups become those that the server tells. One that has
// told them before, and is silent of them now, means that there are none: many leave out what
// is empty. What the operator gave to somebody of whom it never told stays.
func (s *Users) Known(ctx context.Context, p Person) (u *User, err error) {
	groups := p.groups()
	var id, action string
	err = s.Write(ctx, func(c store.Conn) error {
		action = ""
		u, err = scan(c.Row("SELECT "+columns+" FROM authserver_users WHERE issuer = ? AND subject = ?"+c.Lock(), text.Storable(p.Issuer), text.Storable(p.Subject)))
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

// regroup gives a user the groups that another server tells; nil: it says nothing of them.
func (s *Users) regroup(c store.Conn, u *User, groups []string) error {
	var told int
	if err := c.Row("SELECT groups_told FROM authserver_users WHERE id = ?", u.ID).Scan(&told); err != nil {
		return err
	}
	if groups == nil && told == 0 || slices.Equal(u.Groups, groups) && (groups == nil || told == 1) {
		return nil
	}
	raw, err := json.Marshal(slices.Concat([]string{}, groups))
	if err != nil {
		return err
	}
	if !slices.Equal(u.Groups, groups) {
		u.Groups, u.UpdatedAt = groups, s.Micros()
	}
	_, err = c.Exec("UPDATE authserver_users SET user_groups = ?, groups_told = 1, updated_at = ? WHERE id = ?", string(raw), u.UpdatedAt, u.ID)
	return err
}

// groups are those that can be kept; nil: nothing is said of them.
func (p *Person) groups() []string {
	if p.Groups == nil {
		return nil
	}
	list := []string{}
	for _, group := range p.Groups {
		if group != "" && len([]rune(group)) <= groupMost && len(list) < groupMost && !slices.Contains(list, group) && text.Storable(group) == group {
			list = append(list, group)
		}
	}
	return list
}

// linked is the user with the address of a person who comes for the first time.
func (s *Users) linked(c store.Conn, p Person) (u *User, action string, err error) {
	email, err := Address(p.Email)
	if err != nil {
		return nil, "", errNoAddress
	}
	var has string
	u, err = scan(c.Row("SELECT "+columns+", password FROM authserver_users WHERE email_key = ?"+c.Lock(), mailaddress.Key(email)), &has)
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
	if u.Status == Pending { // the other server has confirmed the address, as a link would have
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

// arrived makes a user of a person.
func (s *Users) arrived(c store.Conn, p Person, email string) (*User, error) {
	called, err := name(p.Name)
	if err != nil {
		called = ""
	}
	u := &User{
		ID: uuid.Must(uuid.NewV7()).String(), Email: email, EmailVerified: p.EmailVerified, Name: called, Role: RoleUser, Status: Active, Provider: Upstream,
		CreatedAt: s.Micros(), UpdatedAt: s.Micros(),
	}
	_, err = c.Exec("INSERT INTO authserver_users (id, email, email_key, email_verified, name, role, status, provider, issuer, subject, created_at, updated_at)"+
		" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		u.ID, u.Email, mailaddress.Key(u.Email), number(u.EmailVerified), u.Name, u.Role, u.Status, u.Provider, text.Storable(p.Issuer), text.Storable(p.Subject), u.CreatedAt, u.UpdatedAt)
	return u, taken(err)
}
