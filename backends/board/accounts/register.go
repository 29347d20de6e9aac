package accounts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/mailaddress"
	"github.com/tollgate-gateway/tollgate/internal/password"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// NewMember holds the fields of a registration, unchecked.
type NewMember struct {
	Name, Email, Password string
	Address               string // the IP address of the client
	Form                  JoinForm
}

// Registered is the result of a registration.
type Registered struct {
	Cookie string // of the new session; empty if the member waits for approval
	Asked  bool   // a link was mailed to the address
	Closed bool   // the member must open the link before using the board
}

// Register adds a new member. On a board that sends mails, the member's address is set only when the member opens the
// link that is mailed to it. If another member has the address, the result is the same, and that member is informed by
// mail. The error describes all invalid fields.
func (s *Service) Register(ctx context.Context, m NewMember) (done Registered, err error) {
	access, err := s.rights.CurrentAccess(ctx)
	if err != nil {
		return done, err
	}
	if err := access.GuestActor().CheckOffline(); err != nil {
		return done, err
	}
	mode := access.Settings.Registration
	if mode == kernel.RegistrationClosed {
		return done, apierror.New(http.StatusForbidden, "forbidden", "this board takes no new members")
	}
	name, nameErr := text.Normal(m.Name), checkNewName(&access.Settings, m.Name)
	email, emailErr := CheckEmail(m.Email)
	passwordErr := checkNewPassword(m.Password, name, email)
	if err := apierror.Join(s.checkJoinForm(&access.Settings, m.Form), nameErr, emailErr, passwordErr); err != nil {
		return done, err
	}
	sendsMail := s.Mails()
	if err := s.tryRegister(ctx, &access.Settings, m, name, email, sendsMail); err != nil {
		return done, err
	}
	hash, err := s.Options.Passwords.Hash(ctx, m.Password)
	if err != nil {
		return done, err
	}
	u := NewUser{Name: name, Password: hash, State: "active", Groups: []string{access.Groups[access.Registered].Name}}
	switch {
	case sendsMail && access.Settings.ConfirmMail:
		u.State = "unconfirmed"
	case mode == kernel.RegistrationApproval:
		u.State = "awaiting"
	}
	var confirm string // the address to which a link is mailed
	if sendsMail {
		confirm = email
	} else {
		u.Email = email
	}
	cookie, err := kernel.Value(ctx, s.Write, func(c store.Conn) (string, error) {
		if err := checkNewNameFree(c, name); err != nil { // another member may have been faster
			return "", err
		}
		// On a board that sends mails u.Email is empty, and a taken address is not refused.
		if err := checkEmailFree(c, u.Email); err != nil {
			return "", err
		}
		if err := tryNetwork(c, &access.Settings, m.Address, s.Now()); err != nil {
			return "", err
		}
		return s.enroll(c, u, confirm)
	})
	if store.IsUniqueViolation(err) { // another member was faster
		err = kernel.Invalid("username", "taken", "this name or mail address is taken")
	}
	return Registered{Cookie: cookie, Asked: sendsMail, Closed: u.State == "unconfirmed"}, err
}

// enroll adds a new member and returns the cookie of a session. The cookie is empty if the member waits for approval.
// enroll mails a link to the address confirmEmail, unless confirmEmail is empty.
func (s *Service) enroll(c store.Conn, u NewUser, confirmEmail string) (cookie string, err error) {
	now := s.Now()
	u.Now = kernel.MomentOf(now)
	id, err := AddUser(c, u)
	if err != nil {
		return "", err
	}
	if confirmEmail != "" {
		if err := s.queueJoin(c, id, confirmEmail); err != nil {
			return "", err
		}
	}
	if u.State != "unconfirmed" { // ConfirmEmail emits the event of such a member
		if err := s.EmitRegistered(c, id); err != nil {
			return "", err
		}
	}
	if u.State == "awaiting" {
		return "", nil
	}
	return sessions.Begin(c, id, now)
}

// tryRegister returns an error if the answer to the board's question is wrong, if the name is taken, or if the client
// must wait. It counts wrong answers and registrations of the client. sendsMail reports whether the board sends
// mails. If it does and the name is free, tryRegister also counts the mail to the address.
func (s *Service) tryRegister(
	ctx context.Context, settings *kernel.Settings, m NewMember, name, email string, sendsMail bool,
) error {
	var refusal error // returned after the transaction, in which an error would roll back the counts
	err := s.Write(ctx, func(c store.Conn) error {
		now := s.Now()
		wrong, wait, err := tryAnswer(c, settings, m.Form.Answer, m.Address, now)
		if refusal = errWait(wait, "too many wrong answers"); err != nil || refusal != nil {
			return err
		}
		if wrong {
			refusal = kernel.Invalid("answer", "wrong", "the answer is wrong")
			return nil
		}
		wait, err = NewAccounts.Of(m.Address).Try(c, now)
		if refusal = errWait(wait, "too many registrations"); err != nil || refusal != nil {
			return err
		}
		if err := checkNewNameFree(c, name); err != nil {
			if _, refused := apierror.From(err); !refused {
				return err
			}
			refusal = err
			return nil
		}
		if !sendsMail {
			return nil
		}
		wait, err = tryLink(c, email, m.Address, now)
		refusal = errWait(wait, "too many mails were requested, to this mail address or")
		return err
	})
	return cmp.Or(err, refusal)
}

