package selector

import (
	"bytes"
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

// The kinds. The values of a Page field are IDs or paths of pages.
const (
	Text Kind = iota
	Number
	Bool
	Time // compared in seconds since 1970; written as this number, as 2026-01-02, or in RFC 3339
	Page
)

// Field is a field that selectors can contain.
type Field struct {
	ID   int64
	Kind Kind
	// Everywhere means that all pages have the field. Any other field belongs to the templates that cms_template_fields
	// lists.
	Everywhere bool
}

// Set is a set of templates: all templates, or those with the given IDs.
type Set struct {
	All bool
	IDs []int64
}

// Status is the status of a page in its stored form: the number in the column status. SQL texts contain this number as
// a literal. Pages with a status before Unpublished may be seen without the right to edit them.
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

// Scheme holds what Compile needs in addition to the selector: the existing fields and templates, and the rights of the
// user.
type Scheme struct {
	Dialect   store.Dialect
	Fields    map[string]Field // by name
	Templates map[string]int64 // the IDs by name
	// Paths maps the results of Selector.Paths to page IDs. A path without a page is not in the map.
	Paths map[string]int64
	// View holds the templates whose published and hidden pages the user may see. Edit holds the templates whose pages the
	// user may see in any status.
	View, Edit Set
	// Hidden includes hidden pages even if the selector has no "include".
	Hidden bool
	// Cursor signs new cursors and verifies the selector's cursor.
	Cursor signed.Signer
}

// columns are the columns that all pages have, and how their values are compared. micros means that the column is a
// time in microseconds.
var columns = map[string]struct {
	column string
	kind   Kind
	micros bool
}{
	"id": {"p.id", Number, false}, "name": {"p.name", Text, false}, "path": {"p.path", Text, false},
	"created": {"p.created", Time, true}, "modified": {"p.modified", Time, true}, "published": {"p.published", Time, true},
}

// Special reports whether a word has a special meaning in selectors. A field must not have such a word as its name.
func Special(word string) bool {
	if _, ok := columns[word]; ok {
		return true
	}
	return slices.Contains([]string{
		"parent", "has_parent", "template", "status", "sort", "limit", "start", "after",
		"include",
	}, word)
}

// Paths returns the paths, in their stored form, that the selector compares with parents and with fields of type page.
// The caller looks up their IDs before Compile, because databases plan queries better with an ID than with a subquery.
func (s *Selector) Paths() (paths []string) {
	for _, t := range s.Terms {
		if t.Op != Equal && t.Op != NotEqual ||
			slices.ContainsFunc(t.Fields, func(name Name) bool { return name.Text == "path" }) {
			continue
		}
		for _, v := range t.Values {
			if strings.HasPrefix(v.Text, "/") {
				paths = append(paths, storedPath(v.Text))
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
	c.addVisibility()
	if len(c.sorts) == 0 && c.sameParent { // children of one parent are in the order that editors have set
		c.keys = append(c.keys, key{expr: "p.sort"})
	}
	for _, v := range c.sorts {
		if err := c.addSort(v); err != nil {
			return nil, err
		}
	}
	// Pages with the same values are ordered by ID, in the direction of the last key.
	if last := len(c.keys) - 1; last < 0 || c.keys[last].expr != "p.id" {
		c.keys = append(c.keys, key{expr: "p.id", desc: last >= 0 && c.keys[last].desc})
	}
	for _, k := range c.keys {
		q.order += ", " + k.expr
		if k.desc {
			q.order += " DESC"
		}
	}
	q.order = strings.TrimPrefix(q.order, ", ")
	c.mergeTemplates()
	for _, v := range c.sorts {
		q.sorting += v.Text + "," // cursors are bound to this text
	}
	if c.after != nil {
		if q.Start > 0 {
			return nil, &Error{c.after.position, "after and start cannot be combined"}
		}
		return q, c.afterCursor(*c.after)
	}
	return q, nil
}

// compiler holds the state of Compile.
type compiler struct {
	*Query
	scheme          *Scheme
	view, edit      Set      // those of scheme, restricted by "template"
	statuses        []Status // that pages may have; may contain duplicates until addVisibility is called
	statusTerm      []Status // statuses in "status="; nil without that term
	hasTemplateTerm bool     // the selector contains "template"
	sorts           []Value  // the values of "sort"
	after           *Value   // the value of "after"; nil for the beginning of the list
	sameParent      bool     // all pages have the same parent
	seen            []string // the words for which checkOnce has been called
}

// errorAt returns an *Error at a position of the selector.
func errorAt(position int, format string, args ...any) error {
	return &Error{position, fmt.Sprintf(format, args...)}
}

// checkOnce returns an error if it has been called with the same name before. It is for terms that must occur only
// once.
func (c *compiler) checkOnce(name Name) error {
	if slices.Contains(c.seen, name.Text) {
		return errorAt(name.position, "%s must occur only once", name.Text)
	}
	c.seen = append(c.seen, name.Text)
	return nil
}

// term compiles one term. The terms that define the list (limit, start, after, include and sort), template and status
// must not be combined with other fields by |.
func (c *compiler) term(t Term) error {
	for _, name := range t.Fields {
		switch name.Text {
		case "limit", "start", "after", "include", "sort", "template", "status":
			if len(t.Fields) > 1 {
				return errorAt(name.position, "%s cannot be combined with other fields", name.Text)
			}
			return c.singleField(name, t)
		}
	}
	var alternatives []string
	for _, name := range t.Fields {
		sql, err := c.fieldCondition(name, t)
		if err != nil {
			return err
		}
		alternatives = append(alternatives, sql)
	}
	c.where = append(c.where, or(alternatives))
	return nil
}

// or connects conditions with OR.
func or(conditions []string) string {
	if len(conditions) == 1 {
		return conditions[0]
	}
	return "(" + strings.Join(conditions, " OR ") + ")"
}

// singleField compiles a term on a field that must not be combined with other fields by |. name is the name of the
// field.
func (c *compiler) singleField(name Name, t Term) error {
	switch name.Text {
	case "template":
		return c.template(name, t)
	case "status":
		return c.status(name, t)
	}
	if t.Op != Equal {
		return errorAt(name.position, "%s takes only the operator =", name.Text)
	}
	if name.Text == "sort" {
		for _, v := range t.Values {
			if c.sorts = append(c.sorts, v); len(c.sorts) > MaxSorts {
				return errorAt(v.position, "pages can be sorted by at most %d fields", MaxSorts)
			}
		}
		return nil
	}
	if err := c.checkOnce(name); err != nil {
		return err
	}
	v := t.Values[0]
	if len(t.Values) > 1 && name.Text != "include" {
		return errorAt(t.Values[1].position, "%s takes one value", name.Text)
	}
	switch name.Text {
	case "after":
		if v.Text != "" { // empty for the first page
			c.after = &v
		}
	case "limit", "start":
		minimum, maximum, target := 1, MaxLimit, &c.Limit
		if name.Text == "start" {
			minimum, maximum, target = 0, MaxStart, &c.Start
		}
		n, err := strconv.Atoi(v.Text)
		if err != nil || n < minimum || n > maximum {
			return errorAt(v.position, "%s must be a number from %d to %d", name.Text, minimum, maximum)
		}
		*target = n
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
				return errorAt(v.position, "include must be hidden, unpublished or all")
			}
		}
	}
	return nil
}

// checkEquality returns an error if op is neither = nor !=, for a field that has only these operators.
func checkEquality(name Name, op Op) error {
	if op != Equal && op != NotEqual {
		return errorAt(name.position, "%s takes only the operators = and !=", name.Text)
	}
	return nil
}

// template compiles a term on the word "template": it restricts the visible templates to those that the term names or,
// for !=, to all others.
func (c *compiler) template(name Name, t Term) error {
	if err := checkEquality(name, t.Op); err != nil {
		return err
	}
	var ids []int64
	for _, v := range t.Values {
		id, ok := c.scheme.Templates[v.Text]
		if !ok {
			return errorAt(v.position, "there is no template %q", v.Text)
		}
		ids = append(ids, id)
	}
	if t.Op == NotEqual {
		var remaining []int64
		for _, id := range c.scheme.Templates {
			if !slices.Contains(ids, id) {
				remaining = append(remaining, id)
			}
		}
		slices.Sort(remaining)
		ids = remaining
	}
	c.view, c.edit, c.hasTemplateTerm = c.view.intersect(ids), c.edit.intersect(ids), true
	return nil
}

// intersect returns the templates in both s and ids.
func (s Set) intersect(ids []int64) Set {
	if s.All {
		return Set{IDs: ids}
	}
	return Set{IDs: slices.DeleteFunc(slices.Clone(s.IDs), func(id int64) bool { return !slices.Contains(ids, id) })}
}

// status compiles a term on the word "status". "status=" finds pages with the given statuses, instead of those that
// the selector finds by default or by "include". "status!=" keeps the default statuses and those of "include", and
// adds a condition that excludes pages with the given statuses.
func (c *compiler) status(name Name, t Term) error {
	if err := checkEquality(name, t.Op); err != nil {
		return err
	}
	if err := c.checkOnce(name); err != nil {
		return err
	}
	var statuses []Status
	for _, v := range t.Values {
		i := slices.Index(Statuses, v.Text)
		if i < 0 {
			return errorAt(v.position, "the status must be one of %s", strings.Join(Statuses, ", "))
		}
		statuses = append(statuses, Status(i))
	}
	if t.Op == Equal {
		c.statusTerm = statuses
		return nil
	}
	for _, status := range statuses {
		c.where = append(c.where, "p.status <> "+strconv.Itoa(int(status)))
	}
	return nil
}

// addVisibility adds the condition that a page has one of the requested statuses and templates, and that the user may
// see it. Statuses are literals in the SQL, so that the database can use partial indexes.
func (c *compiler) addVisibility() {
	var public, restricted []string
	if c.statusTerm != nil {
		c.statuses = c.statusTerm
	}
	slices.Sort(c.statuses)
	for _, status := range slices.Compact(c.statuses) {
		target := &public
		if status >= Unpublished {
			target = &restricted
		}
		*target = append(*target, strconv.Itoa(int(status)))
	}
	alternatives := []string{c.allowed(public, c.view), c.allowed(restricted, c.edit)}
	alternatives = slices.DeleteFunc(alternatives, func(condition string) bool { return condition == "" })
	if len(alternatives) == 0 {
		alternatives = []string{noPage}
	}
	c.where = append(c.where, or(alternatives))
}

// allowed returns the condition that a page has one of the statuses and one of the templates, or an empty string if no
// page can meet it.
func (c *compiler) allowed(statuses []string, templates Set) string {
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
	if !c.hasTemplateTerm {
		// Without the term "template", these are most of the templates, so other indexes are better than the index of
		// templates. The unary plus keeps SQLite from using that index.
		column = "+p.template_id"
	}
	return "(" + condition + " AND " + column + " IN (?" + strings.Repeat(", ?", len(templates.IDs)-1) + "))"
}

// addSort adds the expression by which "sort=v" orders pages.
func (c *compiler) addSort(v Value) error {
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
		return errorAt(v.position, "there is no field %q to sort by", name)
	}
	// A field with several values is ordered by the first of them, whose number n is 0.
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
		// pages without a value come first in ascending order
		c.keys = append(c.keys, key{"COALESCE(" + table + ".num, -1e300)", false, desc})
	}
	return nil
}

