package following

import (
	"context"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// A member can ignore another member, which adds a row to board_blocks. The ignoring member then gets no private
// messages from the ignored member, gets no notifications of that member's actions, except warnings, and sees that
// member's posts collapsed.

// MaxIgnored is the maximum number of members that a member can ignore.
const MaxIgnored = 1000

// notIgnored returns an SQL condition that is true if the member whose id is in column does not ignore the author.
// The condition's argument is the id of the author.
func notIgnored(column string) string {
	return " AND NOT EXISTS (SELECT 1 FROM board_blocks b WHERE b.user_id = " + column + " AND b.blocked_id = ?)"
}

// Person is a member in the views of other members.
type Person struct {
	ID   int64 // 0 for a member that was deleted
	Name string
}

// IgnoredBy returns the query for the members that a member ignores. Its arguments are the id of the member who
// ignores the others, and the limit.
func IgnoredBy() content.Listing {
	return content.Listing{
		Columns: "b.blocked_id, (SELECT u.username FROM board_users u WHERE u.id = b.blocked_id)", From: "board_blocks b",
		Where: "b.user_id = ?", Order: "b.blocked_id",
	}
}

// Ignored lists the members that the actor ignores.
func (s *Service) Ignored(ctx context.Context, a *rights.Actor) ([]Person, error) {
	return kernel.Value(ctx, s.Read, func(c store.Conn) ([]Person, error) {
		return store.List(c, func(r store.Row) (p Person, err error) { return p, r.Scan(&p.ID, &p.Name) },
			IgnoredBy().SQL(c.Dialect()), a.ID(), MaxIgnored)
	})
}

// Ignores determines which of the members with the ids in users the actor ignores. It returns a map whose keys are
// the ids of these members. users must not be empty.
func Ignores(c store.Conn, a *rights.Actor, users ...any) (map[int64]int64, error) {
	ignored := make(map[int64]int64)
	if a.User == nil {
		return ignored, nil
	}
	return ignored, c.All("SELECT blocked_id, 1 FROM board_blocks WHERE user_id = ? AND blocked_id IN ("+
		kernel.Marks(len(users))+")", append([]any{a.ID()}, users...), content.CollectInto(ignored))
}

// IgnoresMember reports whether the actor ignores a member.
func (s *Service) IgnoresMember(ctx context.Context, a *rights.Actor, user int64) (bool, error) {
	return kernel.Value(ctx, s.Read, func(c store.Conn) (bool, error) {
		ignored, err := Ignores(c, a, user)
		return len(ignored) > 0, err
	})
}

// Ignore makes the actor ignore a member, who is not notified.
func (s *Service) Ignore(ctx context.Context, a *rights.Actor, user int64) error {
	if user == a.ID() {
		return kernel.Invalid("userId", "self", "you cannot ignore yourself")
	}
	return s.Write(ctx, func(c store.Conn) error {
		var members, ignored int64
		err := c.Row("SELECT (SELECT count(*) FROM board_users WHERE id = ? AND state IN ('active', 'banned')),"+
			" (SELECT count(*) FROM board_blocks WHERE user_id = ?)", user, a.ID()).Scan(&members, &ignored)
		switch {
		case err != nil:
			return err
		case members == 0:
			return kernel.NotFound()
		case ignored >= MaxIgnored:
			return kernel.Conflict("you already ignore the maximum number of members; stop ignoring one first")
		}
		_, err = c.Exec("INSERT INTO board_blocks (user_id, blocked_id, created_at) VALUES (?, ?, ?)"+
			" ON CONFLICT (user_id, blocked_id) DO NOTHING", a.ID(), user, s.Moment())
		return err
	})
}

// Unignore makes the actor stop ignoring a member.
func (s *Service) Unignore(ctx context.Context, a *rights.Actor, user int64) error {
	return s.Exec(ctx, "DELETE FROM board_blocks WHERE user_id = ? AND blocked_id = ?", a.ID(), user)
}
