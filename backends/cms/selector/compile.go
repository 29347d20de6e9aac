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

// The kinds. The values of a Page field are IDs or paths of pages.
const (
	Text Kind = iota
	Number
	Bool
	Time // compared in seconds since 1970; written as such, as 2026-01-02, or in RFC 3339
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

// Scheme holds what Compile needs in addition to the selector: the existing fields and templates, and the rights of the
// user.
type Scheme struct {
	Dialect   store.Dialect
	Fields    map[string]Field
	Templates map[string]int64
	// Paths maps the results of Selector.Paths to page IDs. A path without a page is not in the map.
	Paths map[string]int64
	// View holds the templates whose published and hidden pages the user may see. Edit holds those whose pages in any
	// status the user may see.
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
	if len(c.sorts) == 0 && c.sameParent {
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
	stated     []Status // statuses in "status="; nil without that term
	narrowed   bool     // to templates that the selector names
	sorts      []Value
	after      *Value
	sameParent bool // all pages have the same parent
	used       []string
}

func refuse(position int, format string, args ...any) error {
	return &Error{position, fmt.Sprintf(format, args...)}
}

// once returns an error if the term that name begins must occur only once in a selector and has occurred before.
func (c *compiler) once(name Name) error {
	if slices.Contains(c.used, name.Text) {
		return refuse(name.position, "%s is there twice", name.Text)
	}
	c.used = append(c.used, name.Text)
	return nil
}

// term compiles one term. The terms that define the list (limit, start, after, include and sort), template and status
// must not be combined with other fields by |.
func (c *compiler) term(t Term) error {
	for _, name := range t.Fields {
		switch name.Text {
		case "limit", "start", "after", "include", "sort", "template", "status":
			if len(t.Fields) > 1 {
				return refuse(name.position, "%s does not go together with other fields", name.Text)
			}
			return c.singleField(name, t)
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

// singleField compiles a term on the field name, which must not be combined with other fields by |.
func (c *compiler) singleField(name Name, t Term) error {
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
		minimum, maximum, into := 1, MaxLimit, &c.Limit
		if name.Text == "start" {
			minimum, maximum, into = 0, MaxStart, &c.Start
		}
		n, err := strconv.Atoi(v.Text)
		if err != nil || n < minimum || n > maximum {
			return refuse(v.position, "%s is a number from %d to %d", name.Text, minimum, maximum)
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

// checkEquality returns an error if op is neither = nor !=, for a field that has only these operators.
func checkEquality(name Name, op Op) error {
	if op != Equal && op != NotEqual {
		return refuse(name.position, "%s takes the operators = and != alone", name.Text)
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
			return refuse(v.position, "there is no template %q", v.Text)
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
	c.view, c.edit, c.narrowed = c.view.intersect(ids), c.edit.intersect(ids), true
	return nil
}

// intersect returns the templates in both s and ids.
func (s Set) intersect(ids []int64) Set {
	if s.All {
		return Set{IDs: ids}
	}
	return Set{IDs: slices.DeleteFunc(slices.Clone(s.IDs), func(id int64) bool { return !slices.Contains(ids, id) })}
}

// status compiles a term on the word "status". "status=" replaces the statuses that the selector finds by default or by
// "include". "status!=" adds a condition that excludes pages with the given statuses.
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

// visible adds the condition that the user may see a page. Statuses are literals in the SQL, so that the database can
// use partial indexes.
func (c *compiler) visible() {
	var public, restricted []string
	if c.stated != nil {
		c.statuses = c.stated
	}
	slices.Sort(c.statuses)
	for _, status := range slices.Compact(c.statuses) {
		into := &public
		if status >= Unpublished {
			into = &restricted
		}
		*into = append(*into, strconv.Itoa(int(status)))
	}
	allowed := func(statuses []string, templates Set) string {
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
	either := []string{allowed(public, c.view), allowed(restricted, c.edit)}
	either = slices.DeleteFunc(either, func(condition string) bool { return condition == "" })
	if len(either) == 0 {
		either = []string{"1 = 0"}
	}
	c.where = append(c.where, or(either))
}

// sort adds the expression by which "sort=v" orders pages.
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
		// pages without a value come first in ascending order
		c.keys = append(c.keys, key{"COALESCE(" + table + ".num, -1e300)", false, desc})
	}
	return nil
}

// afterCursor adds the condition that a page follows the page at which the cursor v was created. It returns an error if
// v was created for a list in another order.
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
		// the field has been replaced by a field of another type
		if _, text := value.(string); ok == c.keys[i].text || text != c.keys[i].text {
			return invalid
		}
		if ok {
			if integer, err := n.Int64(); err == nil {
				values[i] = integer
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
