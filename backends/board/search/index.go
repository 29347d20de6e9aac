package search

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// Posts and queries are split into words here, and not by the engines: the parser of
// PostgreSQL takes node.js for a host, leaves out what looks like a tag and knows -5 as
// another word than 5, and neither finds a word of a language without spaces.

// Index makes a post findable, or what was changed of it. The title counts for the post that
// starts a thread.
func Index(c store.Conn, id int64, starts bool, title, message string) error {
	if !starts {
		title = ""
	}
	if c.Dialect() == store.Postgres {
		return c.Later(IndexRows(store.Postgres)+"VALUES "+IndexRow(store.Postgres)+" ON CONFLICT (post_id) DO UPDATE"+
			" SET words = excluded.words",
			IndexValues(store.Postgres, id, title, message)...)
	}
	if err := c.Last("DELETE FROM board_search WHERE rowid = ?", id); err != nil {
		return err
	}
	return c.Last(IndexRows(store.SQLite)+"VALUES "+IndexRow(store.SQLite), IndexValues(store.SQLite, id, title,
		message)...)
}

// IndexRows returns the statement that makes posts findable, up to its rows.
func IndexRows(d store.Dialect) string {
	if d == store.Postgres {
		return "INSERT INTO board_search (post_id, words) "
	}
	return "INSERT INTO board_search (rowid, title, message) "
}

// IndexRow returns the placeholders of one row of IndexRows.
func IndexRow(d store.Dialect) string {
	if d == store.Postgres {
		return "(?, CAST(CAST(? AS TEXT) AS TSVECTOR))"
	}
	return "(?, ?, ?)"
}

// IndexValues returns the values for IndexRow. The title is that of a post that starts a thread.
func IndexValues(d store.Dialect, id int64, title, message string) []any {
	if d == store.Postgres {
		return []any{id, vectorOf(title, message)}
	}
	return []any{id, spaced(title), spaced(message)}
}

// spaced returns the words of a text with spaces between them.
func spaced(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i, term := range text.Terms(s) {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(term.Text)
	}
	return b.String()
}

const (
	// Positions beyond these are not kept by PostgreSQL, and no more of one word.
	positionsMost = 16_383
	positionsEach = 255
)

// vectorOf returns the words of texts as PostgreSQL reads a tsvector. It leaves a gap between two texts, so
// that no phrase begins in one and ends in the next.
func vectorOf(texts ...string) string {
	var words []string
	at, position := make(map[string][]int), 0
	for _, s := range texts {
		for _, term := range text.Terms(s) {
			position = min(position+1, positionsMost)
			places, known := at[term.Text]
			if !known {
				words = append(words, term.Text)
			}
			if n := len(places); n < positionsEach && (n == 0 || places[n-1] != position) {
				at[term.Text] = append(places, position)
			}
		}
		position = min(position+1, positionsMost)
	}
	var b strings.Builder
	for _, word := range words {
		b.WriteString(lexeme(word))
		for i, position := range at[word] {
			b.WriteByte(",:"[kernel.Bool(i == 0)])
			b.WriteString(strconv.Itoa(position))
		}
		b.WriteByte(' ')
	}
	return b.String()
}

// lexeme quotes a word, of letters, digits and marks.
func lexeme(word string) string { return "'" + word + "'" }

// phrasesOf returns the words of a search as phrases. Each has one word, except where there
// are no spaces between words.
func phrasesOf(s string) (phrases [][]string) {
	for _, term := range text.Terms(s) {
		if last := len(phrases) - 1; term.Behind && last >= 0 {
			phrases[last] = append(phrases[last], term.Text)
			continue
		}
		phrases = append(phrases, []string{term.Text})
	}
	return phrases
}

