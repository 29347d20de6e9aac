// Package users stores the users: their rows, their passwords, and whether they may sign in.
package users

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/mailaddress"
	"github.com/tollgate-gateway/tollgate/internal/password"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// The status of a user.
const (
	Active   = "active"
	Disabled = "disabled"
)

// The roles of a user.
const (
	RoleUser  = "user"
	RoleAdmin = "admin"
)

// Local is the provider of users with a password on this server.
const Local = "local"

const (
	maxName  = 200 // characters of a name
	maxGroup = 100 // groups of a user, and characters of the name of a group
	maxID    = 100 // bytes of an id
)

// User is a row of authserver_users. Times are microseconds since 1970.
type User struct {
	ID            string // the claim sub
	Email         string
	EmailVerified bool   // the user has confirmed the address
	Name          string // may be empty
	Role          string // RoleUser or RoleAdmin
	Groups        []string
	Status        string // Active, Disabled or Pending
	Provider      string // Local or Upstream
	CreatedAt     int64
	UpdatedAt     int64
	Language      string // the tag of the language that the user has chosen; empty: none
}

// Active reports whether the user may sign in and use sessions and tokens.
func (u *User) Active() bool { return u.Status == Active }

// ErrDisabled is returned for a user who is disabled here and has signed in at an upstream provider.
var ErrDisabled = apierror.New(http.StatusForbidden, "forbidden", "Your account is disabled. Ask the operator.")

// Users stores all users.
type Users struct {
	*kernel.Server
	// Passwords hashes and verifies passwords.
	Passwords password.Hasher
	// Length is the minimum number of characters of a new password. Default: minPassword.
	Length int
	// Leaked is the list of leaked passwords, which are refused. Default: no list.
	Leaked *password.Leaked
	// Gone are functions that end the tokens and other grants of a user. EndAll calls them in the transaction that
	// disables or deletes a user, signs the user out everywhere or sets a new password. Users itself ends the sessions.
	Gone []func(c store.Conn, user string) error
	// Flush is called before a transaction that calls Gone. It stores queued rows, which the functions of Gone must
	// find. Default: there are no queued rows.
	Flush func(ctx context.Context) error
}

// Topic is the topic under which changes of users are notified; see kernel.Server.Watch.
const Topic = "users"

const columns = "id, email, email_verified, name, role, user_groups, status, provider, created_at, updated_at, language"

// scan returns the user in a row. The row begins with the columns that the constant columns lists; scan stores the
// further columns of the row in dest. If there is no row, IsNone reports true for the error.
func scan(row store.Row, dest ...any) (*User, error) {
	u := new(User)
	var groups string
	err := row.Scan(append([]any{
		&u.ID, &u.Email, &u.EmailVerified, &u.Name, &u.Role, &groups, &u.Status, &u.Provider,
		&u.CreatedAt, &u.UpdatedAt, &u.Language,
	}, dest...)...)
	if err != nil {
		return nil, kernel.IfNoRows(err, errNoUser())
	}
	return u, json.Unmarshal([]byte(groups), &u.Groups)
}

// errNoUser returns the error for a user who does not exist; see IsNone.
func errNoUser() error {
	return apierror.New(http.StatusNotFound, "not_found", "there is no such user")
}

// IsNone reports whether err means that the user does not exist.
func IsNone(err error) bool {
	e, ok := apierror.From(err)
	return ok && e.Status == http.StatusNotFound
}

// Find returns the user with an id. If the user does not exist, IsNone reports true for the error.
func (s *Users) Find(ctx context.Context, id string) (*User, error) {
	return kernel.Read(ctx, s.Server, func(c store.Conn) (*User, error) { return In(c, id) })
}

// In returns the user with an id like Find, read with the connection c.
func In(c store.Conn, id string) (*User, error) {
	return scan(c.Row("SELECT "+columns+" FROM authserver_users WHERE id = ?", text.Storable(id)))
}

