package selector

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// fieldCondition returns the condition that the term t sets for one of its fields, whose name is name. The alternative
// values of the term are combined; see allValues.
func (c *compiler) fieldCondition(name Name, t Term) (string, error) {
	switch name.Text {
	case "parent", "has_parent":
		if err := checkEquality(name, t.Op); err != nil {
			return "", err
		}
		return c.allValues(t, func(v Value) (string, error) {
			return c.parentCondition(name.Text == "parent", len(t.Fields) == 1, t, v)
		})
	}
	if column, ok := columns[name.Text]; ok {
		return c.allValues(t, func(v Value) (string, error) {
			if column.kind == Text {
				return c.nameCondition(column.column, name, t.Op, v)
			}
			n, err := parseNumber(name, t.Op, column.kind, v)
			if err != nil {
				return "", err
			}
			if column.micros {
				n = math.Round(n * 1e6)
			}
			if column.kind == Number && n != math.Trunc(n) || math.Abs(n) > 1<<62 {
				return "", errorAt(v.position, "%q is not a value of %s", v.Text, name.Text)
			}
			return c.compare(column.column, t.Op, int64(n)), nil
		})
	}
	field, ok := c.scheme.Fields[name.Text]
	if !ok {
		return "", errorAt(name.position, "there is no field %q", name.Text)
	}
	return c.allValues(t, func(v Value) (string, error) { return c.valueCondition(name, field, t.Op, v) })
}

// allValues combines the conditions for the values of a term. condition returns the condition for one value. For != it
// must return the condition for =, because allValues negates the result: a page meets != if none of its values is
// equal.
func (c *compiler) allValues(t Term, condition func(v Value) (string, error)) (string, error) {
	conditions := make([]string, len(t.Values))
	for i, v := range t.Values {
		var err error
		if conditions[i], err = condition(v); err != nil {
			return "", err
		}
	}
	if t.Op == NotEqual {
		return "NOT (" + strings.Join(conditions, " OR ") + ")", nil
	}
	return or(conditions), nil
}

// compare returns the condition that compares a column with a value, which it appends to c.args. For != it returns the
// condition for =; see allValues.
func (c *compiler) compare(column string, op Op, value any) string {
	if op == NotEqual {
		op = Equal
	}
	c.args = append(c.args, value)
	return column + " " + string(op) + " ?"
}

// parentCondition returns the condition for parent=v or, if isParent is false, for has_parent=v. It sets c.sameParent
// if the condition means that all pages have the same parent. onlyField means that the term t has no other field.
func (c *compiler) parentCondition(isParent, onlyField bool, t Term, v Value) (string, error) {
	id, err := c.pageID(v)
	if err != nil {
		return "", err
	}
	c.args = append(c.args, id)
	if !isParent {
		return "p.id IN (SELECT a.page_id FROM cms_page_ancestors a WHERE a.ancestor_id = ?)", nil
	}
	c.sameParent = c.sameParent || onlyField && t.Op == Equal && len(t.Values) == 1
	if t.Op == NotEqual { // the root has no parent
		return "COALESCE(p.parent_id = ?, FALSE)", nil
	}
	return "p.parent_id = ?", nil
}

// pageID returns the page ID for a value, which is an ID or a path. For a path without a page it returns 0.
func (c *compiler) pageID(v Value) (int64, error) {
	if strings.HasPrefix(v.Text, "/") {
		return c.scheme.Paths[storedPath(v.Text)], nil
	}
	id, err := strconv.ParseInt(v.Text, 10, 64)
	if err != nil {
		return 0, errorAt(v.position, "%q is neither an id nor a path", v.Text)
	}
	return id, nil
}

// storedPath returns a path in its stored form: in lower case, without a trailing slash. It replaces zero bytes, which
// PostgreSQL does not accept and no stored path has.
func storedPath(text string) string {
	if text = strings.TrimRight(strings.ToLower(strings.ReplaceAll(text, "\x00", "\uFFFD")), "/"); text == "" {
		return "/"
	}
	return text
}

