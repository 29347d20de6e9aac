package rights

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/ratelimit"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// Actor is a member or guest on whose behalf a request runs.
type Actor struct {
	User   *User  // nil for the guest
	Token  *Token // nil if the actor does not use a token
	Rights *Rights
}

// User is a member.
type User struct {
	ID             int64
	Name           string
	State          string // one of States
	BannedUntil    kernel.Moment
	SuspendedUntil kernel.Moment
	Moderated      bool
	ModeratedUntil kernel.Moment // because of warnings
	PostCount      int64
	JoinedAt       kernel.Moment
	Title, Bio     string
	TimeZone       string // the IANA name of the member's time zone
	Language       string // the tag of the chosen language; empty: none
	Groups         []int64
}

// States lists the states that a member can be in.
var States = []string{"active", "unconfirmed", "awaiting", "banned", "deleted"}

// ID returns the id of the member, or 0 for the guest.
func (a *Actor) ID() int64 {
	if a.User == nil {
		return 0
	}
	return a.User.ID
}

// May reports whether the actor has a right on the whole board.
func (a *Actor) May(right Mask) bool { return a.Rights.Board.Has(right) }

// MayIn reports whether the actor sees the forum and has the right there.
func (a *Actor) MayIn(forum int64, right Mask) bool {
	f := a.In(forum)
	return f.Visible && f.Mask.Has(right)
}

// MayAnywhere reports whether the actor has a right in at least one forum that it sees.
func (a *Actor) MayAnywhere(right Mask) bool {
	for _, f := range a.Rights.Forums {
		if f.Visible && f.Mask.Has(right) {
			return true
		}
	}
	return false
}

// In returns the actor's rights in a forum. For an unknown forum it returns no rights.
func (a *Actor) In(forum int64) ForumRights { return a.Rights.Forums[forum] }

// Has reports whether the actor has a right in a forum, whether or not it sees the forum.
func (a *Actor) Has(forum int64, right Mask) bool { return a.In(forum).Mask.Has(right) }

// Owns reports whether author is the actor's id. It returns false for guests.
func (a *Actor) Owns(author int64) bool { return author != 0 && author == a.ID() }

// CheckBlocked returns a 403 error for a member whose account is not active, for example banned. A ban that is over
// does not count.
func (a *Actor) CheckBlocked(now kernel.Moment) error {
	u := a.User
	if u == nil || u.State == "active" || u.State == "banned" && u.BannedUntil != 0 && u.BannedUntil <= now {
		return nil
	}
	return apierror.New(http.StatusForbidden, "owner_unavailable", "this account cannot use the board now")
}

// NeedsApproval reports whether all posts of the member currently wait for approval, because of a moderator's decision
// or of warnings.
func (u *User) NeedsApproval(now kernel.Moment) bool { return u.Moderated || u.ModeratedUntil > now }

// CheckSuspended returns an error if the actor is suspended, that is, may currently read but not write.
func (a *Actor) CheckSuspended(now kernel.Moment) error {
	if a.User != nil && a.User.SuspendedUntil > now {
		return kernel.Forbidden("author", "suspended", "you may read but not write until "+a.User.SuspendedUntil.String())
	}
	return nil
}

// Guest returns the actor of a request without credentials.
func (s *Service) Guest(ctx context.Context) (*Actor, error) {
	access, err := s.CurrentAccess(ctx)
	if err != nil {
		return nil, err
	}
	return access.GuestActor(), nil
}

// GuestActor returns the actor of a request without credentials.
func (a *Access) GuestActor() *Actor { return &Actor{Rights: a.Of(0, []int64{a.Guest})} }

// Adopt returns a copy of the actor a, with the rights under the options of this service. The rights service of
// another board on the same database has just found a for this request. Adopt reads the database only if this service
// has not yet loaded the permission version of a.
func (s *Service) Adopt(ctx context.Context, a *Actor) (*Actor, error) {
	access := s.LastAccess()
	if access == nil || access.Version != a.Rights.Access.Version {
		var err error
		if access, err = s.CurrentAccess(ctx); err != nil {
			return nil, err
		}
	}
	if a.User == nil {
		return access.GuestActor(), nil
	}
	return &Actor{User: a.User, Token: a.Token, Rights: access.Of(a.User.ID, a.User.Groups)}, nil
}

// Member returns an actor without a token for the member with this id. It returns an error if the member does not
// exist.
func (s *Service) Member(ctx context.Context, id int64) (*Actor, error) {
	user, err := kernel.Value(ctx, s.Read, func(c store.Conn) (*User, error) {
		return LoadUser(c, id)
	})
	if err != nil {
		return nil, err
	}
	access, err := s.CurrentAccess(ctx)
	if err != nil {
		return nil, err
	}
	return &Actor{User: user, Rights: access.Of(user.ID, user.Groups)}, nil
}

// UserColumns lists the columns of board_users u that ScanUser reads.
const UserColumns = "u.id, u.username, u.state, COALESCE(u.banned_until, 0), COALESCE(u.suspended_until, 0)," +
	" u.moderated, u.post_count, u.joined_at, u.title, u.bio, u.time_zone, u.moderated_until, u.language"

// ScanUser reads a member from the UserColumns of a row, and the columns after them into dest.
func ScanUser(r store.Row, dest ...any) (*User, error) {
	u := new(User)
	return u, r.Scan(append([]any{
		&u.ID, &u.Name, &u.State, &u.BannedUntil, &u.SuspendedUntil, &u.Moderated, &u.PostCount,
		&u.JoinedAt, &u.Title, &u.Bio, &u.TimeZone, &u.ModeratedUntil, &u.Language,
	}, dest...)...)
}

