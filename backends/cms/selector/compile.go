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

// Kind is what the values of a field are.
type Kind int

// The kinds. Page is an id, or a path.
const (
	Text Kind = iota
	Number
	Bool
	Time // compared in seconds since 1970; written so, or as 2026-01-02, or as RFC 3339
	Page
)

// Field is a field that pages can be found by.
type Field struct {
	ID   int64
	Kind Kind
	// Everywhere: all pages have it. Others have it by the templates of cms_template_fields.
	Everywhere bool
}

// Set is templates: all, or those of IDs.
type Set struct {
	All bool
	IDs []int64
}

// Status is a state of a page, as it is stored.
type Status int

// The states.
const (
	Published Status = iota
	Hidden
	Unpublished
	Trash
)

// Statuses are the names of the states.
var Statuses = []string{"published", "hidden", "unpublished", "trash"}

// Scheme is what selectors are compiled for: the fields and templates that there are, and
// whose pages may be seen.
type Scheme struct {
	Dialect   store.Dialect
	Fields    map[string]Field
	Templates map[string]int64
	// Paths are the ids of the pages at Selector.Paths; what is not there has none.
	Paths map[string]int64
	// View are templates whose published and hidden pages are seen, Edit those whose other
	// pages are, too.
	View, Edit Set
	// Hidden has hidden pages count also where include does not ask for them.
	Hidden bool
	// Cursor signs cursors.
	Cursor signed.Signer
}

// Query is a selector as SQL over the table cms_pages, which is p in it.
type Query struct {
	Limit, Start int

	// merged are the templates of a list that is made of one each: where has their condition first then, and args
	// have their ids.
	merged        []int64
	joins, where  []string
	joined, args  []any
	keys          []key
	order, signer string
	cursor        signed.Signer
	dialect       store.Dialect
}

// key is what pages are ordered by.
type key struct {
	expr string
	text bool // else a number
	desc bool
}

// columns are what pages have beside fields: compared as a text, a number or a time.
var columns = map[string]struct {
	column string
	kind   Kind
	micros bool
}{
	"id": {"p.id", Number, false}, "name": {"p.name", Text, false}, "path": {"p.path", Text, false},
	"created": {"p.created", Time, true}, "modified": {"p.modified", Time, true}, "published": {"p.published", Time, true},
}

// Special reports whether a word has a meaning of its own in selectors, so that no field
// can be named so.
func Special(word string) bool {
	if _, ok := columns[word]; ok {
		return true
	}
	return slices.Contains([]string{"parent", "has_parent", "template", "status", "sort", "limit", "start", "after", "include"}, word)
}

