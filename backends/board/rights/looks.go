package rights

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// What an administrator does by a right that the same member would not have
// otherwise is in the moderation log. What is changed is noted with the change;
// looks are noted here and written behind the requests, once an hour for each
// administrator and forum.

// look is one that an administrator took at a forum, or with forum 0 at a board that is offline.
type look struct{ user, forum int64 }

// maxLooks bounds what is remembered.
const maxLooks = 4096

// LookLog remembers looks.
type LookLog struct {
	now   func() time.Time
	mu    sync.Mutex
	noted map[look]kernel.Moment // when, so that the same is not noted again soon
	fresh map[look]kernel.Moment // not yet written
}

// NewLookLog returns one that is empty.
func NewLookLog(now func() time.Time) *LookLog { return &LookLog{now: now} }

func (l *LookLog) add(at look, now kernel.Moment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last, ok := l.noted[at]; ok && now.Sub(last) < time.Hour {
		return
	}
	if l.noted == nil || len(l.noted) >= maxLooks {
		l.noted = make(map[look]kernel.Moment)
	}
	if l.fresh == nil {
		l.fresh = make(map[look]kernel.Moment)
	}
	l.noted[at], l.fresh[at] = now, now
}

// Take returns the looks that are to be written, and forgets them.
func (l *LookLog) Take() map[look]kernel.Moment {
	l.mu.Lock()
	defer l.mu.Unlock()
	fresh := l.fresh
	l.fresh = nil
	return fresh
}

// GiveBack returns looks that could not be written.
func (l *LookLog) GiveBack(fresh map[look]kernel.Moment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fresh == nil {
		l.fresh = make(map[look]kernel.Moment, len(fresh))
	}
	maps.Copy(l.fresh, fresh)
}

// WriteLooks writes looks into the log.
func WriteLooks(c store.Conn, fresh map[look]kernel.Moment) error {
	order := slices.SortedFunc(maps.Keys(fresh),
		func(x, y look) int { return cmp.Or(cmp.Compare(x.user, y.user), cmp.Compare(x.forum, y.forum)) })
	for _, at := range order {
		action := "forum.look"
		if at.forum == 0 {
			action = "offline.look"
		}
		_, err := c.Exec("INSERT INTO board_moderation_log (actor_id, action, forum_id, detail, at) VALUES (?, ?, ?, ?, ?)",
			at.user, action, kernel.Null(at.forum), AsAdministrator, fresh[at])
		if err != nil {
			return err
		}
	}
	return nil
}

// AsAdministrator marks an entry of the log.
const AsAdministrator = "as administrator"

// Looked notes that the actor sees what only being an administrator shows.
func (a *Actor) Looked(forum int64) {
	if l := a.Rights.looks; l != nil && a.User != nil {
		l.add(look{a.User.ID, forum}, kernel.MomentOf(l.now()))
	}
}

// beyond reports whether the actor has rights only as an administrator: in a
// forum, or (0) on the whole board.
func (a *Actor) beyond(forum int64, right Mask) bool {
	if !a.Rights.admin {
		return false
	}
	if forum == 0 {
		return !a.Rights.natural.Has(right)
	}
	f := a.In(forum)
	return !f.Seen || !f.Natural.Has(right)
}

// Used notes in the log what the actor could do only as an administrator; what
// others do in the same way is not noted.
func (s *Service) Used(c store.Conn, a *Actor, action string, rights Mask, forum, thread, post int64) error {
	if !a.beyond(forum, rights) {
		return nil
	}
	return s.Logged(c, a, action, rights, forum, thread, post, "")
}
