package selector

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/signed"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Query is a compiled selector: SQL over the table cms_pages with the alias p.
type Query struct {
	Limit, Start int // the values of "limit" and "start"

	// merged holds the IDs of the templates if the query is a union of one query for each template; see mergeTemplates. In
	// this case, the list where begins with the condition on the templates, and the list args begins with their IDs.
	merged []int64
	// joins are JOIN clauses with placeholders for joinArgs. The list where holds conditions, connected by AND, with
	// placeholders for args.
	joins, where   []string
	joinArgs, args []any
	keys           []key
	order          string // the ORDER BY expressions
	sorting        string // the values of "sort"; a cursor is only valid for a list with the same values
	cursor         signed.Signer
	dialect        store.Dialect
}

// key is an expression by which pages are ordered.
type key struct {
	expr string
	text bool // otherwise a number
	desc bool
}

// maxMerge limits the number of templates in a merged query, because the part for each template reads as many pages as
// the whole list has.
const maxMerge = 32

// mergeTemplates makes the query a union of one query for each template. It does so only if the query is for
// published pages of several templates, in an order for which the database has an index of each template's pages. As
// a single query, the database would read all pages of the templates, or search the pages of all templates.
func (c *compiler) mergeTemplates() {
	ids := c.view.IDs
	onlyVisibility := len(c.where) == 1 && len(c.joins) == 0 // there are no other conditions
	if !c.hasTemplateTerm || c.view.All || len(ids) < 2 || len(ids) > maxMerge || !onlyVisibility ||
		!slices.Equal(c.statuses, []Status{Published}) {
		return
	}
	switch c.keys[0].expr {
	case "p.created", "p.modified", "p.id":
		c.merged = ids
	}
}

// Select returns the SQL and the arguments of a query that reads columns of the pages, in the order of the list. The
// query also reads the expressions of the order, as the last columns; see Keys. It reads one page more than the limit,
// to detect whether the list has more pages.
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

// mergedSelect returns the same as Select for a merged query, which is a query for published pages of several
// templates. The first condition of such a query, with the first arguments, selects by status and template.
// mergedSelect replaces this condition and its arguments by one query for each template, which the database can
// answer from an index. The SQL finds the IDs of the pages by the union of these queries, and then reads the columns
// of these pages only.
func (q *Query) mergedSelect(columns string) (string, []any) {
	conds := append([]string{"p.status = 0 AND p.template_id = ?"}, q.where[1:]...)
	commonArgs := q.args[len(q.merged):]
	exprs, order := "p.id AS page", ""
	for i, k := range q.keys {
		name := "k" + strconv.Itoa(i)
		exprs += ", " + k.expr + " AS " + name
		if order += ", m." + name; k.desc {
			order += " DESC"
		}
	}
	part := "SELECT * FROM (SELECT " + exprs + " FROM cms_pages p WHERE " + strings.Join(conds, " AND ") + " ORDER BY " +
		q.order + " LIMIT ?) AS "
	// The query for one template consists of part and the name of its alias.
	lists, args := make([]string, len(q.merged)), make([]any, 0, len(q.args)+2*len(q.merged))
	for i, id := range q.merged {
		lists[i] = part + "l" + strconv.Itoa(i)
		args = append(append(append(args, id), commonArgs...), q.Start+q.Limit+1)
	}
	return "SELECT " + columns + " FROM cms_pages p WHERE p.id IN (SELECT m.page FROM (" +
		strings.Join(lists, " UNION ALL ") + ") AS m ORDER BY " + order[2:] +
		" LIMIT ? OFFSET ?) ORDER BY " + q.order, append(args, q.Limit+1, q.Start)
}

// Count returns the SQL and the arguments of a query that counts the pages after the cursor, ignoring the limit.
func (q *Query) Count() (string, []any) {
	joins, args := "", q.args
	if len(q.joins) > 0 { // the condition of a cursor may refer to joined tables
		joins, args = strings.Join(q.joins, ""), slices.Concat(q.joinArgs, q.args)
	}
	return "SELECT COUNT(*) FROM cms_pages p" + joins + " WHERE " + strings.Join(q.where, " AND "), args
}

// Keys returns pointers for scanning the last columns of a row of Select: the values by which the row is ordered.
func (q *Query) Keys() []any {
	pointers := make([]any, len(q.keys))
	for i, k := range q.keys {
		switch {
		case k.text:
			pointers[i] = new(string)
		case strings.HasPrefix(k.expr, "COALESCE(s"): // the number of a field; see compiler.addSort
			pointers[i] = new(float64)
		default:
			pointers[i] = new(int64)
		}
	}
	return pointers
}

// Cursor returns the cursor for the part of the list after the row with the given keys.
func (q *Query) Cursor(keys []any) string {
	payload, err := json.Marshal(keys)
	if err != nil {
		panic(err) // impossible: the keys are texts and finite numbers
	}
	return q.cursor.Sign(payload, q.sorting)
}
