package selector

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// field compiles the condition of a term on one of its fields.
func (c *compiler) field(name Name, t Term) (string, error) {
	switch name.Text {
	case "parent", "has_parent":
		if err := checkEquality(name, t.Op); err != nil {
			return "", err
		}
		return c.values(t, func(v Value) (string, error) { return c.kin(name.Text == "parent", len(t.Fields) == 1, t, v) })
	}
	if column, ok := columns[name.Text]; ok {
		return c.values(t, func(v Value) (string, error) {
			if column.kind == Text {
				return c.nameText(column.column, name, t.Op, v)
			}
			n, err := number(name, t.Op, column.kind, v)
			if err != nil {
				return "", err
			}
			if column.micros {
				n = math.Round(n * 1e6)
			}
			if column.kind == Number && n != math.Trunc(n) || math.Abs(n) > 1<<62 {
				return "", refuse(v.position, "%q is not a value of %s", v.Text, name.Text)
			}
			return c.compare(column.column, t.Op, int64(n)), nil
		})
	}
	field, ok := c.scheme.Fields[name.Text]
	if !ok {
		return "", refuse(name.position, "there is no field %q", name.Text)
	}
	return c.values(t, func(v Value) (string, error) { return c.value(name, field, t.Op, v) })
}

// values combines the conditions of the values of a term. The function one returns the condition of t.Op for a
// value, but for != that of =, because != is met if no value is equal.
func (c *compiler) values(t Term, one func(v Value) (string, error)) (string, error) {
	conditions := make([]string, len(t.Values))
	for i, v := range t.Values {
		var err error
		if conditions[i], err = one(v); err != nil {
			return "", err
		}
	}
	if t.Op == NotEqual {
		return "NOT (" + strings.Join(conditions, " OR ") + ")", nil
	}
	return or(conditions), nil
}

// compare returns the comparison of a column with a value. For != it returns =; see values.
func (c *compiler) compare(column string, op Op, value any) string {
	if op == NotEqual {
		op = Equal
	}
	c.args = append(c.args, value)
	return column + " " + string(op) + " ?"
}

// kin returns the condition that the page of v is the parent of a page or, if parent is false, one of its ancestors.
// alone reports whether the term t has no other field. It records in c.parent that all pages have the same parent.
func (c *compiler) kin(parent, alone bool, t Term, v Value) (string, error) {
	id, err := c.page(v)
	if err != nil {
		return "", err
	}
	c.args = append(c.args, id)
	if !parent {
		return "p.id IN (SELECT a.page_id FROM cms_page_ancestors a WHERE a.ancestor_id = ?)", nil
	}
	c.parent = c.parent || alone && t.Op == Equal && len(t.Values) == 1
	if t.Op == NotEqual { // the root has no parent
		return "COALESCE(p.parent_id = ?, FALSE)", nil
	}
	return "p.parent_id = ?", nil
}

// page returns the ID of a value that is an ID or a path. It is 0 if there is no page at the path.
func (c *compiler) page(v Value) (int64, error) {
	if strings.HasPrefix(v.Text, "/") {
		return c.scheme.Paths[path(v.Text)], nil
	}
	id, err := strconv.ParseInt(v.Text, 10, 64)
	if err != nil {
		return 0, refuse(v.position, "%q is neither an id nor a path", v.Text)
	}
	return id, nil
}

// path returns a path in its stored form, without a trailing slash. It replaces zero bytes, which PostgreSQL does
// not accept and no stored path has.
func path(text string) string {
	if text = strings.TrimRight(strings.ToLower(strings.ReplaceAll(text, "\x00", "\uFFFD")), "/"); text == "" {
		return "/"
	}
	return text
}

// nameText returns the condition on a name or a path, which are in lower case and are not split into words.
func (c *compiler) nameText(column string, name Name, op Op, v Value) (string, error) {
	value := Fold(v.Text)
	switch op {
	case Words, Phrase:
		return "", refuse(name.position, "%s has no words: use %%=, ^= or $=", name.Text)
	case Prefix:
		c.args = append(c.args, value, value+last)
		return "(" + column + " >= ? AND " + column + " < ?)", nil
	case Contains, Suffix:
		return c.like(column, op, value), nil
	case Equal, NotEqual:
		if name.Text == "path" {
			value = path(value)
		}
	default:
	}
	return c.compare(column, op, value), nil
}

// last sorts after every character with which a text can continue.
const last = "\U0010ffff"

var likes = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// like returns a LIKE condition for Contains or Suffix.
func (c *compiler) like(column string, op Op, value string) string {
	pattern := "%" + likes.Replace(value)
	if op == Contains {
		pattern += "%"
	}
	c.args = append(c.args, pattern)
	return column + ` LIKE ? ESCAPE '\'`
}

// number parses a value of a kind that is ordered.
func number(name Name, op Op, kind Kind, v Value) (float64, error) {
	switch op {
	case Phrase, Words, Contains, Prefix, Suffix:
		return 0, refuse(name.position, "%s is not text: %s is not for it", name.Text, op)
	default:
	}
	n, err := strconv.ParseFloat(v.Text, 64)
	if err == nil && !math.IsNaN(n) && !math.IsInf(n, 0) {
		return n, nil
	}
	if kind == Time {
		if at, ok := ParseTime(v.Text); ok {
			return float64(at.UnixMicro()) / 1e6, nil
		}
		return 0, refuse(v.position, "%q is not a time: write 2026-01-02, 2026-01-02T15:04:05Z or seconds since 1970", v.Text)
	}
	return 0, refuse(v.position, "%q is not a number", v.Text)
}

