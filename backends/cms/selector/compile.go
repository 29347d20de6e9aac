package selector

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/signed"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Kind is the type of a field's values.
type Kind int

// The kinds. A Page is given by its ID or path.
const (
	Text Kind = iota
	Number
	Bool
	Time // compared in seconds since 1970; written as such, as 2026-01-02, or in RFC 3339
	Page
)

// Field is a field that selectors can use.
type Field struct {
	ID   int64
	Kind Kind
	// Everywhere means that all pages have the field. Other fields belong to the templates in cms_template_fields.
	Everywhere bool
}

// Set is a set of templates: all of them, or those with the given IDs.
type Set struct {
	All bool
	IDs []int64
}

// Status is the status of a page in its stored form.
type Status int

// The statuses.
const (
	Published Status = iota
	Hidden
	Unpublished
	Trash
)

// Statuses are the names of the statuses.
var Statuses = []string{"published", "hidden", "unpublished", "trash"}

// Scheme describes what a selector is compiled for: the existing fields and templates, and which pages may be seen.
type Scheme struct {
	Dialect   store.Dialect
	Fields    map[string]Field
	Templates map[string]int64
	// Paths holds the IDs of the pages at Selector.Paths. A path without a page is not in it.
	Paths map[string]int64
	// View are the templates whose published and hidden pages may be seen. Edit are those whose other pages may be
	// seen, too.
	View, Edit Set
	// Hidden includes hidden pages even if the selector does not ask for them.
	Hidden bool
	// Cursor signs and checks cursors.
	Cursor signed.Signer
}

// Query is a selector as SQL over the table cms_pages, whose alias is p.
type Query struct {
	Limit, Start int

	// merged are the templates of a query that is the union of one query for each template. If it is set, where
	// begins with the condition on the templates, and args with their IDs.
	merged []int64
	// joins are JOIN clauses with placeholders for joinArgs. where are conditions, connected by AND, with placeholders
	// for args.
	joins, where   []string
	joinArgs, args []any
	keys           []key
	order, signer  string // the ORDER BY expressions, and the words of "sort", for which alone a cursor is valid
	cursor         signed.Signer
	dialect        store.Dialect
}

// key is one of the expressions by which pages are ordered.
type key struct {
	expr string
	text bool // otherwise a number
	desc bool
}

// columns are the columns that all pages have in addition to fields, and how they are compared. micros means that
// the column is in microseconds.
var columns = map[string]struct {
	column string
	kind   Kind
	micros bool
}{
	"id": {"p.id", Number, false}, "name": {"p.name", Text, false}, "path": {"p.path", Text, false},
	"created": {"p.created", Time, true}, "modified": {"p.modified", Time, true}, "published": {"p.published", Time, true},
}

// Special reports whether a word has a special meaning in selectors, so that no field may have this name.
func Special(word string) bool {
	if _, ok := columns[word]; ok {
		return true
	}
	return slices.Contains([]string{
		"parent", "has_parent", "template", "status", "sort", "limit", "start", "after",
		"include",
	}, word)
}

// Paths returns the paths that the selector compares with a parent or with a field of pages, in their stored form.
// They are looked up before Compile, because databases plan better for an ID than for a subquery.
func (s *Selector) Paths() (paths []string) {
	for _, t := range s.Terms {
		if t.Op != Equal && t.Op != NotEqual ||
			slices.ContainsFunc(t.Fields, func(name Name) bool { return name.Text == "path" }) {
			continue
		}
		for _, v := range t.Values {
			if strings.HasPrefix(v.Text, "/") {
				paths = append(paths, path(v.Text))
			}
		}
	}
	return paths
}

