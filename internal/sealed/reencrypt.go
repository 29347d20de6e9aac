package sealed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

const (
	// Batch is the default number of texts that are read together and changed in one transaction.
	Batch = 100
	// sampleSize limits the number of texts of a column in a sample.
	sampleSize = 20
)

// Column is a column of sealed texts. All names and SQL expressions must come from the code, never from a request.
type Column struct {
	// Table is the name of the table.
	Table string
	// ID is the name of a column with unique values, either texts or numbers.
	ID string
	// Text is the name of the column with the sealed texts.
	Text string
	// Prefix precedes the sealed texts in the column, but is not a part of them. Texts without it are not sealed.
	Prefix string
	// Where is an SQL condition for the rows with a sealed text. If Where and Prefix are empty, all rows have one.
	Where string
	// Number means that the column ID has numbers.
	Number bool
	// Row is the SQL expression whose value is passed to Place. Default: ID.
	Row string
	// Place returns the associated data with which a row's text is sealed.
	Place func(row string) string
	// Batch is how many texts are read and changed at a time. Default: the constant Batch.
	Batch int
}

// Columns are the columns of a service's sealed texts.
type Columns []Column

// Result describes the progress and the result of Reseal.
type Result struct {
	// Checked is the number of sealed texts that were read until now, and Total their number in the database.
	Checked int `json:"-"`
	Total   int `json:"total"`
	// Resealed is the number of texts that were sealed with an older key and are now sealed with the current one.
	Resealed int `json:"resealed"`
	// Changed is the number of texts that another writer replaced or removed meanwhile. A replaced text was sealed with
	// the current key of the writer's node; call Reseal again to be sure.
	Changed int `json:"changed"`
	// Unreadable is the number of texts that cannot be opened with the configured keys. They stay unchanged.
	Unreadable int `json:"unreadable"`
}

// Database has the methods of a store.DB with which Reseal reads and changes texts.
type Database interface {
	Read(ctx context.Context, fn func(c store.Conn) error) error
	Write(ctx context.Context, fn func(c store.Conn) error) error
}

// Sealer has the methods of a keyring.Keyring that Reseal needs; they are described there.
type Sealer interface {
	Seal(ctx context.Context, plaintext, associated []byte) (string, error)
	Open(ctx context.Context, sealed string, associated []byte) ([]byte, error)
	Current(sealed string) bool
}

// text is the sealed text of a row.
type text struct {
	id         any    // value of Column.ID, a string or an int64
	row        string // value of Column.Row
	sealed     string // without Column.Prefix
	associated string // associated data
	resealed   string // the text sealed again; empty if the text is not changed
}

// Sample returns some texts of each column. It can be used as a Sample for New.
func (c Columns) Sample(ctx context.Context, db *store.DB) (sample []Text, err error) {
	for i := range c {
		page, err := c[i].page(ctx, db, nil, min(sampleSize, c[i].batch()))
		if err != nil {
			return nil, err
		}
		for _, t := range page {
			sample = append(sample, Text{Sealed: t.sealed, Associated: t.associated})
		}
	}
	return sample, nil
}

// Reseal seals every text again that is not sealed with the newest key. If the sealer is a keyring, Reseal first makes
// all nodes seal with the newest key, which all must have. It works in batches, between which other writers get their
// turn, and does not touch a text that is changed meanwhile. It may be interrupted at any point and called again. Texts
// that cannot be opened are logged. It calls progress after each batch, unless progress is nil.
func (c Columns) Reseal(
	ctx context.Context, db Database, sealer Sealer, logger *zap.Logger, progress func(Result),
) (result Result, err error) {
	if ring, ok := sealer.(keyring.Keyring); ok {
		if err := keyring.Advance(ctx, ring); err != nil {
			return result, err
		}
	}
	for i := range c {
		n, err := c[i].count(ctx, db)
		if err != nil {
			return result, err
		}
		result.Total += n
	}
	for i := range c {
		column := &c[i]
		var afterID any // id of the last row of the previous page
		for isLast := false; !isLast; {
			page, err := column.page(ctx, db, afterID, column.batch())
			if err != nil {
				return result, err
			}
			isLast = len(page) < column.batch()
			if !isLast {
				afterID = page[len(page)-1].id
			}
			if err := column.reseal(ctx, sealer, logger, page, &result); err != nil {
				return result, err
			}
			if err := column.swap(ctx, db, page, &result); err != nil {
				return result, err
			}
			result.Checked += len(page)
			result.Total = max(result.Checked, result.Total) // rows may have been added meanwhile
			if progress != nil && len(page) > 0 {
				progress(result)
			}
		}
	}
	return result, nil
}