// ParseTime parses a date, or a date and time as in RFC 3339, also with a space instead of the T and without
// seconds. Without a zone the time is in UTC.
func ParseTime(text string) (time.Time, bool) {
	for _, layout := range []string{
		time.DateOnly, time.RFC3339, "2006-01-02T15:04:05", time.DateTime, "2006-01-02 15:04",
		"2006-01-02T15:04",
	} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, at.Year() > 0
		}
	}
	return time.Time{}, false
}

// nowhere is a condition that no page meets.
const nowhere = "1 = 0"

// within returns the condition that a page has a value of a field which meets a condition. The first parameter is
// the field's ID.
func within(field Field, condition string) string {
	return having(field, "p.id IN (SELECT v.page_id FROM cms_page_values v WHERE v.field_id = ? AND "+condition+")")
}

// without returns the condition that a page has no value of a field. The parameter is the field's ID.
func without(field Field) string {
	return "NOT " + having(field, "EXISTS (SELECT 1 FROM cms_page_values v WHERE v.page_id = p.id AND v.field_id = ?)")
}

// having returns a condition that requires, in addition to the given one, that the page's template has the field. The
// searchable copies of values remain when a field is removed from a template, but must not reveal values that are
// not shown any more.
func having(field Field, condition string) string {
	if field.Everywhere {
		return condition
	}
	return "(" + field.templateHas() + " AND " + condition + ")"
}

// templateHas returns the condition that the page's template has the field. The unary plus keeps SQLite from using
// an index for it.
func (f Field) templateHas() string {
	return "+p.template_id IN (SELECT tf.template_id FROM cms_template_fields tf WHERE tf.field_id = " +
		strconv.FormatInt(f.ID, 10) + ")"
}

// value returns the condition on a value of a field. For != it returns that of =; see values.
func (c *compiler) value(name Name, field Field, op Op, v Value) (string, error) {
	if v.Text == "" && (op == Equal || op == NotEqual) {
		c.args = append(c.args, field.ID)
		return without(field), nil
	}
	switch field.Kind {
	case Text:
		return c.text(field, op, v)
	case Bool:
		if err := checkEquality(name, op); err != nil {
			return "", err
		}
		yes, err := strconv.ParseBool(v.Text)
		if err != nil {
			return "", refuse(v.position, "%s is true or false", name.Text)
		}
		c.args = append(c.args, field.ID)
		condition := within(field, "v.num = 1")
		if !yes {
			condition = "NOT (" + condition + ")"
		}
		return condition, nil
	case Page:
		if err := checkEquality(name, op); err != nil {
			return "", err
		}
		id, err := c.page(v)
		if err != nil {
			return "", err
		}
		c.args = append(c.args, field.ID, float64(id))
		return within(field, "v.num = ?"), nil
	default:
	}
	n, err := number(name, op, field.Kind, v)
	if err != nil {
		return "", err
	}
	c.args = append(c.args, field.ID)
	return within(field, c.compare("v.num", op, n)), nil
}

// text returns the condition on a text.
func (c *compiler) text(field Field, op Op, v Value) (string, error) {
	folded := Fold(v.Text)
	begin, more := Key(folded)
	switch op {
	case Words, Phrase:
		return c.words(field, op, folded), nil
	case Contains, Suffix:
		c.args = append(c.args, field.ID)
		return within(field, c.like("COALESCE(v.whole, v.text)", op, folded)), nil
	case Prefix:
		c.args = append(c.args, field.ID, begin, begin+last)
		if more {
			c.args = append(c.args, likes.Replace(folded)+"%")
			return within(field, `v.text >= ? AND v.text < ? AND v.whole LIKE ? ESCAPE '\'`), nil
		}
		return within(field, "v.text >= ? AND v.text < ?"), nil
	case Equal, NotEqual:
		c.args = append(c.args, field.ID, begin)
		if more {
			c.args = append(c.args, folded)
			return within(field, "v.text = ? AND v.whole = ?"), nil
		}
		return within(field, "v.text = ? AND v.whole IS NULL"), nil
	default:
		c.args = append(c.args, field.ID)
		return within(field, c.compare("v.text", op, begin)), nil
	}
}

// words returns the condition that a text has some words or, for Phrase, has them in this order.
func (c *compiler) words(field Field, op Op, folded string) string {
	words := SplitWords(folded)
	if len(words) == 0 {
		return nowhere
	}
	if c.dialect == store.Postgres {
		between := "' & '"
		if op == Phrase {
			between = "' <-> '"
		}
		c.args = append(c.args, field.ID, "'"+strings.Join(words, between)+"'")
		return within(field, "v.words @@ CAST(? AS tsquery)")
	}
	between := `" "`
	if op == Phrase {
		between = " "
	}
	c.args = append(c.args, `"`+strings.Join(words, between)+`"`, field.ID)
	return having(field, "p.id IN (SELECT v.page_id FROM cms_search JOIN cms_page_values v ON v.id = cms_search.rowid WHERE cms_search MATCH ? AND v.field_id = ?)")
}