// Compile returns the SQL query of a selector. The error is an *Error.
func (s *Selector) Compile(scheme *Scheme) (*Query, error) {
	q := &Query{Limit: DefaultLimit, cursor: scheme.Cursor, dialect: scheme.Dialect}
	c := compiler{Query: q, scheme: scheme, view: scheme.View, edit: scheme.Edit, statuses: []Status{Published}}
	if scheme.Hidden {
		c.statuses = append(c.statuses, Hidden)
	}
	for _, t := range s.Terms {
		if err := c.term(t); err != nil {
			return nil, err
		}
	}
	c.visible()
	if len(c.sorts) == 0 && c.parent {
		c.keys = append(c.keys, key{expr: "p.sort"})
	}
	for _, v := range c.sorts {
		if err := c.sort(v); err != nil {
			return nil, err
		}
	}
	if last := len(c.keys) - 1; last < 0 || c.keys[last].expr != "p.id" { // the ID makes the order total
		c.keys = append(c.keys, key{expr: "p.id", desc: last >= 0 && c.keys[last].desc})
	}
	for _, k := range c.keys {
		q.order += ", " + k.expr
		if k.desc {
			q.order += " DESC"
		}
	}
	q.order = q.order[2:]
	c.merge()
	for _, v := range c.sorts {
		q.signer += v.Text + ","
	}
	if c.after != nil {
		if q.Start > 0 {
			return nil, &Error{c.after.position, "after and start do not go together"}
		}
		return q, c.afterCursor(*c.after)
	}
	return q, nil
}

// compiler holds the state of Compile.
type compiler struct {
	*Query
	scheme     *Scheme
	view, edit Set
	statuses   []Status
	stated     []Status // from status=; nil if there is none
	narrowed   bool     // to templates that the selector names
	sorts      []Value
	after      *Value
	parent     bool // all pages have the same parent
	given      []string
}

func refuse(position int, format string, args ...any) error {
	return &Error{position, fmt.Sprintf(format, args...)}
}

// once returns an error if the selector has used a word before that may occur only once.
func (c *compiler) once(name Name) error {
	if slices.Contains(c.given, name.Text) {
		return refuse(name.position, "%s is there twice", name.Text)
	}
	c.given = append(c.given, name.Text)
	return nil
}

// term compiles one term. Terms that define the list, and those on template and status, which decide what may be
// seen, must not be combined with other fields.
func (c *compiler) term(t Term) error {
	for _, name := range t.Fields {
		switch name.Text {
		case "limit", "start", "after", "include", "sort", "template", "status":
			if len(t.Fields) > 1 {
				return refuse(name.position, "%s does not go together with other fields", name.Text)
			}
			return c.single(name, t)
		}
	}
	var either []string
	for _, name := range t.Fields {
		sql, err := c.field(name, t)
		if err != nil {
			return err
		}
		either = append(either, sql)
	}
	c.where = append(c.where, or(either))
	return nil
}

// or connects conditions with OR.
func or(conditions []string) string {
	if len(conditions) == 1 {
		return conditions[0]
	}
	return "(" + strings.Join(conditions, " OR ") + ")"
}

// single compiles a term that must have only one field.
func (c *compiler) single(name Name, t Term) error {
	switch name.Text {
	case "template":
		return c.template(name, t)
	case "status":
		return c.status(name, t)
	}
	if t.Op != Equal {
		return refuse(name.position, "%s takes the operator = alone", name.Text)
	}
	if name.Text == "sort" {
		for _, v := range t.Values {
			if c.sorts = append(c.sorts, v); len(c.sorts) > MaxSorts {
				return refuse(v.position, "pages are sorted by %d fields at most", MaxSorts)
			}
		}
		return nil
	}
	if err := c.once(name); err != nil {
		return err
	}
	v := t.Values[0]
	if len(t.Values) > 1 && name.Text != "include" {
		return refuse(t.Values[1].position, "%s takes one value", name.Text)
	}
	switch name.Text {
	case "after":
		if v.Text != "" { // empty for the first page
			c.after = &v
		}
	case "limit", "start":
		least, most, into := 1, MaxLimit, &c.Limit
		if name.Text == "start" {
			least, most, into = 0, MaxStart, &c.Start
		}
		n, err := strconv.Atoi(v.Text)
		if err != nil || n < least || n > most {
			return refuse(v.position, "%s is a number from %d to %d", name.Text, least, most)
		}
		*into = n
	case "include":
		for _, v := range t.Values {
			switch v.Text {
			case "hidden":
				c.statuses = append(c.statuses, Hidden)
			case "unpublished":
				c.statuses = append(c.statuses, Unpublished)
			case "all":
				c.statuses = append(c.statuses, Hidden, Unpublished)
			default:
				return refuse(v.position, "include is hidden, unpublished or all")
			}
		}
	}
	return nil
}