// afterCursor adds the condition that a page follows the page at which the cursor v was created. It returns an error if
// v was created for a list in another order.
func (c *compiler) afterCursor(v Value) error {
	values, ok := c.cursorValues(v.Text)
	if !ok {
		return errorAt(v.position, "after is not a cursor of this list")
	}
	mixed := slices.ContainsFunc(c.keys, func(k key) bool { return k.desc != c.keys[0].desc })
	if !mixed { // (a, b) > (?, ?): the database can use an index for such a comparison of rows
		exprs := make([]string, len(c.keys))
		for i, k := range c.keys {
			exprs[i] = k.expr
		}
		c.where = append(c.where, "("+strings.Join(exprs, ", ")+")"+c.keys[0].follows()+"(?"+
			strings.Repeat(", ?", len(values)-1)+")")
		c.args = append(c.args, values...)
		return nil
	}
	// a > ? OR a = ? AND b < ? OR …
	var alternatives []string
	for i, k := range c.keys {
		conditions := make([]string, 0, len(c.keys))
		for _, previous := range c.keys[:i] {
			conditions = append(conditions, previous.expr+" = ?")
		}
		conditions = append(conditions, k.expr+k.follows()+"?")
		alternatives = append(alternatives, "("+strings.Join(conditions, " AND ")+")")
		c.args = append(c.args, values[:i+1]...)
	}
	c.where = append(c.where, or(alternatives))
	return nil
}

// follows returns the operator that compares a value of the key with the values before it in the list: < if the order
// is descending, and > otherwise.
func (k key) follows() string {
	if k.desc {
		return " < "
	}
	return " > "
}

// cursorValues returns the values of the keys in a cursor: strings, int64 and float64. ok is false if the cursor is not
// from a list with the same keys.
func (c *compiler) cursorValues(cursor string) (values []any, ok bool) {
	payload, ok := c.cursor.Open(cursor, c.sorting)
	if !ok {
		return nil, false
	}
	decoder := json.NewDecoder(bytes.NewReader(payload))
	decoder.UseNumber() // a float64 could not hold all IDs and times
	if decoder.Decode(&values) != nil || len(values) != len(c.keys) {
		return nil, false
	}
	for i, value := range values {
		n, isNumber := value.(json.Number)
		_, isText := value.(string)
		if isText != c.keys[i].text || isNumber == c.keys[i].text { // the type of the field has changed
			return nil, false
		}
		if isText {
			continue
		}
		if integer, err := n.Int64(); err == nil {
			values[i] = integer
		} else if values[i], err = n.Float64(); err != nil {
			return nil, false
		}
	}
	return values, true
}
