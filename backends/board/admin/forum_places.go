package admin

import (
	"context"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// contents reports whether a forum has threads, including deleted threads, and whether there are forums below it.
func contents(c store.Conn, id int64) (threads, children bool, err error) {
	err = c.Row("SELECT (SELECT count(*) FROM (SELECT 1 FROM board_threads WHERE forum_id = ? LIMIT 1) t) > 0,"+
		" (SELECT count(*) FROM (SELECT 1 FROM board_forums WHERE parent_id = ? LIMIT 1) f) > 0",
		id, id).Scan(&threads, &children)
	return threads, children, err
}

// reparent moves a forum, with all forums below it, to another parent, after the parent's other children. A parent of 0
// makes it a root.
func reparent(c store.Conn, id, parent int64) error {
	var oldPath, parentPath string
	if err := c.Row("SELECT path FROM board_forums WHERE id = ?", id).Scan(&oldPath); err != nil {
		return err
	}
	if parent != 0 {
		if err := c.Row("SELECT path FROM board_forums WHERE id = ?", parent).Scan(&parentPath); err != nil {
			return err
		}
	}
	newPath := parentPath + "/" + kernel.Itoa(id)
	var position int64
	if err := c.Row("SELECT COALESCE(max(position), 0) + 1 FROM board_forums WHERE COALESCE(parent_id, 0) = ?",
		parent).Scan(&position); err != nil {
		return err
	}
	if _, err := c.Exec("UPDATE board_forums SET parent_id = ?, position = ? WHERE id = ?",
		kernel.Null(parent), position, id); err != nil {
		return err
	}
	levels := strings.Count(newPath, "/") - strings.Count(oldPath, "/") // by which the forums move down; may be negative
	_, err := c.Exec("UPDATE board_forums SET path = ? || substr(path, ?), depth = depth + ? WHERE path = ?"+
		" OR path LIKE ?",
		newPath, len(oldPath)+1, levels, oldPath, oldPath+"/%")
	return err
}

// ShiftForum moves a forum one position up (step is -1) or down (step is 1) among its siblings. It does nothing if the
// forum is at that end already.
func (s *Service) ShiftForum(ctx context.Context, a *rights.Actor, id int64, step int) error {
	return s.rights.Administer(ctx, a, func(c store.Conn) error {
		f, err := content.ReadForum(c, id)
		if err != nil {
			return err
		}
		siblings, err := store.Column[int64](c,
			"SELECT id FROM board_forums WHERE COALESCE(parent_id, 0) = ? ORDER BY position, id", f.Parent)
		if err != nil {
			return err
		}
		index := slices.Index(siblings, id)
		newIndex := max(0, min(index+step, len(siblings)-1))
		if newIndex == index {
			return nil
		}
		siblings = slices.Insert(slices.Delete(siblings, index, index+1), newIndex, id)
		for i, sibling := range siblings {
			if _, err := c.Exec("UPDATE board_forums SET position = ? WHERE id = ?", i+1, sibling); err != nil {
				return err
			}
		}
		return s.rights.LogForumChange(c, a, "forum.shift", id, "to position "+kernel.Itoa(int64(newIndex+1)))
	})
}

// DeleteForum deletes a forum. It returns a conflict error if the forum has threads, even deleted threads, or forums
// below it.
func (s *Service) DeleteForum(ctx context.Context, a *rights.Actor, id int64) error {
	return s.rights.Administer(ctx, a, func(c store.Conn) error {
		f, err := content.ReadForum(c, id)
		if err != nil {
			return err
		}
		threads, children, err := contents(c, id)
		switch {
		case err != nil:
			return err
		case threads:
			return kernel.Conflict("the forum has threads, and deleted threads count too: move them first")
		case children:
			return kernel.Conflict("there are forums below this one: move or delete them first")
		}
		if err := kernel.DeleteFrom(c, "forum_id", id,
			"board_forum_overrides", "board_forum_moderators", "board_prefix_forums",
			"board_forum_reads", "board_member_posts",
		); err != nil {
			return err
		}
		if _, err := c.Exec("DELETE FROM board_subscriptions WHERE target = 'forum' AND target_id = ?", id); err != nil {
			return err
		}
		if _, err := c.Exec("DELETE FROM board_forums WHERE id = ?", id); err != nil {
			return err
		}
		return s.rights.LogForumChange(c, a, "forum.delete", id, kernel.ForLog(f.Title))
	})
}
