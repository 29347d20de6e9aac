package board

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"unicode"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Profile reads a member for others to see.
func (s *Service) Profile(ctx context.Context, a *Actor, id int64) (u *User, err error) {
	err = s.read(ctx, func(c conn) error {
		if u, err = loadUser(c, id); err != nil {
			return err
		}
		if u.State == "deleted" || u.State == "awaiting" {
			return notFound()
		}
		if !a.rights.board.Has(ProfileView) && a.id() != id {
			return forbidden("userId", "no_permission", "you may not see members")
		}
		return nil
	})
	return u, err
}

// Report tells the moderators of a post.
func (s *Service) Report(ctx context.Context, a *Actor, id int64, reason string) (report int64, err error) {
	reason, reasonErr := checkReason(reason)
	if reasonErr == nil && words(reason) == 0 {
		reasonErr = invalid("reason", "required", "tell the moderators what is wrong")
	}
	err = s.write(ctx, func(c conn) error {
		t, p, err := postByID(c, a, id, "")
		if err != nil {
			return err
		}
		if !a.rights.board.Has(ReportCreate) {
			return forbidden("postId", "no_permission", "you may not report posts")
		}
		if err := a.suspended(s.micros()); err != nil {
			return err
		}
		if reasonErr != nil {
			return reasonErr
		}
		err = c.row("SELECT id FROM board_reports WHERE post_id = ? AND user_id = ?", p.id, a.id()).Scan(&report)
		if err == nil {
			return conflict("you have reported this post already")
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if err := s.spendReport(c, a, t.forum); err != nil {
			return err
		}
		return c.row("INSERT INTO board_reports (post_id, forum_id, user_id, reason, created_at) VALUES (?, ?, ?, ?, ?) RETURNING id",
			p.id, t.forum, a.id(), reason, s.micros()).Scan(&report)
	})
	return report, err
}

// spendReport counts reports with edits: both are small and rare.
func (s *Service) spendReport(c conn, a *Actor, in int64) error {
	return s.spendEdit(c, a, &forum{id: in}, s.micros())
}

// SearchQuery is what is looked for.
type SearchQuery struct {
	Text   string
	Forum  int64  // 0: all
	Author string // empty: all
	After  int64  // 0: from the newest
	Limit  int
}

// maxSearchWords bounds a query.
const maxSearchWords = 16

// Found is a post that matches.
type Found struct {
	post   *post
	thread *thread
}

// Search finds posts by words, newest first. Forums that the actor does not see
// are left out before anything is matched or counted.
func (s *Service) Search(ctx context.Context, a *Actor, q SearchQuery) (list []Found, next int64, err error) {
	if q.Forum != 0 && !a.in(q.Forum).visible {
		return nil, 0, notFound()
	}
	terms := strings.FieldsFunc(normal(q.Text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) })
	if len(terms) == 0 || len(terms) > maxSearchWords || len(q.Text) > 400 {
		return nil, 0, badRequest("q", "q must have 1 to 16 words")
	}
	var open, own []any // forums of which all is seen, and those of which only the own threads are
	for id, f := range a.rights.forums {
		switch {
		case q.Forum != 0 && q.Forum != id, !f.visible, !f.mask.Has(ThreadView | ForumSearch):
		case f.mask.Has(ThreadViewOthers):
			open = append(open, id)
		case a.User != nil:
			own = append(own, id)
		}
	}
	if len(open)+len(own) == 0 {
		return nil, 0, nil
	}
	err = s.read(ctx, func(c conn) error {
		statement, args := searchSQL(c, a, q, terms, open, own)
		list, next = nil, 0
		var ids []int64
		err := c.all(statement, args, func(r row) error {
			var id int64
			err := r.Scan(&id)
			ids = append(ids, id)
			return err
		})
		if err != nil {
			return err
		}
		if len(ids) > q.Limit {
			ids = ids[:q.Limit]
			next = ids[q.Limit-1]
		}
		for _, id := range ids {
			t, p, err := postByID(c, a, id, "")
			if notFoundErr(err) {
				continue
			}
			if err != nil {
				return err
			}
			list = append(list, Found{p, t})
		}
		return nil
	})
	return list, next, err
}

func searchSQL(c conn, a *Actor, q SearchQuery, terms []string, open, own []any) (statement string, args []any) {
	join, match := "board_search w JOIN board_post_ids i ON i.id = w.rowid", "w.board_search MATCH ?"
	words := `"` + strings.Join(terms, `" "`) + `"`
	if c.db.Dialect() == store.Postgres {
		join, match = "board_search w JOIN board_post_ids i ON i.id = w.post_id", "w.words @@ plainto_tsquery('simple', ?)"
		words = strings.Join(terms, " ")
	}
	args = append(args, words)
	where := match + " AND i.visibility = 0 AND t.visibility = 0"
	var seen []string
	if len(open) > 0 {
		seen = append(seen, "t.forum_id IN ("+marksFor(len(open))+")")
		args = append(args, open...)
	}
	if len(own) > 0 {
		seen = append(seen, "t.author_id = ? AND t.forum_id IN ("+marksFor(len(own))+")")
		args = append(append(args, a.id()), own...)
	}
	where += " AND (" + strings.Join(seen, " OR ") + ")"
	if q.Author != "" {
		where += " AND i.author_id = (SELECT id FROM board_users WHERE username_key = ?)"
		args = append(args, fold(q.Author))
	}
	if q.After != 0 {
		where += " AND i.id < ?"
		args = append(args, q.After)
	}
	return "SELECT i.id FROM " + join + " JOIN board_threads t ON t.id = i.thread_id WHERE " + where + " ORDER BY i.id DESC LIMIT ?", append(args, q.Limit+1)
}

func marksFor(n int) string { return "?" + strings.Repeat(", ?", n-1) }
