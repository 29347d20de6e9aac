package admin

import (
	"context"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// The maximum numbers of prefixes and of filtered words.
const (
	maxPrefixes    = 500
	maxWordFilters = 500
)

// PrefixRow is a prefix of threads in the views of administrators.
type PrefixRow struct {
	ID       int64
	Label    string
	Position int64
	Forums   []int64 // the forums that offer the prefix
}

// Prefixes lists the prefixes by their positions.
func (s *Service) Prefixes(ctx context.Context, a *rights.Actor) ([]PrefixRow, error) {
	return rights.ReadAsAdministratorValue(ctx, s.rights, a, func(c store.Conn) (list []PrefixRow, err error) {
		list, err = store.List(c, func(r store.Row) (p PrefixRow, err error) {
			return p, r.Scan(&p.ID, &p.Label, &p.Position)
		}, "SELECT id, label, position FROM board_prefixes ORDER BY position, id")
		if err != nil {
			return list, err
		}
		for i := range list {
			list[i].Forums, err = store.Column[int64](c,
				"SELECT forum_id FROM board_prefix_forums WHERE prefix_id = ? ORDER BY forum_id", list[i].ID)
			if err != nil {
				return list, err
			}
		}
		return list, nil
	})
}

// SetPrefix adds a prefix if p.ID is 0. Otherwise it changes the prefix with this id.
func (s *Service) SetPrefix(ctx context.Context, a *rights.Actor, p PrefixRow) error {
	return s.rights.Administer(ctx, a, func(c store.Conn) error {
		p.Label = text.Normal(p.Label)
		switch n := utf8.RuneCountInString(p.Label); {
		case n < 1 || n > 30 || !text.IsLine(p.Label):
			return kernel.Invalid("label", "length", "a prefix must have 1 to 30 characters and no line break")
		case p.Position < 0 || p.Position > 1_000_000:
			return kernel.Invalid("position", "range", "the position must be 0 to 1000000")
		case len(p.Forums) > maxForums:
			return kernel.Invalid("forums", "too_many", "at most "+kernel.Itoa(maxForums)+" forums can be chosen")
		}
		var duplicates, count int
		if err := c.Row("SELECT (SELECT count(*) FROM board_prefixes WHERE label = ? AND id <> ?), (SELECT count(*)"+
			" FROM board_prefixes)", p.Label, p.ID).Scan(&duplicates, &count); err != nil {
			return err
		}
		switch {
		case duplicates > 0:
			return kernel.Invalid("label", "taken", "this prefix exists already")
		case p.ID == 0 && count >= maxPrefixes:
			return kernel.Conflict("a board has at most " + kernel.Itoa(maxPrefixes) + " prefixes")
		}
		action := "prefix.edit"
		if p.ID == 0 {
			action = "prefix.create"
			if err := c.Row("INSERT INTO board_prefixes (label, position) VALUES (?, ?) RETURNING id",
				p.Label, p.Position).Scan(&p.ID); err != nil {
				return err
			}
		} else {
			n, err := c.Exec("UPDATE board_prefixes SET label = ?, position = ? WHERE id = ?", p.Label, p.Position, p.ID)
			if err != nil {
				return err
			}
			if n == 0 {
				return kernel.NotFound()
			}
		}
		if err := setPrefixForums(c, p); err != nil {
			return err
		}
		return s.rights.LogChange(c, a, action, kernel.ForLog(p.Label)+" in "+kernel.Itoa(int64(len(p.Forums)))+" forums")
	})
}

// setPrefixForums sets the forums that offer a prefix to p.Forums. It returns an error of Invalid if one of them does
// not exist or cannot contain threads.
func setPrefixForums(c store.Conn, p PrefixRow) error {
	if _, err := c.Exec("DELETE FROM board_prefix_forums WHERE prefix_id = ?", p.ID); err != nil {
		return err
	}
	for _, forum := range p.Forums {
		n, err := c.Exec("INSERT INTO board_prefix_forums (forum_id, prefix_id) SELECT id, ? FROM board_forums WHERE id = ?"+
			" AND type = 'forum' ON CONFLICT DO NOTHING", p.ID, forum)
		if err != nil {
			return err
		}
		if n == 0 {
			return kernel.Invalid("forums", "unknown", "a chosen forum does not exist or cannot have threads")
		}
	}
	return nil
}

// DeletePrefix deletes a prefix and removes it from threads.
func (s *Service) DeletePrefix(ctx context.Context, a *rights.Actor, id int64) error {
	return s.rights.Administer(ctx, a, func(c store.Conn) error {
		var label string
		if err := c.Row("SELECT label FROM board_prefixes WHERE id = ?", id).Scan(&label); err != nil {
			return kernel.OrNotFound(err)
		}
		if err := kernel.ExecAll(c, []string{
			"UPDATE board_threads SET prefix_id = NULL WHERE prefix_id = ?",
			"DELETE FROM board_prefix_forums WHERE prefix_id = ?", "DELETE FROM board_prefixes WHERE id = ?",
		}, id); err != nil {
			return err
		}
		return s.rights.LogChange(c, a, "prefix.delete", kernel.ForLog(label))
	})
}

// WordFilter is a word in posts that the board replaces with another word, or for which it holds the post for approval.
type WordFilter struct {
	ID          int64
	Pattern     string // the word
	Replacement string
	Hold        bool // posts with the word are held, and the word is not replaced
}

// WordFilters lists the filtered words in the order in which they were added.
func (s *Service) WordFilters(ctx context.Context, a *rights.Actor) ([]WordFilter, error) {
	return rights.ReadAsAdministratorValue(ctx, s.rights, a, func(c store.Conn) ([]WordFilter, error) {
		return store.List(c, func(r store.Row) (f WordFilter, err error) {
			var action string
			err = r.Scan(&f.ID, &f.Pattern, &f.Replacement, &action)
			f.Hold = action == "hold"
			return f, err
		}, "SELECT id, pattern, replacement, action FROM board_word_filters ORDER BY id")
	})
}

// AddWordFilter adds a filtered word. It applies to posts that are written from then on.
func (s *Service) AddWordFilter(ctx context.Context, a *rights.Actor, f WordFilter) error {
	return s.rights.Administer(ctx, a, func(c store.Conn) error {
		f.Pattern, f.Replacement = text.Normal(f.Pattern), text.Normal(f.Replacement)
		switch n := utf8.RuneCountInString(f.Pattern); {
		case n < 2 || n > 100 || !text.IsLine(f.Pattern):
			return kernel.Invalid("pattern", "length", "a word must have 2 to 100 characters and no line break")
		case utf8.RuneCountInString(f.Replacement) > 100 || !text.IsLine(f.Replacement):
			return kernel.Invalid("replacement", "length", "a replacement must have at most 100 characters and no line break")
		}
		if f.Hold {
			f.Replacement = ""
		}
		var count, duplicates int
		if err := c.Row("SELECT (SELECT count(*) FROM board_word_filters), (SELECT count(*) FROM board_word_filters"+
			" WHERE pattern = ?)", f.Pattern).Scan(&count, &duplicates); err != nil {
			return err
		}
		switch {
		case count >= maxWordFilters:
			return kernel.Conflict("a board has at most " + kernel.Itoa(maxWordFilters) + " filtered words")
		case duplicates > 0:
			return kernel.Invalid("pattern", "taken", "this word is filtered already")
		}
		action, detail := "replace", kernel.ForLog(f.Pattern)+" → "+kernel.ForLog(f.Replacement)
		if f.Hold {
			action, detail = "hold", kernel.ForLog(f.Pattern)+" holds"
		}
		if _, err := c.Exec("INSERT INTO board_word_filters (pattern, replacement, action) VALUES (?, ?, ?)",
			f.Pattern, f.Replacement, action); err != nil {
			return err
		}
		return s.rights.LogChange(c, a, "filter.add", detail)
	})
}

// DeleteWordFilter deletes a filtered word.
func (s *Service) DeleteWordFilter(ctx context.Context, a *rights.Actor, id int64) error {
	return s.rights.Administer(ctx, a, func(c store.Conn) error {
		var pattern string
		if err := c.Row("SELECT pattern FROM board_word_filters WHERE id = ?", id).Scan(&pattern); err != nil {
			return kernel.OrNotFound(err)
		}
		if _, err := c.Exec("DELETE FROM board_word_filters WHERE id = ?", id); err != nil {
			return err
		}
		return s.rights.LogChange(c, a, "filter.delete", kernel.ForLog(pattern))
	})
}
