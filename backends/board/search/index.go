package search

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// This package, and not the databases, splits posts and queries into words. The parser of PostgreSQL takes node.js for
// a host name, drops text that looks like a tag, and distinguishes -5 from 5. Neither database finds a word in a
// language that is written without spaces.

// Index adds a post to the search index, or replaces the post's entry. isFirst reports whether the post starts its
// thread. Only then is title indexed, because a thread's title is found with its first post.
func Index(c store.Conn, id int64, isFirst bool, title, message string) error {
	if !isFirst {
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

// IndexRows returns the beginning of the statement that adds posts to the search index, up to its rows.
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

// IndexValues returns the values for IndexRow. title is empty unless the post starts its thread.
func IndexValues(d store.Dialect, id int64, title, message string) []any {
	if d == store.Postgres {
		return []any{id, vectorOf(title, message)}
	}
	return []any{id, spaced(title), spaced(message)}
}

// spaced returns the words of a text, separated by spaces.
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
	// PostgreSQL stores no position above maxPositions, and at most positionsEach positions of a word.
	maxPositions  = 16_383
	positionsEach = 255
)

// vectorOf returns the words of texts in the syntax of a PostgreSQL tsvector. It leaves a gap in the positions between
// two texts, so that no phrase matches across them.
func vectorOf(texts ...string) string {
	var words []string
	positions := make(map[string][]int) // by word
	position := 0
	for _, s := range texts {
		for _, term := range text.Terms(s) {
			position = min(position+1, maxPositions)
			former, known := positions[term.Text]
			if !known {
				words = append(words, term.Text)
			}
			// All words behind maxPositions have the position maxPositions, which is written only once for each word.
			if n := len(former); n < positionsEach && (n == 0 || former[n-1] != position) {
				positions[term.Text] = append(former, position)
			}
		}
		position = min(position+1, maxPositions)
	}
	var b strings.Builder
	for _, word := range words {
		b.WriteString(lexeme(word))
		for i, position := range positions[word] {
			if i == 0 {
				b.WriteByte(':')
			} else {
				b.WriteByte(',')
			}
			b.WriteString(strconv.Itoa(position))
		}
		b.WriteByte(' ')
	}
	return b.String()
}

// lexeme quotes a word, which consists of letters, digits and marks.
func lexeme(word string) string { return "'" + word + "'" }

// phrasesOf splits the text of a query into phrases. A phrase is a word or, in a language that is written without
// spaces, a sequence of words.
func phrasesOf(s string) (phrases [][]string) {
	for _, term := range text.Terms(s) {
		if last := len(phrases) - 1; term.Behind && last >= 0 { // the word follows the previous one without a space
			phrases[last] = append(phrases[last], term.Text)
			continue
		}
		phrases = append(phrases, []string{term.Text})
	}
	return phrases
}

// queryOf returns a full-text query for texts with all phrases, in the syntax of the database.
func queryOf(d store.Dialect, phrases [][]string) string {
	conditions := make([]string, len(phrases))
	for i, words := range phrases {
		if d == store.SQLite {
			conditions[i] = `"` + strings.Join(words, " ") + `"`
			continue
		}
		lexemes := make([]string, len(words))
		for j, word := range words {
			lexemes[j] = lexeme(word)
		}
		conditions[i] = "(" + strings.Join(lexemes, " <-> ") + ")"
	}
	if d == store.SQLite {
		return strings.Join(conditions, " ")
	}
	return strings.Join(conditions, " & ")
}

const (
	// SettingIndexed is the setting that holds the id of the last post whose words are split by the current rules. Its
	// value is IndexedAll once all posts are indexed.
	SettingIndexed = "search_indexed"
	IndexedAll     = "all"

	// indexBatch is the maximum number of posts in one write of IndexPosts.
	indexBatch = 200
	// maxIndexWrite is the approximate maximum duration of one write, since all other writes wait meanwhile.
	maxIndexWrite = 20 * time.Millisecond
	// indexPause is the ratio of the pause after a write to the duration of the write.
	indexPause = 2
)

// IndexPosts indexes again the posts whose words were split by older rules. It continues where an earlier call, on this
// or another node, ended. It returns the number of indexed posts. Pauses leave the database to other users most of the
// time.
func (s *Service) IndexPosts(ctx context.Context) (done int, err error) {
	for {
		begun := time.Now()
		state, err := kernel.Value(ctx, s.Read, func(c store.Conn) (string, error) {
			return kernel.StoredSetting(c, SettingIndexed)
		})
		if err != nil || state == IndexedAll {
			return done, err
		}
		n, err := kernel.Value(ctx, s.Write, indexPosts)
		if err != nil {
			return done, err
		}
		done += n
		for range n {
			s.CountWords()
		}
		select {
		case <-ctx.Done():
			return done, context.Cause(ctx)
		case <-time.After(indexPause * time.Since(begun)):
		}
	}
}

// indexPosts indexes the next batch of posts and returns their number. It locks the row of the setting, so that other
// nodes do not index the same posts. It leaves out archived posts; Restore indexes them.
func indexPosts(c store.Conn) (n int, err error) {
	state, err := kernel.LockSetting(c, SettingIndexed)
	if err != nil || state == IndexedAll {
		return 0, err
	}
	last, err := strconv.ParseInt(state, 10, 64)
	if err != nil {
		return 0, kernel.Wrap("the setting "+SettingIndexed, err)
	}
	type post struct {
		id, number     int64 // number is 0 for an archived post
		title, message string
	}
	batch, err := store.List(c, func(r store.Row) (p post, err error) {
		return p, r.Scan(&p.id, &p.number, &p.title, &p.message)
	}, "SELECT i.id, COALESCE(p.number, 0), t.title, COALESCE(p.message, '') FROM board_post_ids i"+
		" JOIN board_threads t ON t.id = i.thread_id"+
		" LEFT JOIN board_posts p ON p.thread_id = i.thread_id AND p.id = i.id WHERE i.id > ? ORDER BY i.id"+
		content.Limit(c.Dialect()), last, indexBatch)
	if err != nil {
		return 0, err
	}
	next := IndexedAll // stays so if there are no more posts
	begun := time.Now()
	for i, p := range batch {
		if i > 0 && time.Since(begun) >= maxIndexWrite {
			break
		}
		next = kernel.Itoa(p.id)
		// The older rules of SQLite for ASCII text were the same.
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

// reindexBatch is the number of posts that Reindex indexes in one write.
const reindexBatch = 500

// Reindex rebuilds the search index from all posts. It calls step after each batch with the number of posts in the
// batch. It implements Reindex of store.Schema.
func Reindex(ctx context.Context, db *store.DB, step func(rows int64)) error {
	deleteAll := "DELETE FROM board_search"
	if db.Dialect() == store.SQLite {
		deleteAll = "INSERT INTO board_search (board_search) VALUES ('delete-all')"
	}
	if err := db.Write(ctx, func(c store.Conn) error { _, err := c.Exec(deleteAll); return err }); err != nil {
		return err
	}
	type post struct {
		id             int64
		title, message string
	}
	return db.Walk(ctx, reindexBatch, step, func(c store.Conn, lastID int64, limit int) (int, int64, error) {
		list, err := store.List(c, func(r store.Row) (p post, err error) {
			err = r.Scan(&p.id, &p.title, &p.message)
			return p, err
		}, "SELECT i.id, CASE p.number WHEN 1 THEN t.title ELSE '' END, p.message FROM board_post_ids i"+
			" JOIN board_threads t ON t.id = i.thread_id"+
			" JOIN board_posts p ON p.thread_id = i.thread_id AND p.id = i.id WHERE i.id > ? ORDER BY i.id LIMIT ?",
			lastID, limit)
		if err != nil {
			return len(list), lastID, err
		}
		statement := IndexRows(c.Dialect()) + "VALUES " + IndexRow(c.Dialect())
		for _, p := range list {
			if err := c.Last(statement, IndexValues(c.Dialect(), p.id, p.title, p.message)...); err != nil {
				return len(list), lastID, err
			}
			lastID = p.id
		}
		return len(list), lastID, nil
	})
}
