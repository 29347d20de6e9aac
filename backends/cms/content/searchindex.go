package content

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/backends/cms/selector"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// maxWords limits how many words of a value are indexed.
const maxWords = 16_000

// index updates the searchable copies of those values that differ between page and previous. previous is the zero Page
// if page is new.
func (s *schema) index(c kernel.Conn, page, previous *Page) error {
	value := func(page *Page, name string) any {
		switch {
		case name != TitleField:
			return page.Fields[name]
		case page.ID == 0: // the zero Page has no title, rather than an empty one
			return nil
		}
		return page.Title
	}
	var fieldIDs []any
	for _, name := range append([]string{TitleField}, s.templatesByName[page.Template].Fields...) {
		f := s.fields[name]
		fieldIDs = append(fieldIDs, f.ID)
		current, old := value(page, name), value(previous, name)
		if _, searchable := kinds[f.Type]; !searchable {
			continue
		}
		// If the page had values of fields that have been removed, the searchable copies of its blocks may contain them. Then
		// the copies are written again even if the value is the same.
		if reflect.DeepEqual(current, old) && !previous.hasStaleValues {
			continue
		}
		if previous.ID != 0 {
			if err := unindex(c, "v.page_id = ? AND v.field_id = ?", page.ID, f.ID); err != nil {
				return err
			}
		}
		for n, row := range s.copies(f, current) {
			if err := row.write(c, page.ID, f.ID, n); err != nil {
				return err
			}
		}
	}
	if !previous.hasStaleValues {
		return nil
	}
	// Saving the page removes the values of fields that the template does not have. The copies of these values are
	// removed, too.
	return unindex(c, "v.page_id = ? AND v.field_id NOT IN (?"+strings.Repeat(", ?", len(fieldIDs)-1)+
		")", append([]any{page.ID}, fieldIDs...)...)
}

// unindex deletes the searchable copies that meet the SQL condition, in which v is the table cms_page_values.
func unindex(c kernel.Conn, condition string, args ...any) error {
	if c.Dialect() == store.SQLite {
		if _, err := c.Exec("DELETE FROM cms_search WHERE rowid IN (SELECT v.id FROM cms_page_values v WHERE v.text IS NOT NULL AND "+condition+")", args...); err != nil {
			return err
		}
	}
	_, err := c.Exec("DELETE FROM cms_page_values WHERE id IN (SELECT v.id FROM cms_page_values v WHERE "+
		condition+")", args...)
	return err
}

// write stores a searchable copy of a value, the nth value of the field.
func (r searchCopy) write(c kernel.Conn, page, field int64, n int) error {
	if r.isNum {
		_, err := c.Exec("INSERT INTO cms_page_values (field_id, page_id, n, num) VALUES (?, ?, ?, ?)", field, page, n, r.num)
		return err
	}
	folded := selector.Fold(r.text)
	key, truncated := selector.Key(folded)
	var fullText any // NULL if the key is the whole text
	if truncated {
		fullText = folded
	}
	words := wordsOf(folded)
	if c.Dialect() == store.Postgres {
		_, err := c.Exec("INSERT INTO cms_page_values (field_id, page_id, n, text, whole, words) VALUES (?, ?, ?, ?, ?, CAST(? AS tsvector))", field, page, n, key, fullText, tsvector(words))
		return err
	}
	var id int64
	if err := c.Row("INSERT INTO cms_page_values (field_id, page_id, n, text, whole) VALUES (?, ?, ?, ?, ?) RETURNING id",
		field, page, n, key, fullText).Scan(&id); err != nil {
		return err
	}
	return addWords(c, id, words)
}

// wordsOf returns the words of a folded text, at most maxWords.
func wordsOf(folded string) []string {
	words := selector.SplitWords(folded)
	return words[:min(len(words), maxWords)]
}

// addWords adds the words of the searchable copy with the given ID to the full-text index of SQLite.
func addWords(c kernel.Conn, id int64, words []string) error {
	if len(words) == 0 {
		return nil
	}
	_, err := c.Exec("INSERT INTO cms_search (rowid, words) VALUES (?, ?)", id, strings.Join(words, " "))
	return err
}

// tsvector formats words with their positions as a tsvector of PostgreSQL, such as 'a':1,3 'b':2.
func tsvector(words []string) string {
	positionsByWord := make(map[string][]byte, len(words))
	for i, word := range words {
		positions, seen := positionsByWord[word]
		if seen {
			if len(positions) > 1200 { // bytes for about 256 positions; PostgreSQL drops further ones
				continue
			}
			positions = append(positions, ',')
		}
		positionsByWord[word] = strconv.AppendInt(positions, int64(i+1), 10)
	}
	var out strings.Builder
	for word, positions := range positionsByWord {
		out.WriteByte('\'')
		out.WriteString(word)
		out.WriteString("':")
		out.Write(positions)
		out.WriteByte(' ')
	}
	return out.String()
}