// nameCondition returns the condition on a name or a path. Names and paths are stored in lower case and are not split
// into words. For != it returns the condition for =; see allValues.
func (c *compiler) nameCondition(column string, name Name, op Op, v Value) (string, error) {
	value := Fold(v.Text)
	switch op {
	case Words, Phrase:
		return "", errorAt(name.position, "%s has no words: use %%=, ^= or $=", name.Text)
	case Prefix:
		c.args = append(c.args, value, value+lastRune)
		return "(" + column + " >= ? AND " + column + " < ?)", nil
	case Contains, Suffix:
		return c.like(column, op, value), nil
	case Equal, NotEqual:
		if name.Text == "path" {
			value = storedPath(value)
		}
	default:
	}
	return c.compare(column, op, value), nil
}

// lastRune is the last character in the order of texts. A text followed by lastRune sorts after all texts that begin
// with the text.
const lastRune = "\U0010ffff"

// likeEscaper escapes a text for use in a pattern of LIKE.
var likeEscaper = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// like returns a LIKE condition for op, which is Contains or Suffix.
func (c *compiler) like(column string, op Op, value string) string {
	pattern := "%" + likeEscaper.Replace(value)
	if op == Contains {
		pattern += "%"
	}
	c.args = append(c.args, pattern)
	return column + ` LIKE ? ESCAPE '\'`
}

// parseNumber parses v as a number. If kind is Time, v may also be a time, which parseNumber returns as seconds since
// 1970. It returns an error if op is an operator for texts.
func parseNumber(name Name, op Op, kind Kind, v Value) (float64, error) {
	switch op {
	case Phrase, Words, Contains, Prefix, Suffix:
		return 0, errorAt(name.position, "%s is not text: the operator %s is for texts only", name.Text, op)
	default:
	}
	n, err := strconv.ParseFloat(v.Text, 64)
	if err == nil && !math.IsNaN(n) && !math.IsInf(n, 0) {
		return n, nil
	}
	if kind == Time {
		if parsed, ok := ParseTime(v.Text); ok {
			return float64(parsed.UnixMicro()) / 1e6, nil
		}
		return 0, errorAt(v.position, "%q is not a time: write 2026-01-02, 2026-01-02T15:04:05Z or seconds since 1970",
			v.Text)
	}
	return 0, errorAt(v.position, "%q is not a number", v.Text)
}

// ParseTime parses a date, or a date and time in RFC 3339. The T may be a space, and the seconds and the zone may be
// missing. Without a zone the time is in UTC.
func ParseTime(text string) (time.Time, bool) {
	for _, layout := range []string{
		time.DateOnly, time.RFC3339, "2006-01-02T15:04:05", time.DateTime, "2006-01-02 15:04",
		"2006-01-02T15:04",
	} {
		if parsed, err := time.Parse(layout, text); err == nil {
			return parsed, parsed.Year() > 0
		}
	}
	return time.Time{}, false
}

// noPage is a condition that no page meets.
const noPage = "1 = 0"

// hasValue returns the SQL condition that a page has a value of the field that meets the given condition. The given
// condition refers to the table of the values as v. The first parameter of the result is the field's ID.
func hasValue(field Field, condition string) string {
	return ifTemplateHas(field, "p.id IN (SELECT v.page_id FROM cms_page_values v WHERE v.field_id = ? AND "+condition+")")
}

// hasNoValue returns the SQL condition that a page has no value of a field. The parameter of the result is the field's
// ID.
func hasNoValue(field Field) string {
	return "NOT " + ifTemplateHas(field, "EXISTS (SELECT 1 FROM cms_page_values v WHERE v.page_id = p.id AND v.field_id = ?)")
}

// ifTemplateHas extends a condition: the template of the page must also have the field. When a field is removed from a
// template, the searchable copies of its values remain, but must not reveal values that are no longer shown.
func ifTemplateHas(field Field, condition string) string {
	if field.Everywhere {
		return condition
	}
	return "(" + field.templateHas() + " AND " + condition + ")"
}

