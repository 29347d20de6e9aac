package query

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// part is a group of members in the JSON objects of events. These members come from one row of another table, whose ID
// is in the event: a resource, a change or a report. Since many events refer to the same row, a long answer encodes
// these members as JSON once and copies the result afterwards. Parts are used with SQLite, where executing a statement
// costs no round trip.
type part struct {
	idColumn string // the column of the event that contains the ID
	sql      string // selects the values and the ID of each row; its parameter is a JSON array of IDs
	cells    []cell
}

// manyRows is the largest limit with which the answer to a query does not count as long.
const manyRows = 1000

// inParts reports whether rows with the given columns are written in parts. This is the case for rows of events on
// SQLite if the answer may be long and none of the columns is a function.
func (s *selectCompiler) inParts(columns []column) bool {
	return !s.c.postgres() && s.q.entity.name == "events" && !s.narrow && (s.q.limit == 0 || s.q.limit > manyRows) &&
		!slices.ContainsFunc(columns, func(col column) bool { return col.function != "" })
}

// addInParts adds the columns to st: columns of joined tables to st.parts, and all others to st.cells. It returns the
// SQL expressions that the statement must select: those of the cells, followed by the IDs of the parts.
func (s *selectCompiler) addInParts(st *statement, columns []column) (items []string) {
	e := s.q.entity
	values := make(map[string][]string) // SQL expressions of each part, by its ID column
	tables := make(map[string]string)   // tables with aliases, by the ID column that refers to them
	for _, col := range columns {
		f := col.field
		c := cell{key: col.key, kind: kindOf(f)}
		idColumn, table, value := "", "", "" // empty for a column of the event itself
		switch j := e.join(f.alias); {
		case f.alwaysNull:
		case j != nil:
			partScope := &selectCompiler{c: s.c, q: s.q, joined: make(map[string]bool)}
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

// partWriter writes one part of each row. Its rowWriter encodes the rows of the other table.
type partWriter struct {
	*rowWriter
	lookup  *sql.Stmt // part.sql
	cache   fragments
	missing []byte // buffer of cacheMissing
}

// newPartWriter returns a writer for the part p. It can be used until the transaction ends.
func newPartWriter(ctx context.Context, tx *sql.Tx, p part) (*partWriter, error) {
	lookup, err := tx.PrepareContext(ctx, p.sql)
	if err != nil {
		return nil, err
	}
	// The rows of the statement have one more column than there are cells: the ID. An empty part reserves the place of the
	// ID.
	st := &statement{cells: p.cells, parts: make([]part, 1), hashColumn: -1}
	return &partWriter{rowWriter: newRowWriter(nil, st, ""), lookup: lookup}, nil
}

// cacheMissing adds encoded members to the cache: those that the given rows need and that are not in the cache yet.
// It looks them up with one statement. column is the index of the ID in each row. Members that are longer than
// fragmentMax are not cached; append looks them up again.
func (p *partWriter) cacheMissing(rows [][]any, column int) error {
	p.missing = append(p.missing[:0], '[') // a JSON array of IDs
	for _, values := range rows {
		id, _ := values[column].(int64)
		if _, ok := p.cache.get(id); !ok {
			p.missing = append(strconv.AppendInt(p.missing, id, 10), ',')
		}
	}
	if len(p.missing) == 1 { // only the bracket
		return nil
	}
	p.missing[len(p.missing)-1] = ']' // instead of the last comma
	return p.lookUp(string(p.missing), func(id int64, text []byte) {
		if len(text) <= fragmentMax {
			p.cache.put(id, text)
		}
	})
}

// errNoPart is the error for an ID that does not exist in the table of a part.
var errNoPart = errors.New("there is no such part")

// append appends the encoded members for the given ID to b, with a comma before each member. It returns errNoPart if
// the table to which the ID refers has no row with this ID.
func (p *partWriter) append(b []byte, id int64) ([]byte, error) {
	if text, ok := p.cache.get(id); ok {
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

// lookUp looks up the IDs in ids, a JSON array, and calls fn with every ID that exists and with its encoded members.
// The members are valid until fn returns.
func (p *partWriter) lookUp(ids string, fn func(id int64, text []byte)) error {
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
		// Turn the object {"a":1,"b":2} into the members ,"a":1,"b":2 of another object.
		p.buf[0] = ','
		members := p.buf[:len(p.buf)-1]
		id, _ := p.values[len(p.cells)].(int64)
		fn(id, members)
	}
	return rows.Err()
}

// Limits of the cache of a part, in bytes. A generation has room for the fragments of all rows that are read at once.
const (
	generationBytes = 2 << 20
	fragmentMax     = generationBytes / rowsAtOnce
)

// fragments is a cache of encoded members by ID. It has two generations. When the young generation is full, it becomes
// the old one, and the previous old generation is dropped with all entries that have not been used in the meantime. The
// texts of a generation are in one buffer, which is used again, so storing a text allocates nothing.
type fragments struct{ young, old generation }

// generation is a buffer of concatenated texts with the positions of the texts.
type generation struct {
	positions map[int64]span
	text      []byte
}

// span is the range text[from:to] of a generation.
type span struct{ from, to int }

// get returns the text for an ID, which is valid until the next call of get or put. It reports whether the ID is in the
// cache. A text in the old generation is copied to the young one, so that it is kept.
func (f *fragments) get(id int64) ([]byte, bool) {
	if position, ok := f.young.positions[id]; ok {
		return f.young.text[position.from:position.to], true
	}
	position, ok := f.old.positions[id]
	if !ok {
		return nil, false
	}
	f.put(id, f.old.text[position.from:position.to])
	position = f.young.positions[id] // put may have made the old generation the young one and overwritten the old text
	return f.young.text[position.from:position.to], true
}

// put stores a copy of text for an ID. If the young generation is full, the two generations change places first, and
// the new young one is emptied.
func (f *fragments) put(id int64, text []byte) {
	if len(f.young.text)+len(text) > generationBytes {
		f.old, f.young = f.young, f.old
		clear(f.young.positions)
		f.young.text = f.young.text[:0]
	}
	if f.young.positions == nil {
		f.young.positions = make(map[int64]span)
	}
	start := len(f.young.text)
	f.young.text = append(f.young.text, text...)
	f.young.positions[id] = span{start, len(f.young.text)}
}