// batch returns the number of texts to read and change at a time.
func (c *Column) batch() int { return cmp.Or(c.Batch, Batch) }

// condition returns the SQL condition for the rows with a sealed text, preceded by the given word, WHERE or AND. It
// returns "" if all rows have a sealed text.
func (c *Column) condition(word string) string {
	switch {
	case c.Prefix != "":
		return fmt.Sprintf(" %s %s LIKE '%s%%'", word, c.Text, c.Prefix)
	case c.Where != "":
		return " " + word + " " + c.Where
	}
	return ""
}

// count returns the number of sealed texts in the column.
func (c *Column) count(ctx context.Context, db Database) (n int, err error) {
	err = db.Read(ctx, func(conn store.Conn) error {
		return conn.Row("SELECT count(*) FROM " + c.Table + c.condition("WHERE")).Scan(&n)
	})
	return n, err
}

// page reads the texts of at most limit rows, in the order of their ids. It begins after the id in afterID, or with
// the first row if afterID is nil.
func (c *Column) page(ctx context.Context, db Database, afterID any, limit int) (page []text, err error) {
	switch { // begin below the lowest id
	case afterID == nil && c.Number:
		afterID = int64(math.MinInt64)
	case afterID == nil:
		afterID = ""
	}
	query := fmt.Sprintf("SELECT %s, %s, %s FROM %s WHERE %s > ?%s ORDER BY %s LIMIT ?",
		c.ID, cmp.Or(c.Row, c.ID), c.Text, c.Table, c.ID, c.condition("AND"), c.ID)
	err = db.Read(ctx, func(conn store.Conn) error {
		page, err = store.List(conn, func(r store.Row) (t text, err error) {
			if c.Number {
				var id int64
				err = r.Scan(&id, &t.row, &t.sealed)
				t.id = id
			} else {
				var id string
				err = r.Scan(&id, &t.row, &t.sealed)
				t.id = id
			}
			t.associated, t.sealed = c.Place(t.row), strings.TrimPrefix(t.sealed, c.Prefix)
			return t, err
		}, query, afterID, limit)
		return err
	})
	return page, err
}

// reseal seals the texts of a page again with the newest key, and sets their field resealed. It counts texts that
// cannot be opened in result.
func (c *Column) reseal(
	ctx context.Context, sealer Sealer, logger *zap.Logger, page []text, result *Result,
) error {
	for i := range page {
		t := &page[i]
		if sealer.Current(t.sealed) {
			continue
		}
		plain, err := sealer.Open(ctx, t.sealed, []byte(t.associated))
		if errors.Is(err, keyring.ErrOpen) { // a damaged text must not keep other texts under the old key
			logger.Error("secret cannot be decrypted, it stays unchanged; check the keyring",
				zap.String("table", c.Table), zap.String("id", fmt.Sprint(t.id)))
			result.Unreadable++
			continue
		}
		if err == nil {
			t.resealed, err = sealer.Seal(ctx, plain, []byte(t.associated))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// swap stores the newly sealed texts in rows that still have the old text. It counts these rows and the other rows in
// result.
func (c *Column) swap(ctx context.Context, db Database, page []text, result *Result) error {
	statement := fmt.Sprintf("UPDATE %s SET %s = ? WHERE %s = ? AND %s = ?", c.Table, c.Text, c.ID, c.Text)
	var resealed, changed int
	err := db.Write(ctx, func(conn store.Conn) error {
		resealed, changed = 0, 0 // Write may call this function again
		for i := range page {
			t := &page[i]
			if t.resealed == "" {
				continue
			}
			n, err := conn.Exec(statement, c.Prefix+t.resealed, t.id, c.Prefix+t.sealed)
			if err != nil {
				return err
			}
			if n > 0 {
				resealed++
			} else {
				changed++
			}
		}
		return nil
	})
	if err == nil {
		result.Resealed, result.Changed = result.Resealed+resealed, result.Changed+changed
	}
	return err
}
