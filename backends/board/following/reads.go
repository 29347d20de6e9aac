package following

import (
	"context"
	"maps"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// NoteRead records that the actor has read a thread up to a post, and when. If the actor has read a later post before,
// nothing changes.
func (s *Service) NoteRead(c store.Conn, a *rights.Actor, thread, post int64) error {
	return c.Later("INSERT INTO board_thread_reads (user_id, thread_id, last_read_post_id, read_at) VALUES (?, ?, ?, ?)"+
		" ON CONFLICT (user_id, thread_id) DO UPDATE"+
		" SET last_read_post_id = CASE WHEN excluded.last_read_post_id > board_thread_reads.last_read_post_id"+
		" THEN excluded.last_read_post_id ELSE board_thread_reads.last_read_post_id END,"+
		" read_at = CASE WHEN excluded.last_read_post_id >= board_thread_reads.last_read_post_id THEN excluded.read_at"+
		" ELSE board_thread_reads.read_at END", a.ID(), thread, post, s.Moment())
}

// MarkRead records that the actor has read a thread up to a post, and marks the notifications of posts up to there as
// read.
func (s *Service) MarkRead(ctx context.Context, a *rights.Actor, thread, post int64) error {
	return s.Write(ctx, func(c store.Conn) error {
		t, err := content.ThreadFor(c, a, thread, "")
		if err != nil {
			return err
		}
		if post < 1 {
			return kernel.Invalid("postId", "unknown", "postId must be the id of a post")
		}
		if err := s.NoteRead(c, a, thread, min(post, t.Last)); err != nil {
			return err
		}
		_, err = c.Exec("UPDATE board_notifications SET read_at = ? WHERE "+unreadUpTo, s.Moment(), a.ID(), maxUnseen, thread,
			post)
		return err
	})
}

// MarkForumRead records that the actor has read everything in a forum until now. Forum 0 stands for all forums that the
// actor sees.
func (s *Service) MarkForumRead(ctx context.Context, a *rights.Actor, forum int64) error {
	if a.User == nil || forum != 0 && !a.In(forum).Visible {
		return kernel.NotFound()
	}
	forums := []int64{forum}
	if forum == 0 { // sorted, so that two requests of the member do not deadlock
		hidden := func(id int64) bool { return !a.In(id).Visible }
		forums = slices.DeleteFunc(slices.Sorted(maps.Keys(a.Rights.Forums)), hidden)
	}
	return s.Write(ctx, func(c store.Conn) error {
		for _, id := range forums {
			_, err := c.Exec("INSERT INTO board_forum_reads (user_id, forum_id, read_at) VALUES (?, ?, ?)"+
				" ON CONFLICT (user_id, forum_id) DO UPDATE SET read_at = excluded.read_at", a.ID(), id, s.Moment())
			if err != nil {
				return err
			}
		}
		return nil
	})
}
