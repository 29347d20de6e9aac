package board

import (
	"context"
	"net/http"
	"net/mail"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// NewMember is who registers.
type NewMember struct {
	Name, Email, Password string
	Address               string // of the client
}

// Registered is what a registration came to.
type Registered struct {
	Cookie string // of a session; empty: the member awaits approval
}

// Register makes a member. There may be no mail, so an address is not proved by
// a letter; it is the administrator who may want to see who asks.
func (s *Service) Register(ctx context.Context, m NewMember) (done Registered, err error) {
	access, err := s.currentAccess(ctx)
	if err != nil {
		return done, err
	}
	guest := &Actor{rights: access.of(0, []int64{access.guest})}
	if err := guest.offline(); err != nil {
		return done, err
	}
	mode := access.settings.Registration
	if mode == RegistrationClosed {
		return done, apierror.New(http.StatusForbidden, "forbidden", "this board takes no new members")
	}
	name, nameErr := normal(m.Name), access.settings.checkNewName(m.Name)
	email, emailErr := checkEmail(m.Email)
	passwordErr := checkNewPassword(m.Password, name, email)
	if err := first(nameErr, emailErr, passwordErr); err != nil {
		return done, err
	}
	var wait time.Duration
	err = s.write(ctx, func(c conn) (err error) {
		wait, err = newAccounts.try(c, newAccounts.key(m.Address), s.micros())
		return err
	})
	if err == nil && wait > 0 {
		err = errWait(wait, "too many registrations")
	}
	if err != nil {
		return done, err
	}
	var hash string
	if err := inTurn(ctx, func() { hash = hashPassword(m.Password) }); err != nil {
		return done, err
	}
	err = s.write(ctx, func(c conn) error {
		done = Registered{}
		now := s.micros()
		state := "active"
		if mode == RegistrationApproval {
			state = "awaiting"
		}
		if err := namesFilled(c); err != nil {
			return err
		}
		if err := taken(c, name, email); err != nil {
			return err
		}
		if err := addUser(c, newUser{name: name, email: email, password: hash, state: state, groups: []string{access.groups[access.registered].name}, now: now}); err != nil {
			return err
		}
		if err := s.emitRegistered(c, name); err != nil {
			return err
		}
		if state != "active" {
			return nil
		}
		var id int64
		if err := c.row("SELECT id FROM board_users WHERE username_key = ?", fold(name)).Scan(&id); err != nil {
			return err
		}
		done.Cookie, err = addSession(c, id, now)
		return err
	})
	if store.IsUniqueViolation(err) { // another was faster
		err = invalid("username", "taken", "this name or mail address is taken")
	}
	return done, err
}

// taken refuses a name or a mail address that somebody has.
func taken(c conn, name, email string) error {
	if err := nameTaken(c, name); err != nil {
		return err
	}
	var mails int
	err := c.row("SELECT count(*) FROM board_users WHERE email_key = ?", mailKey(email)).Scan(&mails)
	if err == nil && mails > 0 {
		err = invalid("email", "taken", "there is an account with this mail address already")
	}
	return err
}

// mailKey is a mail address as it is compared.
func mailKey(email string) string { return storable(strings.ToLower(normal(email))) }

// checkEmail checks the form of a mail address.
func checkEmail(text string) (string, error) {
	text = normal(text)
	parsed, err := mail.ParseAddress(text)
	if err != nil || parsed.Address != text || len(text) > 254 || strings.ContainsFunc(text, forbiddenInLine) {
		return "", invalid("email", "form", "this is not a mail address such as name@example.com")
	}
	return text, nil
}

// checkNewPassword holds a new password to the rules.
func checkNewPassword(password, name, email string) error {
	switch n := utf8.RuneCountInString(password); {
	case n < passwordLeast:
		return invalid("password", "too_short", "a password has at least 10 characters")
	case n > passwordMost:
		return invalid("password", "too_long", "a password has at most 256 characters")
	case fold(password) == fold(name), email != "" && mailKey(password) == mailKey(email):
		return invalid("password", "guessable", "the password must not be the name or the mail address")
	}
	return nil
}
