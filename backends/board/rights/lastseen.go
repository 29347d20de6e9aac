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

// The moderation log shows the actions for which administrators needed their rights as administrators. Changes are
// logged in their transactions. Looks, which only read, are collected here and written in the background, at most one
// an hour for each administrator and forum.

// look identifies an administrator and the forum that the administrator looked at. Forum 0 is the whole board while it
// is offline.
type look struct{ user, forum int64 }

// maxLooks limits how many looks a LookLog remembers. When it is reached, all are forgotten, so that a look may be
// logged again within the hour.
const maxLooks = 4096

// LookLog collects looks until they are written to the database.
type LookLog struct {
	now       func() time.Time
	mu        sync.Mutex             // guards the maps
	added     map[look]kernel.Moment // when each look was last added, so that it is not added again within an hour
	unwritten map[look]kernel.Moment // looks that are not in the database yet, with their times
}

// NewLookLog returns an empty LookLog that takes the time from now.
func NewLookLog(now func() time.Time) *LookLog { return &LookLog{now: now} }

// add records a look, unless the same look was recorded within the last hour.
func (l *LookLog) add(entry look, now kernel.Moment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last, ok := l.added[entry]; ok && now.Sub(last) < time.Hour {
		return
	}
	if l.added == nil || len(l.added) >= maxLooks {
		l.added = make(map[look]kernel.Moment)
	}
	if l.unwritten == nil {
		l.unwritten = make(map[look]kernel.Moment)
	}
	l.added[entry], l.unwritten[entry] = now, now
}

// Take returns the looks that are not written yet, and removes them from the LookLog.
func (l *LookLog) Take() map[look]kernel.Moment {
	l.mu.Lock()
	defer l.mu.Unlock()
	looks := l.unwritten
	l.unwritten = nil
	return looks
}

// GiveBack puts looks back that Take returned but that could not be written.
func (l *LookLog) GiveBack(looks map[look]kernel.Moment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unwritten == nil {
		l.unwritten = make(map[look]kernel.Moment, len(looks))
	}
	maps.Copy(l.unwritten, looks)
}

// WriteLooks inserts looks that Take returned into the moderation log.
func WriteLooks(c store.Conn, looks map[look]kernel.Moment) error {
	sorted := slices.SortedFunc(maps.Keys(looks),
		func(x, y look) int { return cmp.Or(cmp.Compare(x.user, y.user), cmp.Compare(x.forum, y.forum)) })
	for _, l := range sorted {
		action := "forum.look"
		if l.forum == 0 {
			action = "offline.look"
		}
		_, err := c.Exec("INSERT INTO board_moderation_log (actor_id, action, forum_id, detail, at) VALUES (?, ?, ?, ?, ?)",
			l.user, action, kernel.Null(l.forum), AsAdministrator, looks[l])
		if err != nil {
			return err
		}
	}
	return nil
}

// AsAdministrator marks log entries of actions that the actor could do only as an administrator.
const AsAdministrator = "as administrator"

// LogLook records that the actor has seen something in a forum only because of the rights of an administrator. Forum 0
// is the whole board while it is offline. LogLook does nothing for guests.
func (a *Actor) LogLook(forum int64) {
	if l := a.Rights.looks; l != nil && a.User != nil {
		l.add(look{a.User.ID, forum}, kernel.MomentOf(l.now()))
	}
}

// onlyAsAdministrator reports whether the actor has one of the rights in right only as an administrator, in a forum or,
// if forum is 0, on the whole board.
func (a *Actor) onlyAsAdministrator(forum int64, right Mask) bool {
	if !a.Rights.admin {
		return false
	}
	if forum == 0 {
		return !a.Rights.natural.Has(right)
	}
	f := a.In(forum)
	return !f.Seen || !f.Natural.Has(right)
}

// LogIfAdministrator writes an action into the moderation log if the actor has one of the rights only as an
// administrator.
func (s *Service) LogIfAdministrator(
	c store.Conn, a *Actor, action string, rights Mask, forum, thread, post int64,
) error {
	if !a.onlyAsAdministrator(forum, rights) {
		return nil
	}
	return s.Logged(c, a, action, rights, forum, thread, post, "")
}