// FindByEmail returns the user with a mail address. It ignores case and surrounding space; see mailaddress.Key. If
// there is no such user, IsNone reports true for the error.
func (s *Users) FindByEmail(ctx context.Context, email string) (*User, error) {
	return kernel.Read(ctx, s.Server, func(c store.Conn) (*User, error) {
		return scan(c.Row("SELECT "+columns+" FROM authserver_users WHERE email_key = ?", mailaddress.Key(email)))
	})
}

// Listing returns the query of the users whose mail address or name contains a text. An empty text matches all users.
func Listing(text string) kernel.Listing {
	l := listing()
	if text != "" {
		pattern := kernel.Containing(text)
		l.And("(lower(email) LIKE ? ESCAPE '!' OR lower(name) LIKE ? ESCAPE '!')", pattern, pattern)
	}
	return l
}

// listing returns the query of all users.
func listing() kernel.Listing {
	return kernel.Listing{Columns: columns, Table: "authserver_users", At: "created_at", ID: "id"}
}

// search is the parameter text of List.
type search string

// find returns the query of the users that List returns.
func (s search) find(c store.Conn) (kernel.Listing, error) {
	text := string(s)
	if text == "" {
		return Listing(text), nil
	}

	for _, match := range [...]struct{ column, value string }{{"email_key", mailaddress.Key(text)}, {"id", text}} {
		exact := listing()
		exact.And(match.column+" = ?", match.value)
		if n, err := exact.CountRows(c, 1); err != nil || n > 0 {
			return exact, err
		}
	}
	return Listing(text), nil
}

// List returns a page of users. If text is the mail address or the id of a user, List returns only that user, and
// otherwise the users whose mail address or name contains text. An empty text matches all users.
func (s *Users) List(ctx context.Context, text string, p kernel.Page) ([]*User, error) {
	return kernel.Rows(ctx, s.Server, search(text).find, p, func(r store.Row) (*User, error) { return scan(r) })
}

// Total returns the number of users that List finds on all pages, up to limit.
func (s *Users) Total(ctx context.Context, text string, limit int) (int, error) {
	return kernel.CountRows(ctx, s.Server, search(text).find, limit)
}

// Place returns the position of a user in a list, for paging.
func (u *User) Place() kernel.Place { return kernel.Place{At: u.CreatedAt, ID: u.ID} }

// New describes a user to be created.
type New struct {
	Email         string
	EmailVerified bool
	Name          string
	// Password is the password in plain text. If both Password and Hash are empty, the user cannot sign in with a
	// password.
	Password string
	// Hash is the hash of the password, in place of Password, in a form that password.Known accepts.
	Hash string
	// Disabled creates the user as disabled.
	Disabled bool
	// DeleteAt is when the account is to be deleted at the user's request. Default: never.
	DeleteAt time.Time
	// Also is called in the transaction that creates the user, to store further rows about the user. Default: it is not
	// called.
	Also func(c store.Conn, id string) error
	// ID is the id of the user at another server, which applications already know. Default: a new id.
	ID     string
	Role   string // default: RoleUser
	Groups []string
}

// Create creates a user. The audit event names the actor. The error has status 422 if a value is invalid, and 409 if
// another user has the mail address or the id.
func (s *Users) Create(ctx context.Context, n New, actor string) (*User, error) {
	u, err := s.newUser(n)
	if err != nil {
		return nil, err
	}
	hash := n.Hash
	if n.Password != "" {
		if hash, err = s.hashNew(ctx, n.Password, u.Email, u.Name); err != nil {
			return nil, err
		}
	}
	deleteAt := sql.NullInt64{Int64: n.DeleteAt.UnixMicro(), Valid: !n.DeleteAt.IsZero()}
	err = s.Write(ctx, func(c store.Conn) error {
		_, err := c.Exec("INSERT INTO authserver_users (id, email, email_key, email_verified, name, password, role, user_groups, status, provider, created_at, updated_at, delete_at)"+
			" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			u.ID, u.Email, mailaddress.Key(u.Email), kernel.Flag(u.EmailVerified), u.Name, hash, u.Role,
			kernel.JSON(u.Groups), u.Status, u.Provider, u.CreatedAt, u.UpdatedAt, deleteAt)
		if err != nil {
			return emailTaken(err)
		}
		if n.Also == nil {
			return nil
		}
		return n.Also(c, u.ID)
	})
	if err != nil {
		return nil, err
	}
	s.note(ctx, "user.created", actor, u.ID)
	return u, nil
}