// checkEquality returns an error if op is neither = nor !=, which are the only operators of the field.
func checkEquality(name Name, op Op) error {
	if op != Equal && op != NotEqual {
		return refuse(name.position, "%s takes the operators = and != alone", name.Text)
	}
	return nil
}

// template compiles the condition on the word "template" by restricting the templates whose pages may be seen to those
// that the term names or, for !=, to all others.
func (c *compiler) template(name Name, t Term) error {
	if err := checkEquality(name, t.Op); err != nil {
		return err
	}
	var ids []int64
	for _, v := range t.Values {
		id, ok := c.scheme.Templates[v.Text]
		if !ok {
			return refuse(v.position, "there is no template %q", v.Text)
		}
		ids = append(ids, id)
	}
	if t.Op == NotEqual {
		var others []int64
		for _, id := range c.scheme.Templates {
			if !slices.Contains(ids, id) {
				others = append(others, id)
			}
		}
		slices.Sort(others)
		ids = others
	}
	c.view, c.edit, c.narrowed = c.view.intersect(ids), c.edit.intersect(ids), true
	return nil
}

// intersect returns the templates of s that are also in ids.
func (s Set) intersect(ids []int64) Set {
	if s.All {
		return Set{IDs: ids}
	}
	return Set{IDs: slices.DeleteFunc(slices.Clone(s.IDs), func(id int64) bool { return !slices.Contains(ids, id) })}
}

// status compiles the condition on the word "status". "status=" replaces the statuses that the selector would find
// without it, including those of "include". "status!=" adds a condition that excludes pages with one of the statuses.
func (c *compiler) status(name Name, t Term) error {
	if err := checkEquality(name, t.Op); err != nil {
		return err
	}
	if err := c.once(name); err != nil {
		return err
	}
	var statuses []Status
	for _, v := range t.Values {
		i := slices.Index(Statuses, v.Text)
		if i < 0 {
			return refuse(v.position, "a status is %s", strings.Join(Statuses, ", "))
		}
		statuses = append(statuses, Status(i))
	}
	if t.Op == Equal {
		c.stated = statuses
		return nil
	}
	for _, status := range statuses {
		c.where = append(c.where, "p.status <> "+strconv.Itoa(int(status)))
	}
	return nil
}

// visible adds the condition on what may be seen. Statuses are literals, so that partial indexes can be used.
func (c *compiler) visible() {
	var public, other []string
	if c.stated != nil {
		c.statuses = c.stated
	}
	slices.Sort(c.statuses)
	for _, status := range slices.Compact(c.statuses) {
		into := &public
		if status >= Unpublished {
			into = &other
		}
		*into = append(*into, strconv.Itoa(int(status)))
	}
	one := func(statuses []string, templates Set) string {
		condition := "p.status IN (" + strings.Join(statuses, ", ") + ")"
		switch {
		case len(statuses) == 0 || !templates.All && len(templates.IDs) == 0:
			return ""
		case len(statuses) == 1:
			condition = "p.status = " + statuses[0]
		}
		if templates.All {
			return condition
		}
		for _, id := range templates.IDs {
			c.args = append(c.args, id)
		}
		if len(templates.IDs) == 1 {
			return "(" + condition + " AND p.template_id = ?)"
		}
		column := "p.template_id"
		if !c.narrowed { // most templates: other indexes are better, so exclude this one
			column = "+p.template_id"
		}
		return "(" + condition + " AND " + column + " IN (?" + strings.Repeat(", ?", len(templates.IDs)-1) + "))"
	}
	either := slices.DeleteFunc([]string{one(public, c.view), one(other, c.edit)}, func(s string) bool { return s == "" })
	if len(either) == 0 {
		either = []string{"1 = 0"}
	}
	c.where = append(c.where, or(either))
}