// Paths are those in a selector, as they are stored: what is equal to a parent or to a
// page of a field. An engine plans better for an id than for a path to look up.
func (s *Selector) Paths() (paths []string) {
	for _, t := range s.Terms {
		if t.Op != Equal && t.Op != NotEqual || slices.ContainsFunc(t.Fields, func(name Name) bool { return name.Text == "path" }) {
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

// Compile makes SQL of a selector. The error is an *Error.
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
	if last := len(c.keys) - 1; last < 0 || c.keys[last].expr != "p.id" { // what pages are told apart by in the end
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
		return q, c.behind(*c.after)
	}
	return q, nil
}

// compiler is Compile at work.
type compiler struct {
	*Query
	scheme     *Scheme
	view, edit Set
	statuses   []Status
	stated     []Status // by status=; nil: none are
	narrowed   bool     // to templates that the selector names
	sorts      []Value
	after      *Value
	parent     bool // of one parent
	given      []string
}

func refuse(position int, format string, args ...any) error {
	return &Error{position, fmt.Sprintf(format, args...)}
}

// once refuses a word that is there already.
func (c *compiler) once(name Name) error {
	if slices.Contains(c.given, name.Text) {
		return refuse(name.position, "%s is there twice", name.Text)
	}
	c.given = append(c.given, name.Text)
	return nil
}

// term compiles one term. Those that say how, and those of the template and the status,
// which decide over what may be seen, stand alone.
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

func or(conditions []string) string {
	if len(conditions) == 1 {
		return conditions[0]
	}
	return "(" + strings.Join(conditions, " OR ") + ")"
}

// single compiles what stands alone.
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
			if c.sorts = append(c.sorts, v); len(c.sorts) > SortsMost {
				return refuse(v.position, "pages are sorted by %d fields at most", SortsMost)
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
		if v.Text != "" { // of the first page
			c.after = &v
		}
	case "limit", "start":
		least, most, into := 1, LimitMost, &c.Limit
		if name.Text == "start" {
			least, most, into = 0, StartMost, &c.Start
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

// comparison refuses operators other than = and !=.
func comparison(name Name, op Op) error {
	if op != Equal && op != NotEqual {
		return refuse(name.position, "%s takes the operators = and != alone", name.Text)
	}
	return nil
}

// template narrows what may be seen to some templates.
func (c *compiler) template(name Name, t Term) error {
	if err := comparison(name, t.Op); err != nil {
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
	c.view, c.edit, c.narrowed = c.view.and(ids), c.edit.and(ids), true
	return nil
}

func (s Set) and(ids []int64) Set {
	if s.All {
		return Set{IDs: ids}
	}
	return Set{IDs: slices.DeleteFunc(slices.Clone(s.IDs), func(id int64) bool { return !slices.Contains(ids, id) })}
}

// status says which states are meant, instead of include.
func (c *compiler) status(name Name, t Term) error {
	if err := comparison(name, t.Op); err != nil {
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

// visible is the condition of what may be seen. The states are written out, so that an
// index of one of them can be used.
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
		if !c.narrowed { // most of them: the index of another condition, or of the order, is better
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

// mergeMost is how many lists are made one: each is read up to the limit.
const mergeMost = 32

// merge has a list of published pages of some templates be made of one for each template, where an index has these in
// order: an engine would read them all, or look through all pages for them.
func (c *compiler) merge() {
	ids := c.view.IDs
	if !c.narrowed || c.view.All || len(ids) < 2 || len(ids) > mergeMost || len(c.where) != 1 || len(c.joins) > 0 || !slices.Equal(c.statuses, []Status{Published}) {
		return
	}
	switch c.keys[0].expr {
	case "p.created", "p.modified", "p.id":
		c.merged = ids
	}
}

// sort adds what pages are ordered by.
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
	join := " LEFT JOIN cms_page_values " + table + " ON " + table + ".page_id = p.id AND " + table + ".field_id = ? AND " + table + ".n = 0"
	if !field.Everywhere {
		join += " AND " + field.had()
	}
	c.joins = append(c.joins, join)
	c.joined = append(c.joined, field.ID)
	if field.Kind == Text {
		c.keys = append(c.keys, key{"COALESCE(" + table + ".text, '')", true, desc})
	} else {
		c.keys = append(c.keys, key{"COALESCE(" + table + ".num, -1e300)", false, desc}) // those without a value are the least
	}
	return nil
}

// behind goes on behind the page that a cursor is of.
func (c *compiler) behind(v Value) error {
	bad := refuse(v.position, "after is no cursor of this list")
	payload, ok := c.cursor.Open(v.Text, c.signer)
	if !ok {
		return bad
	}
	var values []any
	decoder := json.NewDecoder(strings.NewReader(string(payload)))
	decoder.UseNumber()
	if decoder.Decode(&values) != nil || len(values) != len(c.keys) {
		return bad
	}
	for i, value := range values {
		n, ok := value.(json.Number)
		if _, text := value.(string); ok == c.keys[i].text || text != c.keys[i].text { // the field has become another
			return bad
		}
		if ok {
			if whole, err := n.Int64(); err == nil {
				values[i] = whole
			} else if values[i], err = n.Float64(); err != nil {
				return bad
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
	if same { // as one comparison of rows, which an index answers
		exprs := make([]string, len(c.keys))
		for i, k := range c.keys {
			exprs[i] = k.expr
		}
		c.where = append(c.where, "("+strings.Join(exprs, ", ")+")"+op(c.keys[0])+"(?"+strings.Repeat(", ?", len(values)-1)+")")
		c.args = append(c.args, values...)
		return nil
	}
	var either []string
	for i, k := range c.keys {
		conditions := make([]string, 0, len(c.keys))
		for _, before := range c.keys[:i] {
			conditions = append(conditions, before.expr+" = ?")
		}
		either = append(either, "("+strings.Join(append(conditions, k.expr+op(k)+"?"), " AND ")+")")
		c.args = append(c.args, values[:i+1]...)
	}
	c.where = append(c.where, or(either))
	return nil
}

// Select reads columns of the pages, in their order, one more than the limit, which
// tells whether there are others. Behind the columns are what pages are ordered by; see
// Keys.
func (q *Query) Select(columns string) (string, []any) {
	for _, k := range q.keys {
		columns += ", " + k.expr
	}
	if len(q.merged) > 0 {
		return q.mergedSelect(columns)
	}
	sql := "SELECT " + columns + " FROM cms_pages p" + strings.Join(q.joins, "") + " WHERE " + strings.Join(q.where, " AND ") +
		" ORDER BY " + q.order + " LIMIT ?"
	args := append(slices.Concat(q.joined, q.args), q.Limit+1)
	if q.Start > 0 {
		return sql + " OFFSET ?", append(args, q.Start)
	}
	return sql, args
}

// mergedSelect finds the ids by the lists of the templates, and reads the pages of those alone that are asked for.
func (q *Query) mergedSelect(columns string) (string, []any) {
	where := append([]string{"p.status = 0 AND p.template_id = ?"}, q.where[1:]...)
	behind := q.args[len(q.merged):]
	shown, order := "p.id AS page", ""
	for i, k := range q.keys {
		name := "k" + strconv.Itoa(i)
		shown += ", " + k.expr + " AS " + name
		if order += ", m." + name; k.desc {
			order += " DESC"
		}
	}
	one := "SELECT * FROM (SELECT " + shown + " FROM cms_pages p WHERE " + strings.Join(where, " AND ") + " ORDER BY " + q.order + " LIMIT ?) AS "
	lists, args := make([]string, len(q.merged)), make([]any, 0, len(q.args)+2*len(q.merged))
	for i, id := range q.merged {
		lists[i] = one + "l" + strconv.Itoa(i)
		args = append(append(append(args, id), behind...), q.Start+q.Limit+1)
	}
	return "SELECT " + columns + " FROM cms_pages p WHERE p.id IN (SELECT m.page FROM (" + strings.Join(lists, " UNION ALL ") + ") AS m ORDER BY " + order[2:] +
		" LIMIT ? OFFSET ?) ORDER BY " + q.order, append(args, q.Limit+1, q.Start)
}

// Count counts the pages, whatever the limit, from the cursor on.
func (q *Query) Count() (string, []any) {
	joins, args := "", q.args
	if len(q.joins) > 0 { // a cursor may speak of them
		joins, args = strings.Join(q.joins, ""), slices.Concat(q.joined, q.args)
	}
	return "SELECT COUNT(*) FROM cms_pages p" + joins + " WHERE " + strings.Join(q.where, " AND "), args
}

// Keys are what the last columns of Select are scanned into, for one row.
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

// Cursor is where a list goes on behind the row of keys.
func (q *Query) Cursor(keys []any) string {
	payload, err := json.Marshal(keys)
	if err != nil {
		panic(err) // texts and finite numbers
	}
	return q.cursor.Sign(payload, q.signer)
}