// LoadUser reads a member and its groups. It returns an error if the member does not exist.
func LoadUser(c store.Conn, id int64) (*User, error) {
	u, err := ScanUser(c.Row("SELECT "+UserColumns+" FROM board_users u WHERE u.id = ?", id))
	if err != nil {
		return nil, kernel.OrNotFound(err)
	}
	return u, LoadGroups(c, u)
}

// LoadGroups reads the groups of u, sorted by id.
func LoadGroups(c store.Conn, u *User) (err error) {
	u.Groups, err = store.Column[int64](c, "SELECT group_id FROM board_user_groups WHERE user_id = ? ORDER BY group_id",
		u.ID)
	return err
}

// UserID implements rest.Identity.
func (a *Actor) UserID() string {
	if a.User == nil {
		return ""
	}
	return kernel.Itoa(a.User.ID)
}

// Spend charges an action in a forum to a limit per minute. The limit's state is in the given column of the member's
// row, which Spend locks. It returns an error if the limit is exhausted.
func (a *Actor) Spend(c store.Conn, forum int64, column string, perMinute int64, now kernel.Moment) error {
	if !a.Rights.Settings.Flood || a.Has(forum, FloodBypass) {
		return nil
	}
	var full kernel.Moment
	if err := c.Row("SELECT "+column+" FROM board_users WHERE id = ?"+c.Lock(), a.ID()).Scan(&full); err != nil {
		return err
	}
	full, wait := ratelimit.Every(perMinute, time.Minute).Take(full, now)
	if wait > 0 {
		return kernel.Flooded(wait)
	}
	_, err := c.Exec("UPDATE board_users SET "+column+" = ? WHERE id = ?", full, a.ID())
	return err
}

// SpendReaction charges a reaction or a vote in a forum to the actor's limit, which reactions and votes share.
func (a *Actor) SpendReaction(c store.Conn, forum int64, now kernel.Moment) error {
	return a.Spend(c, forum, "flood_reactions", a.Rights.Settings.ReactionsPerMinute, now)
}

// Logged writes an action into the moderation log. right is the right that the action needs; if the actor has it only
// as an administrator, the entry is marked AsAdministrator. Ids of 0 are stored as NULL.
func (s *Service) Logged(
	c store.Conn, a *Actor, action string, right Mask, forum, thread, post int64, detail string,
) error {
	if a.onlyAsAdministrator(forum, right) {
		detail = kernel.JoinDetail(AsAdministrator, detail)
	}
	_, err := c.Exec("INSERT INTO board_moderation_log (actor_id, action, forum_id, thread_id, post_id, detail, at)"+
		" VALUES (?, ?, ?, ?, ?, ?, ?)",
		kernel.Null(a.ID()), action, kernel.Null(forum), kernel.Null(thread), kernel.Null(post), detail, s.Moment())
	return err
}

// Scopes lists all scopes that a token can have.
var Scopes = []string{"forums:read", "members:read", "posts:read", "posts:write", "threads:read", "threads:write"}

// ScopesOf returns the scopes that are among words, sorted and without duplicates.
func ScopesOf(words []string) []string {
	scopes := []string{}
	for _, word := range words {
		if slices.Contains(Scopes, word) && !slices.Contains(scopes, word) {
			scopes = append(scopes, word)
		}
	}
	slices.Sort(scopes)
	return scopes
}

// Settings returns the current settings of the board.
func (s *Service) Settings(ctx context.Context) (kernel.Settings, error) {
	access, err := s.CurrentAccess(ctx)
	if err != nil {
		return kernel.Settings{}, err
	}
	return access.Settings, nil
}

// Settings returns the board settings with which the actor's rights were computed.
func (a *Actor) Settings() kernel.Settings { return *a.Rights.Settings }

// CheckOffline returns an error if the board is offline and the actor may not see it then. If the actor may see it only
// as an administrator, CheckOffline logs a look (see LogLook).
func (a *Actor) CheckOffline() error {
	set := a.Rights.Settings
	switch {
	case !set.Offline:
		return nil
	case !a.Rights.Board.Has(BoardViewOffline):
		return set.OfflineAnswer()
	case !a.Rights.natural.Has(BoardViewOffline):
		a.LogLook(0)
	}
	return nil
}

// Token is an API token, which limits its actor to the token's scopes.
type Token struct {
	ID        int64
	Name      string
	Scopes    []string      // sorted
	ExpiresAt kernel.Moment // 0 means never
}

// Has reports whether the token has a scope.
func (t *Token) Has(scope string) bool { return slices.Contains(t.Scopes, scope) }

// Unconfirmed reports whether the actor has registered but not yet opened the link in the confirmation mail. Such an
// actor can use only the page that sends the mail again.
func (a *Actor) Unconfirmed() bool { return a.User != nil && a.User.State == "unconfirmed" }

// Zone returns the time zone in which times are shown to the member. For guests, whose User is nil, and for unknown
// zones it returns UTC.
func (u *User) Zone() *time.Location {
	if u == nil {
		return time.UTC
	}
	zone, err := text.Zone(u.TimeZone)
	if err != nil { // the zone is no longer known
		return time.UTC
	}
	return zone
}

// Admit returns an error if the actor may not use the board, because the account is blocked or the board is offline.
// Every page and operation calls Admit.
func (s *Service) Admit(a *Actor) error {
	if err := a.CheckBlocked(s.Moment()); err != nil {
		return err
	}
	return a.CheckOffline()
}