// maxMerge limits the templates of a merged query, each of which reads up to the limit.
const maxMerge = 32

// merge turns a list of published pages of several templates into a union of one query for each template, if an
// index has the pages of each template in the requested order. Otherwise the database would read all of them, or
// search all pages.
func (c *compiler) merge() {
	ids := c.view.IDs
	if !c.narrowed || c.view.All || len(ids) < 2 || len(ids) > maxMerge || len(c.where) != 1 || len(c.joins) > 0 ||
		!slices.Equal(c.statuses, []Status{Published}) {
		return
	}
	switch c.keys[0].expr {
	case "p.created", "p.modified", "p.id":
		c.merged = ids
	}
}

// sort adds an expression by which pages are ordered.
func (c *compiler) sort(v Value) error {
	name, desc := strings.CutPrefix(v.Text, "-")
	if column, ok := columns[name]; ok {
		c.keys = append(c.keys, key{column.column, column.kind == Text, desc})
		return nil
	}
	switch name {
	case "parent":
		c.keys = append(c.keys, key{"COALESCE(p.parent_id, 0)", false, desc})
		return nil
	case "sort":
		c.keys = append(c.keys, key{"p.sort", false, desc})
		return nil
	}
	field, ok := c.scheme.Fields[name]
	if !ok {
		return refuse(v.position, "there is no field %q to sort by", name)
	}
	table := "s" + strconv.Itoa(len(c.joins))
	join := " LEFT JOIN cms_page_values " + table + " ON " + table + ".page_id = p.id AND " + table +
		".field_id = ? AND " + table + ".n = 0"
	if !field.Everywhere {
		join += " AND " + field.templateHas()
	}
	c.joins = append(c.joins, join)
	c.joinArgs = append(c.joinArgs, field.ID)
	if field.Kind == Text {
		c.keys = append(c.keys, key{"COALESCE(" + table + ".text, '')", true, desc})
	} else {
		// pages without a value come first
		c.keys = append(c.keys, key{"COALESCE(" + table + ".num, -1e300)", false, desc})
	}
	return nil
}

// afterCursor adds the condition that a page comes after the one for which the cursor v was made. It returns an error
// if v was not made for a list with the same order.
func (c *compiler) afterCursor(v Value) error {
	invalid := refuse(v.position, "after is not a cursor of this list")
	payload, ok := c.cursor.Open(v.Text, c.signer)
	if !ok {
		return invalid
	}
	var values []any
	decoder := json.NewDecoder(strings.NewReader(string(payload)))
	decoder.UseNumber()
	if decoder.Decode(&values) != nil || len(values) != len(c.keys) {
		return invalid
	}
	for i, value := range values {
		n, ok := value.(json.Number)
		// the type of the field has changed
		if _, text := value.(string); ok == c.keys[i].text || text != c.keys[i].text {
			return invalid
		}
		if ok {
			if whole, err := n.Int64(); err == nil {
				values[i] = whole
			} else if values[i], err = n.Float64(); err != nil {
				return invalid
			}
		}
	}
	same := true
	for _, k := range c.keys {
		same = same && k.desc == c.keys[0].desc
	}
	op := func(k key) string {
		if k.desc {
			return " < "
		}
		return " > "
	}
	if same { // a comparison of rows can use an index
		exprs := make([]string, len(c.keys))
		for i, k := range c.keys {
			exprs[i] = k.expr
		}
		c.where = append(c.where, "("+strings.Join(exprs, ", ")+")"+op(c.keys[0])+"(?"+strings.Repeat(", ?", len(values)-1)+
			")")
		c.args = append(c.args, values...)
		return nil
	}
	var either []string
	for i, k := range c.keys {
		conditions := make([]string, 0, len(c.keys))
		for _, previous := range c.keys[:i] {
			conditions = append(conditions, previous.expr+" = ?")
		}
		either = append(either, "("+strings.Join(append(conditions, k.expr+op(k)+"?"), " AND ")+")")
		c.args = append(c.args, values[:i+1]...)
	}
	c.where = append(c.where, or(either))
	return nil
}