// queryOf returns a query as the index of an engine reads it.
func queryOf(d store.Dialect, phrases [][]string) string {
	all := make([]string, len(phrases))
	for i, words := range phrases {
		if d == store.SQLite {
			all[i] = `"` + strings.Join(words, " ") + `"`
			continue
		}
		words = slices.Clone(words)
		for i := range words {
			words[i] = lexeme(words[i])
		}
		all[i] = "(" + strings.Join(words, " <-> ") + ")"
	}
	if d == store.SQLite {
		return strings.Join(all, " ")
	}
	return strings.Join(all, " & ")
}

const (
	// SettingIndexed is up to which post, by id, the words of posts are as they are split
	// now. IndexedAll is its value when nothing is left to be done.
	SettingIndexed = "search_indexed"
	IndexedAll     = "all"

	indexedBatch = 200
	// indexedAtOnce is about how long one write of it takes: all other writes wait for it.
	indexedAtOnce = 20 * time.Millisecond
	// indexedRest is how many times as long as a write has taken the next one waits.
	indexedRest = 2
)

// IndexPosts splits the words anew of posts that were written when they were split in
// another way. It goes on where it ended, on this node or another, and tells how many it did. The
// database is left to others for most of the time.
func (s *Service) IndexPosts(ctx context.Context) (done int, err error) {
	for {
		var n int
		begun := time.Now()
		var state string
		if err := s.Read(ctx, func(c store.Conn) (err error) {
			state, err = kernel.StoredSetting(c,
				SettingIndexed)
			return err
		}); err != nil || state == IndexedAll {
			return done, err
		}
		if err := s.Write(ctx, func(c store.Conn) (err error) { n, err = indexPosts(c); return err }); err != nil {
			return done, err
		}
		done += n
		for range n {
			s.CountWords()
		}
		select {
		case <-ctx.Done():
			return done, context.Cause(ctx)
		case <-time.After(indexedRest * time.Since(begun)):
		}
	}
}

// indexPosts does the next batch. Its row of the settings keeps other nodes from doing
// the same. What is archived is found when it is restored, and indexed then.
func indexPosts(c store.Conn) (n int, err error) {
	if _, err := c.Exec("INSERT INTO board_settings (name, value) VALUES (?, '0') ON CONFLICT (name) DO NOTHING",
		SettingIndexed); err != nil {
		return 0, err
	}
	var state string
	if err := c.Row("SELECT value FROM board_settings WHERE name = ?"+c.Lock(), SettingIndexed).Scan(&state); err != nil ||
		state == IndexedAll {
		return 0, err
	}
	last, err := strconv.ParseInt(state, 10, 64)
	if err != nil {
		return 0, kernel.Wrap("the setting "+SettingIndexed, err)
	}
	type written struct {
		id, number     int64
		title, message string
	}
	var batch []written
	err = c.All("SELECT i.id, COALESCE(p.number, 0), t.title, COALESCE(p.message, '') FROM board_post_ids i"+
		" JOIN board_threads t ON t.id = i.thread_id"+
		" LEFT JOIN board_posts p ON p.thread_id = i.thread_id AND p.id = i.id WHERE i.id > ? ORDER BY i.id"+
		content.Limit(c.Dialect()), []any{last, indexedBatch}, func(r store.Row) error {
		var p written
		err := r.Scan(&p.id, &p.number, &p.title, &p.message)
		batch = append(batch, p)
		return err
	})
	if err != nil {
		return 0, err
	}
	next := IndexedAll
	begun := time.Now()
	for i, p := range batch {
		if i > 0 && time.Since(begun) >= indexedAtOnce {
			break
		}
		next = kernel.Itoa(p.id)
		// its index has split that alike
		if p.number == 0 || c.Dialect() == store.SQLite && text.IsASCII(p.title) && text.IsASCII(p.message) {
			continue
		}
		if err := Index(c, p.id, p.number == 1, p.title, p.message); err != nil {
			return 0, err
		}
		n++
	}
	_, err = c.Exec("UPDATE board_settings SET value = ? WHERE name = ?", next, SettingIndexed)
	return n, err
}