// Check returns the error that Create would return, except for the password and for conflicts with existing users.
func (s *Users) Check(n New) error {
	_, err := s.newUser(n)
	return err
}

// newUser returns the row of a user to be created. The error has status 422 if a value other than the password is
// invalid.
func (s *Users) newUser(n New) (*User, error) {
	u := &User{
		ID: n.ID, EmailVerified: n.EmailVerified, Role: cmp.Or(n.Role, RoleUser), Groups: n.Groups,
		Status: Active, Provider: Local, CreatedAt: s.Micros(), UpdatedAt: s.Micros(),
	}
	if n.Disabled {
		u.Status = Disabled
	}
	if u.ID == "" {
		u.ID = uuid.Must(uuid.NewV7()).String()
	}
	if len(u.ID) > maxID || !text.IsLine(u.ID) || strings.ContainsAny(u.ID, "/:") {
		return nil, Invalid("id", "the id must have at most 100 characters, and neither a slash nor a colon")
	}
	var err error
	if u.Email, err = Address(n.Email); err != nil {
		return nil, err
	}
	if u.Name, err = storableName(n.Name); err != nil {
		return nil, err
	}
	switch {
	case n.Hash != "" && n.Password != "":
		return nil, Invalid("password", "there are both a password and the hash of a password; give only one of them")
	case n.Hash != "" && !password.Known(n.Hash):
		return nil, Invalid("password", "the hash must be one of argon2id, bcrypt with a cost from 10 to 16, PBKDF2 or scrypt, and not too costly to check")
	}
	return u, u.check()
}

// Change describes a change of a user. Nil fields are left unchanged.
type Change struct {
	Email, Name, Password, Role *string
	// Language is the language tag of pages and mails. If it is empty, the browser's language is used.
	Language      *string
	EmailVerified *bool
	Groups        *[]string
	// May is called with the stored user before the change and can forbid it by returning an error. Default: the change
	// is allowed.
	May func(u *User) error
}

// Update changes a user and returns the changed user. It normalizes the mail address and the name that ch points to. A
// new address is unverified unless ch.EmailVerified is set. A new password makes a pending user active, and ends all
// sessions and tokens, since somebody who knows the old password may have them. The audit event names the actor. If the
// user does not exist, IsNone reports true for the error. The error has status 422 if a value is invalid, and 409 if
// another user has the mail address.
func (s *Users) Update(ctx context.Context, id string, ch Change, actor string) (*User, error) {
	stored, err := s.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	if ch.Email != nil {
		if *ch.Email, err = Address(*ch.Email); err != nil {
			return nil, err
		}
	}
	if ch.Name != nil {
		if *ch.Name, err = storableName(*ch.Name); err != nil {
			return nil, err
		}
	}
	var hash string // computed before the transaction, so that the slow hash does not prolong the transaction
	if ch.Password != nil {
		stored.apply(ch) // the password must differ from the new address and name
		if hash, err = s.hashNew(ctx, *ch.Password, stored.Email, stored.Name); err != nil {
			return nil, err
		}
	}
	var u *User
	err = s.changeAndEnd(ctx, id, func(c store.Conn) (err error) {
		if u, err = In(c, id); err != nil {
			return err
		}
		if ch.May != nil {
			if err := ch.May(u); err != nil {
				return err
			}
		}
		emailChanged := ch.Email != nil && mailaddress.Key(*ch.Email) != mailaddress.Key(u.Email)
		u.apply(ch)
		if emailChanged && ch.EmailVerified == nil {
			u.EmailVerified = false
		}
		if err := u.check(); err != nil {
			return err
		}
		u.UpdatedAt = s.Micros()
		_, err = c.Exec("UPDATE authserver_users SET email = ?, email_key = ?, email_verified = ?, name = ?, role = ?, user_groups = ?, language = ?, updated_at = ? WHERE id = ?",
			u.Email, mailaddress.Key(u.Email), kernel.Flag(u.EmailVerified), u.Name, u.Role,
			kernel.JSON(u.Groups), u.Language, u.UpdatedAt, id)
		if err != nil {
			return emailTaken(err)
		}
		if ch.Password == nil {
			return nil
		}
		if u.Status == Pending {
			u.Status = Active
		}
		if _, err := c.Exec("UPDATE authserver_users SET password = ?, status = ? WHERE id = ?",
			hash, u.Status, id); err != nil {
			return err
		}
		return s.EndAll(c, id)
	})
	if err != nil {
		return nil, err
	}
	s.note(ctx, "user.updated", actor, id)
	return u, nil
}