// templateHas returns the SQL condition that the template of the page has the field. The unary plus keeps SQLite from
// using an index for this condition.
func (f Field) templateHas() string {
	return "+p.template_id IN (SELECT tf.template_id FROM cms_template_fields tf WHERE tf.field_id = " +
		strconv.FormatInt(f.ID, 10) + ")"
}

// valueCondition returns the condition that compares the values of a field with v. For != it returns the condition for
// =; see allValues.
func (c *compiler) valueCondition(name Name, field Field, op Op, v Value) (string, error) {
	if v.Text == "" && (op == Equal || op == NotEqual) {
		c.args = append(c.args, field.ID)
		return hasNoValue(field), nil
	}
	switch field.Kind {
	case Text:
		return c.textCondition(field, op, v)
	case Bool:
		if err := checkEquality(name, op); err != nil {
			return "", err
		}
		value, err := strconv.ParseBool(v.Text)
		if err != nil {
			return "", errorAt(v.position, "%s must be true or false", name.Text)
		}
		c.args = append(c.args, field.ID)
		condition := hasValue(field, "v.num = 1")
		if !value {
			condition = "NOT (" + condition + ")"
		}
		return condition, nil
	case Page:
		if err := checkEquality(name, op); err != nil {
			return "", err
		}
		id, err := c.pageID(v)
		if err != nil {
			return "", err
		}
		c.args = append(c.args, field.ID, float64(id))
		return hasValue(field, "v.num = ?"), nil
	default: // a number or a time
	}
	n, err := parseNumber(name, op, field.Kind, v)
	if err != nil {
		return "", err
	}
	c.args = append(c.args, field.ID)
	// The value, which compare appends to the arguments, follows the ID.
	return hasValue(field, c.compare("v.num", op, n)), nil
}

// textCondition returns the condition that compares the values of a text field with v. For != it returns the condition
// for =. The column v.text holds the key of a value (see Key), and v.whole the whole value if it is longer.
func (c *compiler) textCondition(field Field, op Op, v Value) (string, error) {
	folded := Fold(v.Text)
	prefix, truncated := Key(folded)
	switch op {
	case Words, Phrase:
		return c.wordsCondition(field, op, folded), nil
	case Contains, Suffix:
		c.args = append(c.args, field.ID)
		return hasValue(field, c.like("COALESCE(v.whole, v.text)", op, folded)), nil
	case Prefix:
		c.args = append(c.args, field.ID, prefix, prefix+lastRune)
		if truncated {
			c.args = append(c.args, likeEscaper.Replace(folded)+"%")
			return hasValue(field, `v.text >= ? AND v.text < ? AND v.whole LIKE ? ESCAPE '\'`), nil
		}
		return hasValue(field, "v.text >= ? AND v.text < ?"), nil
	case Equal, NotEqual:
		c.args = append(c.args, field.ID, prefix)
		if truncated {
			c.args = append(c.args, folded)
			return hasValue(field, "v.text = ? AND v.whole = ?"), nil
		}
		return hasValue(field, "v.text = ? AND v.whole IS NULL"), nil
	default:
		c.args = append(c.args, field.ID)
		return hasValue(field, c.compare("v.text", op, prefix)), nil
	}
}

// wordsCondition returns the condition that a value of a text field contains all words of folded or, for Phrase,
// contains them in this order, next to each other. It uses the full-text search of the database.
func (c *compiler) wordsCondition(field Field, op Op, folded string) string {
	words := SplitWords(folded)
	if len(words) == 0 {
		return noPage
	}
	if c.dialect == store.Postgres {
		separator := "' & '"
		if op == Phrase {
			separator = "' <-> '"
		}
		c.args = append(c.args, field.ID, "'"+strings.Join(words, separator)+"'")
		return hasValue(field, "v.words @@ CAST(? AS tsquery)")
	}
	separator := `" "`
	if op == Phrase {
		separator = " "
	}
	c.args = append(c.args, `"`+strings.Join(words, separator)+`"`, field.ID)
	return ifTemplateHas(field, "p.id IN (SELECT v.page_id FROM cms_search JOIN cms_page_values v ON v.id = cms_search.rowid WHERE cms_search MATCH ? AND v.field_id = ?)")
}
