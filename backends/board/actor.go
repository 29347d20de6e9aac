package board

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Actor is who acts: a member, or the guest.
type Actor struct {
	User   *User  // nil: the guest
	Token  *Token // nil: not by a token
	rights *rights
}

// User is a member.
type User struct {
	ID             int64
	Name           string
	State          string // active, unconfirmed, awaiting, banned or deleted
	BannedUntil    int64
	SuspendedUntil int64
	Moderated      bool
	PostCount      int64
	JoinedAt       int64
	Title, Bio     string
	TimeZone       string // its IANA name
	groups         []int64
}

// id is 0 for the guest.
func (a *Actor) id() int64 {
	if a.User == nil {
		return 0
	}
	return a.User.ID
}

// May reports whether the actor has a right on the whole board.
func (a *Actor) May(right Mask) bool { return a.rights.board.Has(right) }

// MayIn reports whether the actor sees a forum and has a right in it.
func (a *Actor) MayIn(forum int64, right Mask) bool {
	f := a.in(forum)
	return f.visible && f.mask.Has(right)
}

// MayAnywhere reports whether the actor has a right in a forum that it sees.
func (a *Actor) MayAnywhere(right Mask) bool {
	for _, f := range a.rights.forums {
		if f.visible && f.mask.Has(right) {
			return true
		}
	}
	return false
}

// in are the rights in a forum.
func (a *Actor) in(forum int64) forumRights { return a.rights.forums[forum] }

// may reports whether the actor has a right in a forum.
func (a *Actor) may(forum int64, right Mask) bool { return a.in(forum).mask.Has(right) }

// owns reports whether the actor wrote what has this author; guests own nothing.
func (a *Actor) owns(author int64) bool { return author != 0 && author == a.id() }

// blocked refuses a member who may not act now.
func (a *Actor) blocked(now int64) error {
	u := a.User
	if u == nil || u.State == "active" || u.State == "banned" && u.BannedUntil != 0 && u.BannedUntil <= now {
		return nil
	}
	return apierror.New(http.StatusForbidden, "owner_unavailable", "this account cannot use the board now")
}

// Suspended reports whether the actor is only let read now.
func (a *Actor) Suspended(now time.Time) bool { return a.suspended(now.UnixMicro()) != nil }

// suspended refuses to write for a member who is only let read.
func (a *Actor) suspended(now int64) error {
	if a.User != nil && a.User.SuspendedUntil > now {
		return forbidden("author", "suspended", "you may read but not write until "+wireTime(a.User.SuspendedUntil))
	}
	return nil
}

// Guest is the actor without a credential.
func (s *Service) Guest(ctx context.Context) (*Actor, error) {
	access, err := s.currentAccess(ctx)
	if err != nil {
		return nil, err
	}
	return &Actor{rights: access.of(0, []int64{access.guest})}, nil
}

// Adopt is an actor that another service on the same board has found, under the
// options of this one.
func (s *Service) Adopt(ctx context.Context, a *Actor) (*Actor, error) {
	access, err := s.currentAccess(ctx)
	if err != nil {
		return nil, err
	}
	if a.User == nil {
		return &Actor{rights: access.of(0, []int64{access.guest})}, nil
	}
	return &Actor{User: a.User, Token: a.Token, rights: access.of(a.User.ID, a.User.groups)}, nil
}

// Member is the actor for a member by id, without a token.
func (s *Service) Member(ctx context.Context, id int64) (*Actor, error) {
	var user *User
	err := s.read(ctx, func(c store.Conn) (err error) {
		user, err = loadUser(c, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	access, err := s.currentAccess(ctx)
	if err != nil {
		return nil, err
	}
	return &Actor{User: user, rights: access.of(user.ID, user.groups)}, nil
}

const userColumns = "u.id, u.username, u.state, COALESCE(u.banned_until, 0), COALESCE(u.suspended_until, 0), u.moderated, u.post_count, u.joined_at, u.title, u.bio, u.time_zone"

func scanUser(r store.Row, more ...any) (*User, error) {
	u := new(User)
	return u, r.Scan(append([]any{&u.ID, &u.Name, &u.State, &u.BannedUntil, &u.SuspendedUntil, &u.Moderated, &u.PostCount, &u.JoinedAt, &u.Title, &u.Bio, &u.TimeZone}, more...)...)
}

func loadUser(c store.Conn, id int64) (*User, error) {
	u, err := scanUser(c.Row("SELECT "+userColumns+" FROM board_users u WHERE u.id = ?", id))
	if err != nil {
		return nil, none(err)
	}
	return u, loadGroups(c, u)
}

// loadGroups adds the member's groups, sorted.
func loadGroups(c store.Conn, u *User) error {
	u.groups = nil
	return c.All("SELECT group_id FROM board_user_groups WHERE user_id = ? ORDER BY group_id", []any{u.ID}, func(r store.Row) error {
		var id int64
		err := r.Scan(&id)
		u.groups = append(u.groups, id)
		return err
	})
}

// actorKey is the key of the actor in the context of a request.
type actorKey struct{}

// WithActor notes who sends a request.
func WithActor(ctx context.Context, a *Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, a)
}

func actorOf(ctx context.Context) *Actor {
	a, _ := ctx.Value(actorKey{}).(*Actor)
	return a
}

// wireTime is a time as clients see it.
func wireTime(micros int64) string {
	t := time.UnixMicro(micros).UTC().Truncate(time.Millisecond)
	year, month, day := t.Date()
	if year < 0 || year > 9999 {
		return t.Format("2006-01-02T15:04:05.000Z")
	}
	hour, minute, second := t.Clock()
	// By hand: a list has two of them in each row, and a layout is read each time.
	text := []byte("0000-00-00T00:00:00.000Z")
	for _, part := range [...]struct{ end, n int }{{4, year}, {7, int(month)}, {10, day}, {13, hour}, {16, minute}, {19, second}, {23, t.Nanosecond() / 1e6}} {
		for i, n := part.end-1, part.n; n > 0; i, n = i-1, n/10 {
			text[i] += byte(n % 10)
		}
	}
	return string(text)
}

// wireTimeOrNull is a time that may be missing.
func wireTimeOrNull(micros int64) *string {
	if micros == 0 {
		return nil
	}
	text := wireTime(micros)
	return &text
}

func orNull(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

// logged notes a change by a moderator, and with it the use of a right that the
// actor has only as an administrator.
func (s *Service) logged(c store.Conn, a *Actor, action string, right Mask, forum, thread, post int64, detail string) error {
	if a.beyond(forum, right) {
		detail = joinDetail(asAdministrator, detail)
	}
	_, err := c.Exec("INSERT INTO board_moderation_log (actor_id, action, forum_id, thread_id, post_id, detail, at) VALUES (?, ?, ?, ?, ?, ?, ?)",
		null(a.id()), action, null(forum), null(thread), null(post), detail, s.micros())
	return err
}

func joinDetail(first, second string) string {
	if second == "" {
		return first
	}
	return first + ": " + second
}

// Scopes are all that a token can have.
var Scopes = []string{"forums:read", "members:read", "posts:read", "posts:write", "threads:read", "threads:write"}

// scopesOf keeps the known words of a stored list, sorted.
func scopesOf(words []string) []string {
	kept := []string{}
	for _, word := range words {
		if slices.Contains(Scopes, word) && !slices.Contains(kept, word) {
			kept = append(kept, word)
		}
	}
	slices.Sort(kept)
	return kept
}