// apply sets the fields of the user for which the change has a value.
func (u *User) apply(ch Change) {
	set(&u.Email, ch.Email)
	set(&u.Name, ch.Name)
	set(&u.Role, ch.Role)
	set(&u.Language, ch.Language)
	set(&u.EmailVerified, ch.EmailVerified)
	set(&u.Groups, ch.Groups)
}

// set sets *dst to *src, unless src is nil.
func set[T any](dst, src *T) {
	if src != nil {
		*dst = *src
	}
}

// Disable disables a user and ends the user's sessions, codes and tokens. It first calls each function of checks with
// the stored user. If one returns an error, nothing is changed.
func (s *Users) Disable(ctx context.Context, id, actor string, checks ...func(u *User) error) (*User, error) {
	return s.setStatus(ctx, id, Disabled, "user.disabled", actor, checks)
}

// Enable makes a user active again. Ended sessions, codes and tokens are not restored. It first calls each function of
// checks with the stored user. If one returns an error, nothing is changed.
func (s *Users) Enable(ctx context.Context, id, actor string, checks ...func(u *User) error) (*User, error) {
	return s.setStatus(ctx, id, Active, "user.enabled", actor, checks)
}

// setStatus sets the status of a user if the checks allow it. Unless the new status is Active, it also ends the user's
// sessions and tokens. The action is that of the audit event.
func (s *Users) setStatus(
	ctx context.Context, id, status, action, actor string, checks []func(u *User) error,
) (u *User, err error) {
	err = s.changeAndEnd(ctx, id, func(c store.Conn) (err error) {
		if u, err = In(c, id); err != nil {
			return err
		}
		if err := kernel.Allow(checks, u); err != nil {
			return err
		}
		u.Status, u.UpdatedAt = status, s.Micros()
		if _, err = c.Exec("UPDATE authserver_users SET status = ?, updated_at = ? WHERE id = ?",
			u.Status, u.UpdatedAt, id); err != nil {
			return err
		}
		if status == Active {
			return nil
		}
		return s.EndAll(c, id)
	})
	if err != nil {
		return nil, err
	}
	s.note(ctx, action, actor, id)
	return u, nil
}

// Delete deletes a user and ends the user's sessions, codes and tokens. It first calls each function of checks with the
// stored user. If one returns an error, nothing is deleted.
func (s *Users) Delete(ctx context.Context, id, actor string, checks ...func(u *User) error) error {
	return s.remove(ctx, id, actor, func(_ store.Conn, u *User) error { return kernel.Allow(checks, u) })
}

