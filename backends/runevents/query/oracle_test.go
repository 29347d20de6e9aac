package query_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/runevents/pattern"
	"github.com/tollgate-gateway/tollgate/backends/runevents/tochar"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// verdict is the value of a clause for a row in the three-valued logic of SQL.
type verdict int

const (
	no verdict = iota
	unknown
	yes
)

func verdictOf(b bool) verdict {
	if b {
		return yes
	}
	return no
}

// oracle answers queries by looking at every row, without SQL.
type oracle struct {
	tb       testing.TB
	rows     map[string][]map[string]any
	active   map[string]bool
	latest   map[string]bool // reports, by hash
	distinct bool            // equality never is unknown
	found    map[string][][]any
	patterns map[string]*pattern.Pattern // that were read, which takes longer than to match
}

// cached returns the result of an inner query, which is the same for every row. It calls find in the first call only.
func (o *oracle) cached(query any, find func() [][]any) [][]any {
	key := jsonText(query)
	rows, ok := o.found[key]
	if !ok {
		rows = find()
		o.found[key] = rows
	}
	return rows
}

func newOracle(tb testing.TB, b *fixture) *oracle {
	o := &oracle{tb: tb, active: make(map[string]bool), latest: make(map[string]bool), found: make(map[string][][]any), patterns: make(map[string]*pattern.Pattern), rows: map[string][]map[string]any{
		"events": b.rows(tb, "/events"), "reports": b.rows(tb, "/reports", "query", `["=","type","any"]`), "nodes": b.rows(tb, "/nodes", "query", `["=","node_state","any"]`),
		"environments": b.rows(tb, "/environments"), "catalogs": nil,
	}}
	for _, n := range o.rows["nodes"] {
		o.active[n["certname"].(string)] = n["deactivated"] == nil && n["expired"] == nil
		if hash, ok := n["latest_report_hash"].(string); ok {
			o.latest[hash] = true
		}
	}
	return o
}

// null reports whether the database has no value. A value that was sent as null is a value.
func null(row map[string]any, field string) bool {
	hasValue := (field == "new_value" || field == "old_value") && row["status"] != "skipped"
	return row[field] == nil && !hasValue
}

// moment returns a time in the format of rows.
func moment(v any) (string, bool) {
	const shown = "2006-01-02T15:04:05.000Z"
	switch v := v.(type) {
	case float64:
		return time.UnixMilli(int64(v)).UTC().Format(shown), true
	case string:
		if v == "2026-W10-3" {
			v = "2026-03-04"
		}
		for _, layout := range []string{time.RFC3339, time.DateOnly, "2006"} {
			if ts, err := time.Parse(layout, v); err == nil {
				return ts.UTC().Format(shown), true
			}
		}
	}
	return "", false
}

func isTime(field string) bool {
	return field == "timestamp" || strings.HasSuffix(field, "_time") || strings.HasSuffix(field, "_timestamp")
}

