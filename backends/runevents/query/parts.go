package query

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// part is a group of members in the rows of events. These members depend on one ID in the row: the ID of the resource,
// the change or the report. Since many events share them, a long answer encodes them as JSON once and copies the result
// afterwards. Parts are used with SQLite, where executing a statement costs no round trip.
type part struct {
	idColumn string // the column of the event that contains the ID
	sql      string // selects the values and the ID, for a JSON array of IDs
	cells    []cell
}

// manyRows is the limit of a query above which its answer counts as long.
const manyRows = 1000

// inParts reports whether rows with the given columns are written in parts.
func (s *scope) inParts(columns []column) bool {
	return !s.c.postgres() && s.q.entity.name == "events" && !s.narrow && (s.q.limit == 0 || s.q.limit > manyRows) &&
		!slices.ContainsFunc(columns, func(col column) bool { return col.function != "" })
}

// split adds the columns to st. Columns that depend on a shared row become parts. items are the SQL expressions of the
// other columns, and of the IDs of the parts.
func (s *scope) split(st *statement, columns []column) (items []string) {
	e := s.q.entity
	values := make(map[string][]string) // of each part
	tables := make(map[string]string)
	for _, col := range columns {
		f := col.field
		c := cell{key: col.key, kind: kindOf(f)}
		idColumn, table, value := "", "", ""
		switch j := e.join(f.alias); {
		case f.unknowable:
		case j != nil:
			partScope := &scope{c: s.c, q: s.q, joined: make(map[string]bool)}
			idColumn, table, value = j.key, j.table+" "+j.alias, partScope.value(f)
		case f.dictionary != "":
			idColumn, table, value = f.column, f.dictionary, "name"
		}
		if idColumn == "" {
			items = append(items, s.value(f))
			st.cells = append(st.cells, c)
			continue
		}
		i := slices.IndexFunc(st.parts, func(p part) bool { return p.idColumn == idColumn })
		if i < 0 {
			i = len(st.parts)
			st.parts = append(st.parts, part{idColumn: idColumn})
		}
		st.parts[i].cells = append(st.parts[i].cells, c)
		values[idColumn] = append(values[idColumn], value)
		tables[idColumn] = table
	}
	for i, p := range st.parts {
		st.parts[i].sql = "SELECT " + strings.Join(values[p.idColumn], ", ") + ", id FROM " + tables[p.idColumn] +
			" WHERE id IN (SELECT value FROM json_each($1))"
		items = append(items, s.column(e.alias, p.idColumn))
	}
	return items
}

// rowsAtOnce is the number of rows that are read before their missing parts are looked up with one statement.
const rowsAtOnce = 256

// partWriter writes one part of each row.
type partWriter struct {
	*rowWriter
	lookup  *sql.Stmt
	written fragments
	missing []byte // IDs as a JSON array
}

func newPartWriter(ctx context.Context, tx *sql.Tx, p part) (*partWriter, error) {
	lookup, err := tx.PrepareContext(ctx, p.sql)
	if err != nil {
		return nil, err
	}
	return &partWriter{
		rowWriter: newRowWriter(nil, &statement{cells: p.cells, parts: make([]part, 1), hash: -1}, ""),
		lookup:    lookup,
	}, nil
}

// load looks up and encodes the parts for rows that are not cached. The IDs are in the given column of the rows.
func (p *partWriter) load(rows [][]any, column int) error {
	p.missing = append(p.missing[:0], '[')
	for _, values := range rows {
		id, _ := values[column].(int64)
		if _, ok := p.written.get(id); !ok {
			p.missing = append(strconv.AppendInt(p.missing, id, 10), ',')
		}
	}
	if len(p.missing) == 1 {
		return nil
	}
	p.missing[len(p.missing)-1] = ']'
	return p.lookUp(string(p.missing), func(id int64, text []byte) {
		if len(text) <= fragmentMax {
			p.written.put(id, text)
		}
	})
}

// errNoPart is the error for an ID that does not exist in the table of a part.
var errNoPart = errors.New("there is no such part")

// append appends the encoded members for the given ID to b. A comma precedes each member.
func (p *partWriter) append(b []byte, id int64) ([]byte, error) {
	if text, ok := p.written.get(id); ok {
		return append(b, text...), nil
	}
	found := false
	err := p.lookUp("["+strconv.FormatInt(id, 10)+"]", func(_ int64, text []byte) {
		b, found = append(b, text...), true
	})
	if err == nil && !found {
		err = errNoPart
	}
	return b, err
}

// lookUp looks up ids, a JSON array, and calls each with every ID and its encoded members.
func (p *partWriter) lookUp(ids string, each func(id int64, text []byte)) error {
	rows, err := p.lookup.Query(ids) //nolint:noctx // rows by their keys; the transaction has the context
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(p.dest[0]...); err != nil {
			return err
		}
		p.buf = p.buf[:0]
		if err := p.row(); err != nil {
			return err
		}
		p.buf[0] = ','
		id, _ := p.values[len(p.cells)].(int64)
		each(id, p.buf[:len(p.buf)-1])
	}
	return rows.Err()
}

// Limits of the cache of a part. A generation has room for all rows that are read at once; see rowsAtOnce.
const (
	generationBytes = 2 << 20
	fragmentMax     = generationBytes / rowsAtOnce
)

// fragments is a cache of encoded members by ID. It has two generations. When the young generation is full, it becomes
// the old one, and the previous old generation is dropped with all entries that have not been used in the meantime.
type fragments struct{ young, old generation }

// generation is a buffer of concatenated texts with the positions of the texts.
type generation struct {
	positions map[int64]span
	text      []byte
}

type span struct{ from, to int }

func (f *fragments) get(id int64) ([]byte, bool) {
	if position, ok := f.young.positions[id]; ok {
		return f.young.text[position.from:position.to], true
	}
	position, ok := f.old.positions[id]
	if !ok {
		return nil, false
	}
	f.put(id, f.old.text[position.from:position.to])
	position = f.young.positions[id] // the old text may have been overwritten
	return f.young.text[position.from:position.to], true
}

func (f *fragments) put(id int64, text []byte) {
	if len(f.young.text)+len(text) > generationBytes {
		f.old, f.young = f.young, f.old
		clear(f.young.positions)
		f.young.text = f.young.text[:0]
	}
	if f.young.positions == nil {
		f.young.positions = make(map[int64]span)
	}
	from := len(f.young.text)
	f.young.text = append(f.young.text, text...)
	f.young.positions[id] = span{from, len(f.young.text)}
}