// Select returns the SQL and the arguments that read columns of the pages in their order. It reads one page more
// than the limit, to detect whether there are others. The columns are followed by the expressions of the order; see
// Keys.
func (q *Query) Select(columns string) (string, []any) {
	for _, k := range q.keys {
		columns += ", " + k.expr
	}
	if len(q.merged) > 0 {
		return q.mergedSelect(columns)
	}
	sql := "SELECT " + columns + " FROM cms_pages p" + strings.Join(q.joins, "") + " WHERE " +
		strings.Join(q.where, " AND ") +
		" ORDER BY " + q.order + " LIMIT ?"
	args := append(slices.Concat(q.joinArgs, q.args), q.Limit+1)
	if q.Start > 0 {
		return sql + " OFFSET ?", append(args, q.Start)
	}
	return sql, args
}

// mergedSelect returns the SQL that finds the IDs by the union of the templates' queries, and reads the columns of
// the resulting pages only.
func (q *Query) mergedSelect(columns string) (string, []any) {
	where := append([]string{"p.status = 0 AND p.template_id = ?"}, q.where[1:]...)
	commonArgs := q.args[len(q.merged):]
	shown, order := "p.id AS page", ""
	for i, k := range q.keys {
		name := "k" + strconv.Itoa(i)
		shown += ", " + k.expr + " AS " + name
		if order += ", m." + name; k.desc {
			order += " DESC"
		}
	}
	one := "SELECT * FROM (SELECT " + shown + " FROM cms_pages p WHERE " + strings.Join(where, " AND ") + " ORDER BY " +
		q.order + " LIMIT ?) AS "
	lists, args := make([]string, len(q.merged)), make([]any, 0, len(q.args)+2*len(q.merged))
	for i, id := range q.merged {
		lists[i] = one + "l" + strconv.Itoa(i)
		args = append(append(append(args, id), commonArgs...), q.Start+q.Limit+1)
	}
	return "SELECT " + columns + " FROM cms_pages p WHERE p.id IN (SELECT m.page FROM (" +
		strings.Join(lists, " UNION ALL ") + ") AS m ORDER BY " + order[2:] +
		" LIMIT ? OFFSET ?) ORDER BY " + q.order, append(args, q.Limit+1, q.Start)
}

// Count returns the SQL and the arguments that count the pages after the cursor, ignoring the limit.
func (q *Query) Count() (string, []any) {
	joins, args := "", q.args
	if len(q.joins) > 0 { // the condition of a cursor may refer to them
		joins, args = strings.Join(q.joins, ""), slices.Concat(q.joinArgs, q.args)
	}
	return "SELECT COUNT(*) FROM cms_pages p" + joins + " WHERE " + strings.Join(q.where, " AND "), args
}

// Keys returns pointers into which the last columns of Select are scanned for one row.
func (q *Query) Keys() []any {
	into := make([]any, len(q.keys))
	for i, k := range q.keys {
		switch {
		case k.text:
			into[i] = new(string)
		case strings.HasPrefix(k.expr, "COALESCE(s"):
			into[i] = new(float64)
		default:
			into[i] = new(int64)
		}
	}
	return into
}

// Cursor returns the cursor that continues the list after the row with these keys.
func (q *Query) Cursor(keys []any) string {
	payload, err := json.Marshal(keys)
	if err != nil {
		panic(err) // texts and finite numbers
	}
	return q.cursor.Sign(payload, q.signer)
}