func text(v any) string {
	if n, ok := v.(float64); ok {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return v.(string)
}

func (o *oracle) equal(row map[string]any, field string, v any) verdict {
	if null(row, field) {
		if o.distinct || strings.HasSuffix(field, "_value") { // for the values of a property, null is a value like any other
			return no
		}
		return unknown
	}
	switch {
	case isTime(field):
		ts, _ := moment(v)
		return verdictOf(row[field] == ts)
	case field == "containment_path":
		return verdictOf(slices.Contains(row[field].([]any), any(text(v))))
	}
	return verdictOf(jsonText(row[field]) == jsonText(v))
}

func (o *oracle) match(row map[string]any, field, expression string) verdict {
	p, ok := o.patterns[expression]
	if !ok {
		var err error
		if p, err = pattern.Compile(expression); err != nil {
			o.tb.Fatal(err)
		}
		o.patterns[expression] = p
	}
	m, err := p.Matcher()
	if err != nil {
		o.tb.Fatal(err)
	}
	texts := []any{row[field]}
	switch v := row[field].(type) {
	case nil:
		return no
	case []any:
		if texts = v; field != "containment_path" {
			texts = []any{jsonText(v)}
		}
	case string:
	default:
		texts = []any{jsonText(v)}
	}
	return verdictOf(slices.ContainsFunc(texts, func(v any) bool {
		matched, err := m.MatchString(v.(string))
		if err != nil {
			o.tb.Fatal(err)
		}
		return matched
	}))
}

// evaluate returns the value of a clause for a row of an entity.
func (o *oracle) evaluate(entity string, row map[string]any, clause any) verdict {
	c := clause.([]any)
	if len(c) == 0 {
		return yes
	}
	args := c[1:]
	switch op := c[0].(string); op {
	case "and", "or":
		result := o.evaluate(entity, row, args[0])
		for _, a := range args[1:] {
			if v := o.evaluate(entity, row, a); op == "and" && v < result || op == "or" && v > result {
				result = v
			}
		}
		return result
	case "not":
		return yes - o.evaluate(entity, row, args[0])
	case "!=":
		return yes - o.evaluate(entity, row, []any{"=", args[0], args[1]})
	case "=":
		return o.equality(row, args[0], args[1])
	case "~":
		return o.match(row, args[0].(string), args[1].(string))
	case "null?":
		return verdictOf(null(row, args[0].(string)) == args[1].(bool))
	case "<", "<=", ">", ">=":
		field := args[0].(string)
		if null(row, field) {
			return unknown
		}
		var order int
		if isTime(field) {
			ts, _ := moment(args[1])
			order = strings.Compare(row[field].(string), ts)
		} else {
			order = cmp.Compare(row[field].(float64), args[1].(float64))
		}
		return verdictOf(order < 0 && op[0] == '<' || order > 0 && op[0] == '>' || order == 0 && len(op) == 2)
	case "subquery":
		other := args[0].(string)
		relation := map[string][2]string{
			"events reports": {"report", "hash"}, "reports events": {"hash", "report"}, "events environments": {"environment", "name"},
		}[entity+" "+other]
		if relation[0] == "" {
			relation = [2]string{"certname", "certname"}
		}
		found := o.cached([]any{clause, relation[1]}, func() [][]any { return o.project(o.filter(other, args[1]), []any{relation[1]}) })
		return o.inRows(row, []any{relation[0]}, found)
	case "in":
		if inner := args[1].([]any); inner[0] != "array" {
			return o.inRows(row, list(args[0]), o.cached(inner, func() [][]any { return o.inner(inner) }))
		}
		return o.equalsAny(row, args[0].(string), args[1].([]any)[1].([]any))
	}
	o.tb.Fatalf("%v", clause)
	return no
}

func (o *oracle) equality(row map[string]any, field, v any) verdict {
	switch {
	case jsonText(field) == `["node","active"]`:
		return verdictOf(o.active[row["certname"].(string)] == v.(bool))
	case field == "node_state":
		return verdictOf(v == "any" || o.active[row["certname"].(string)] == (v == "active"))
	case field == "latest_report?":
		return verdictOf(o.latest[fmt.Sprint(cmp.Or(row["report"], row["hash"]))] == v.(bool))
	case field == "type" && v == "any":
		return yes
	case v == nil:
		return verdictOf(row[field.(string)] == nil)
	}
	return o.equal(row, field.(string), v)
}

// equalsAny reports whether a field equals one of the values.
func (o *oracle) equalsAny(row map[string]any, field string, values []any) verdict {
	result := no
	for _, v := range values {
		switch _, timely := moment(v); {
		case v == nil:
			if strings.HasSuffix(field, "_value") && row[field] == nil {
				result = yes
			}
			continue
		case isTime(field) && !timely:
			continue
		case field == "report" || strings.HasSuffix(field, "hash"): // none of the values is one
			continue
		case field != "line" && !isTime(field) && !strings.HasSuffix(field, "_value"):
			v = text(v)
		}
		result = max(result, o.equal(row, field, v))
	}
	return result
}

// inRows reports whether the given fields of a row equal the values of one of the rows.
func (o *oracle) inRows(row map[string]any, fields []any, rows [][]any) verdict {
	result := no
	for _, r := range rows {
		rowResult := yes
		for i, f := range fields {
			switch left := row[f.(string)]; {
			case left == nil || r[i] == nil:
				rowResult = min(rowResult, unknown)
			case left != r[i]:
				rowResult = no
			}
		}
		result = max(result, rowResult)
	}
	return result
}

func list(v any) []any {
	if l, ok := v.([]any); ok {
		return l
	}
	return []any{v}
}

// inner returns the rows of an inner query.
func (o *oracle) inner(q []any) [][]any {
	if q[0] == "extract" {
		selected := q[2].([]any)
		return o.project(o.filter(strings.TrimPrefix(selected[0].(string), "select_"), selected[1]), list(q[1]))
	}
	extract := q[2].([]any)
	rows := o.filter(q[1].(string), extract[2])
	if function, ok := list(extract[1])[0].([]any); ok {
		var greatest any
		for _, r := range rows {
			if value := r[function[2].(string)]; greatest == nil || value.(string) > greatest.(string) {
				greatest = value
			}
		}
		return [][]any{{greatest}}
	}
	if len(q) > 3 { // limit: the latest rows
		slices.SortFunc(rows, func(a, b map[string]any) int {
			return cmp.Or(strings.Compare(b["start_time"].(string), a["start_time"].(string)), strings.Compare(a["hash"].(string), b["hash"].(string)))
		})
		rows = rows[:min(len(rows), int(q[4].([]any)[1].(float64)))]
	}
	return o.project(rows, list(extract[1]))
}

// filter returns the rows of an inner query with the clause.
func (o *oracle) filter(entity string, clause any) (rows []map[string]any) {
	inside := *o
	inside.distinct = false
	for _, r := range o.rows[entity] {
		if inside.evaluate(entity, r, clause) == yes {
			rows = append(rows, r)
		}
	}
	return rows
}

// project returns the values of the fields in the rows.
func (*oracle) project(rows []map[string]any, fields []any) (list [][]any) {
	for _, r := range rows {
		values := make([]any, 0, len(fields))
		for _, f := range fields {
			values = append(values, r[f.(string)])
		}
		list = append(list, values)
	}
	return list
}

// refersTo reports whether a clause refers to a field, not counting subqueries.
func refersTo(clause any, field string) bool {
	c, ok := clause.([]any)
	if !ok || len(c) < 2 {
		return false
	}
	switch c[0] {
	case "and", "or", "not":
		return slices.ContainsFunc(c[1:], func(part any) bool { return refersTo(part, field) })
	}
	return c[1] == field
}

// latestEvents returns the rows that distinct_resources selects.
func (o *oracle) latestEvents(clause any, start, end any) []map[string]any {
	low, _ := moment(start)
	high, _ := moment(end)
	var limits func(clause any) []any
	limits = func(clause any) (list []any) {
		switch c := clause.([]any); {
		case c[0] == "and":
			for _, part := range c[1:] {
				list = append(list, limits(part)...)
			}
		case c[1] == "latest_report?":
			list = append(list, c)
		}
		return list
	}
	bound := limits(clause)
	best := make(map[string][]map[string]any)
	for _, r := range o.rows["events"] {
		ts := r["timestamp"].(string)
		if ts < low || ts > high || slices.ContainsFunc(bound, func(c any) bool { return o.evaluate("events", r, c) != yes }) {
			continue
		}
		key := jsonText([]any{r["certname"], r["resource_type"], r["resource_title"], r["property"], r["name"]})
		switch list := best[key]; {
		case len(list) == 0 || list[0]["timestamp"].(string) < ts:
			best[key] = []map[string]any{r}
		case list[0]["timestamp"] == ts:
			best[key] = append(list, r)
		}
	}
	var rows []map[string]any
	for _, list := range best {
		rows = append(rows, list...)
	}
	return rows
}

// selectRows returns the rows for which a clause is true.
func (o *oracle) selectRows(entity string, rows []map[string]any, clause any) (list []map[string]any) {
	for _, r := range rows {
		if o.evaluate(entity, r, clause) == yes {
			list = append(list, r)
		}
	}
	return list
}

// extract returns the rows of an extract.
func (o *oracle) extract(rows []map[string]any, columns, group []any) []map[string]any {
	shown := func(r map[string]any, column any) any {
		f, ok := column.([]any)
		if !ok {
			return r[column.(string)]
		}
		ts, err := time.Parse(time.RFC3339, r[f[2].(string)].(string))
		if err != nil {
			o.tb.Fatal(err)
		}
		return tochar.Time(ts.UnixMilli(), f[3].(string))
	}
	if group == nil {
		list := make([]map[string]any, 0, len(rows))
		for _, r := range rows {
			out := make(map[string]any)
			for _, c := range columns {
				out[c.(string)] = r[c.(string)]
			}
			list = append(list, out)
		}
		return list
	}
	groups := make(map[string][]map[string]any)
	for _, r := range rows {
		var key []any
		for _, g := range group {
			key = append(key, shown(r, g))
			if name, ok := g.(string); ok {
				key = append(key, null(r, name))
			}
		}
		groups[jsonText(key)] = append(groups[jsonText(key)], r)
	}
	var list []map[string]any
	for _, g := range groups {
		out := make(map[string]any)
		for _, c := range columns {
			var name string
			var value any
			if f, ok := c.([]any); !ok {
				name, value = c.(string), g[0][c.(string)]
			} else if name = f[1].(string); name == "to_string" {
				value = shown(g[0], c)
			} else {
				value = applyFunction(g, name, f[2:])
			}
			if _, twice := out[name]; twice {
				name += "_2"
			}
			out[name] = value
		}
		list = append(list, out)
	}
	return list
}

func applyFunction(rows []map[string]any, function string, args []any) any {
	if len(args) == 0 {
		return float64(len(rows))
	}
	var values []any
	for _, r := range rows {
		if v := r[args[0].(string)]; v != nil {
			values = append(values, v)
		}
	}
	if function == "count" {
		return float64(len(values))
	}
	if len(values) == 0 {
		return nil
	}
	compare := func(a, b any) int {
		if _, ok := a.(float64); ok {
			return cmp.Compare(a.(float64), b.(float64))
		}
		return strings.Compare(a.(string), b.(string))
	}
	switch function {
	case "min":
		return slices.MinFunc(values, compare)
	case "max":
		return slices.MaxFunc(values, compare)
	}
	sum := 0.0
	for _, v := range values {
		sum += v.(float64)
	}
	if function == "avg" {
		sum /= float64(len(values))
	}
	return sum
}

// counts returns the answer of /event-counts.
func (o *oracle) counts(rows []map[string]any, subject, countBy string, filter []any) []map[string]any {
	titled := map[string]map[string]any{}
	counted := map[string]map[string]float64{}
	seen := map[string]bool{}
	for _, r := range rows {
		title := map[string]any{"title": r[subject]}
		if subject == "resource" {
			title = map[string]any{"type": r["resource_type"], "title": r["resource_title"]}
		}
		key := jsonText(title)
		if counted[key] == nil {
			titled[key], counted[key] = title, map[string]float64{"failures": 0, "noops": 0, "skips": 0, "successes": 0}
		}
		once := jsonText([]any{r["certname"], r["status"], key})
		if countBy == "certname" && seen[once] {
			continue
		}
		seen[once] = true
		if kind, ok := map[any]string{"failure": "failures", "noop": "noops", "skipped": "skips", "success": "successes"}[r["status"]]; ok {
			counted[key][kind]++
		}
	}
	var list []map[string]any
	for key, n := range counted {
		row := map[string]any{"subject_type": subject, "subject": titled[key]}
		for kind, count := range n {
			row[kind] = count
		}
		if len(filter) == 0 || o.evaluate("counts", row, filter) == yes {
			list = append(list, row)
		}
	}
	return list
}

func aggregateCounts(list []map[string]any, subject string) map[string]any {
	out := map[string]any{"summarize_by": subject, "total": float64(len(list))}
	for _, kind := range []string{"failures", "noops", "skips", "successes"} {
		n := 0.0
		for _, r := range list {
			if r[kind].(float64) > 0 {
				n++
			}
		}
		out[kind] = n
	}
	return out
}

// answers returns the expected rows of a request. ok is false if they are not known.
func (o *oracle) answers(path string, parameters map[string]string) (rows []map[string]any, ok bool) {
	var q []any
	if err := json.Unmarshal([]byte(parameters["query"]), &q); err != nil {
		o.tb.Fatal(err)
	}
	entity, clause := "events", any(q)
	var columns, group []any
	if q[0] == "extract" {
		if columns, clause = list(q[1]), q[2]; len(q) > 3 {
			group = q[3].([]any)[1:]
		}
	}
	switch path {
	case "/event-counts", "/aggregate-event-counts":
		rows = o.selectRows(entity, o.rows[entity], clause)
		if path == "/event-counts" {
			var filter []any
			if err := json.Unmarshal([]byte(parameters["counts_filter"]), &filter); err != nil {
				o.tb.Fatal(err)
			}
			return o.counts(rows, parameters["summarize_by"], parameters["count_by"], filter), true
		}
		var list []map[string]any
		for subject := range strings.SplitSeq(parameters["summarize_by"], ",") {
			list = append(list, aggregateCounts(o.counts(rows, subject, "", nil), subject))
		}
		return list, true
	case "/reports", "/nodes":
		entity = path[1:]
	}
	if group == nil && slices.ContainsFunc(columns, func(c any) bool { _, function := c.([]any); return function }) {
		return nil, false
	}
	all := o.rows[entity]
	switch {
	case entity == "reports" && !refersTo(clause, "type"):
		clause = []any{"and", []any{"=", "type", "agent"}, clause}
	case entity == "nodes" && !strings.Contains(jsonText(clause), `"node_state"`) && !strings.Contains(jsonText(clause), `["node","active"]`):
		clause = []any{"and", []any{"=", "node_state", "active"}, clause}
	case parameters["distinct_resources"] != "":
		all = o.latestEvents(clause, parameters["distinct_start_time"], parameters["distinct_end_time"])
		older := *o
		older.distinct = true
		o = &older
	}
	return o.extract(o.selectRows(entity, all, clause), columns, group), true
}

// TestOracle compares the answers to generated queries with those of the oracle, which evaluates each row without SQL.
func TestOracle(t *testing.T) {
	t.Parallel()
	plan := strings.NewReplacer(`"type":"agent"`, `"type":"plan"`, "special.example.com", "plan.example.com").Replace(specialReport)
	b := open(t, store.SQLite).loadEveryNth(t, 4, append(special, plan)...)
	b.submit(t, "deactivate node", 3, []byte(`{"certname":"web02.example.com","producer_timestamp":"2026-03-25T00:00:00Z"}`))
	o := newOracle(t, b)
	g := generator{rand.New(rand.NewPCG(3, 4))}
	queries, nonEmpty, compared := *generated/2, 0, 0
	for range queries {
		path, pairs := g.request()
		parameters := make(map[string]string)
		for i := 0; i < len(pairs); i += 2 {
			parameters[pairs[i]] = pairs[i+1]
		}
		want, ok := o.answers(path, parameters)
		if !ok {
			continue
		}
		a := b.get(path, pairs...)
		if a.status == 400 && (strings.Contains(a.body, "different types") || strings.Contains(a.body, "more than")) {
			continue
		}
		compared++
		if len(want) > 0 {
			nonEmpty++
		}
		if parameters["limit"] != "" {
			if a.header.Get("X-Records") != strconv.Itoa(len(want)) {
				t.Errorf("%s %q: %d %s rows, want %d", path, pairs, a.status, a.header.Get("X-Records"), len(want))
			}
			continue
		}
		var got []map[string]any
		if err := json.Unmarshal([]byte(a.body), &got); err != nil {
			t.Errorf("%s %q: %d %.300s", path, pairs, a.status, a.body)
			continue
		}
		left, right := rowTexts(t, got, false), rowTexts(t, want, false)
		if slices.Equal(left, right) {
			continue
		}
		i := 0
		for i < min(len(left), len(right)) && left[i] == right[i] {
			i++
		}
		t.Fatalf("%s %q: %d rows, want %d; from row %d on\ngot  %.300s\nwant %.300s", path, pairs, len(left), len(right), i, left[i:], right[i:])
	}
	t.Logf("%d compared, %d with rows", compared, nonEmpty)
	if nonEmpty < queries/4 {
		t.Error("they compare too little")
	}
}