// checkNewNameFree makes the checks of checkNamesFilled and checkNameFree.
func checkNewNameFree(c store.Conn, name string) error {
	if err := checkNamesFilled(c); err != nil {
		return err
	}
	return checkNameFree(c, name)
}

// queueJoin queues the mail with the link that confirms a new member's address. If another member has the address, the
// mail informs that member instead.
func (s *Service) queueJoin(c store.Conn, user int64, email string) error {
	if err := s.queueLink(c, LinkKnown, "", "u.email_key = ?", mailaddress.Key(email)); err != nil {
		return err
	}
	return s.queueConfirm(c, LinkJoin, user, email)
}

// checkEmailFree returns an error of Invalid if another member has the mail address. An empty address is always free.
func checkEmailFree(c store.Conn, email string) error {
	if email == "" {
		return nil
	}
	var members int
	err := c.Row("SELECT count(*) FROM board_users WHERE email_key = ?", mailaddress.Key(email)).Scan(&members)
	if err == nil && members > 0 {
		err = kernel.Invalid("email", "taken", "another account already has this mail address")
	}
	return err
}

// CheckEmail parses and normalizes a mail address that somebody has entered. It returns an error of Invalid if the
// address is malformed.
func CheckEmail(typed string) (string, error) {
	address, err := mailaddress.Parse(typed)
	if err != nil {
		return "", kernel.Invalid("email", "form", "this is not a mail address such as name@example.com")
	}
	return address, nil
}

// checkNewPassword returns an error of Invalid if a new password is too short or too long, or equals the name or the
// mail address.
func checkNewPassword(typed, name, email string) error {
	switch err := passwords.Check(typed, name, email); {
	case errors.Is(err, password.ErrShort):
		return kernel.Invalid("password", "too_short", "a password has at least 10 characters")
	case errors.Is(err, password.ErrLong):
		return kernel.Invalid("password", "too_long", "a password has at most 256 characters")
	case err != nil:
		return kernel.Invalid("password", "guessable", "the password must not be the name or the mail address")
	}
	return nil
}

// EmitRegistered emits the event of a new member to webhooks.
func (s *Service) EmitRegistered(c store.Conn, user int64) error {
	var e userEvent
	err := c.Row("SELECT id, username, state FROM board_users WHERE id = ?", user).Scan(&e.UserID, &e.Username, &e.State)
	if err != nil {
		return err
	}
	return s.Hooks.Emit(c, kernel.TopicUserRegistered, e)
}

// userEvent is the body of the event kernel.TopicUserRegistered.
type userEvent struct {
	UserID   int64  `json:"userId"`
	Username string `json:"username"`
	State    string `json:"state"`
}

// NewUser describes a member to be added.
type NewUser struct {
	Name, Email string
	Confirmed   bool   // the owner of Email has confirmed it
	Password    string // its hash; empty means that the member has no password
	State       string // empty means active
	Groups      []string
	Moderated   bool
	Posts       int64 // added to the post count, such as posts on another board
	MayClash    bool  // the name may look like that of another member
	Now         kernel.Moment
}

// AddUser adds a member to the database and returns the member's id. It returns a unique violation if the name or the
// mail address is taken.
func AddUser(c store.Conn, u NewUser) (id int64, err error) {
	if u.State == "" {
		u.State = "active"
	}
	var emailKey any // NULL without an address
	if u.Email != "" {
		emailKey = mailaddress.Key(u.Email)
	}
	err = c.Row("INSERT INTO board_users (username, username_key, email, email_key, email_confirmed, password_hash,"+
		" state, moderated, post_count, joined_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
		text.Normal(u.Name), text.Fold(u.Name), u.Email, emailKey, kernel.Bool(u.Confirmed && u.Email != ""), u.Password,
		u.State, kernel.Bool(u.Moderated), u.Posts, u.Now).Scan(&id)
	if err != nil {
		return 0, err
	}
	if _, err := addNames(c, id, text.Normal(u.Name), u.MayClash); err != nil {
		return 0, err
	}
	const elsewhere = 0 // posts outside the forums of this board
	if err := content.CountPosts(c, id, elsewhere, u.Posts); err != nil {
		return 0, err
	}
	for _, name := range u.Groups {
		n, err := c.Exec("INSERT INTO board_user_groups (user_id, group_id) SELECT ?, id FROM board_groups WHERE name = ?",
			id, name)
		if err != nil {
			return 0, err
		}
		if n == 0 {
			return 0, fmt.Errorf("the board has no group %q", name)
		}
	}
	return id, rights.BumpPermissions(c)
}