// remove deletes a user unless check returns an error for the stored user.
func (s *Users) remove(ctx context.Context, id, actor string, check func(c store.Conn, u *User) error) error {
	err := s.changeAndEnd(ctx, id, func(c store.Conn) error {
		u, err := In(c, id)
		if err != nil {
			return err
		}
		if err := check(c, u); err != nil {
			return err
		}
		if err := s.EndAll(c, id); err != nil {
			return err
		}
		_, err = c.Exec("DELETE FROM authserver_users WHERE id = ?", id)
		return err
	})
	if err != nil {
		return err
	}
	s.note(ctx, "user.deleted", actor, id)
	return nil
}

// SignOut ends all sessions and tokens of a user. The audit event names the actor. If the user does not exist, IsNone
// reports true for the error.
func (s *Users) SignOut(ctx context.Context, id, actor string) error {
	err := s.changeAndEnd(ctx, id, func(c store.Conn) error {
		if _, err := In(c, id); err != nil {
			return err
		}
		return s.EndAll(c, id)
	})
	if err == nil {
		s.note(ctx, "user.force_logout", actor, id)
	}
	return err
}

// changeAndEnd runs fn in a transaction like Server.Change. It first calls Flush, since fn may call EndAll.
func (s *Users) changeAndEnd(ctx context.Context, id string, fn func(c store.Conn) error) error {
	if s.Flush != nil {
		if err := s.Flush(ctx); err != nil {
			return err
		}
	}
	return s.Change(ctx, Topic, id, fn)
}

// EndAll ends all sessions of a user. It also ends all tokens and other grants of the user, by calling the functions
// of Gone. c must be a transaction, and Flush must have been called before that transaction began; see changeAndEnd.
func (s *Users) EndAll(c store.Conn, id string) error {
	for _, fn := range s.Gone {
		if err := fn(c, id); err != nil {
			return err
		}
	}
	_, err := c.Exec("DELETE FROM authserver_sessions WHERE user_id = ?", id)
	return err
}

// note adds an event about the user with an id to the audit feed.
func (s *Users) note(ctx context.Context, action, actor, id string, detail ...string) {
	s.Audit(ctx, kernel.Event{Action: action, Actor: actor, Detail: append([]string{"user", id}, detail...)})
}

// check returns an error for an invalid role or invalid groups.
func (u *User) check() error {
	if u.Role != RoleUser && u.Role != RoleAdmin {
		return Invalid("role", "the role must be user or admin")
	}
	if len(u.Groups) > maxGroup {
		return Invalid("groups", "a user can have at most 100 groups")
	}
	for _, group := range u.Groups {
		if group == "" || len([]rune(group)) > maxGroup || !text.IsLine(group) {
			return Invalid("groups", "a group must be one line of at most 100 characters")
		}
	}
	return nil
}

// Address parses a mail address and returns it in the form in which it is stored. The error has status 422 if the
// argument is not a mail address.
func Address(typed string) (string, error) {
	email, err := mailaddress.Parse(typed)
	if err != nil {
		return "", Invalid("email", "this must be a mail address such as name@example.com")
	}
	return email, nil
}

// storableName returns the name of a user in the form in which it is stored. The error has status 422 if the name is
// invalid.
func storableName(typed string) (string, error) {
	name := text.Storable(text.Normal(typed))
	if len([]rune(name)) > maxName || !text.IsLine(name) {
		return "", Invalid("name", "the name must be one line of at most 200 characters")
	}
	return name, nil
}

// emailTaken returns an error with status 409 if err means that another user has the mail address, and otherwise err.
func emailTaken(err error) error {
	if store.IsUniqueViolation(err) {
		return apierror.New(http.StatusConflict, "conflict", "there is a user with this mail address already")
	}
	return err
}

// Invalid returns an error with status 422 for a field of a form or of a JSON object.
func Invalid(field, message string) error {
	return &apierror.Error{
		Status: http.StatusUnprocessableEntity, Code: "validation_failed", Param: field, Message: message,
		Details: []apierror.Detail{{Field: field, Reason: "invalid", Message: message}},
	}
}
