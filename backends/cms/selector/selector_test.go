package selector

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/signed"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

func scheme(d store.Dialect) *Scheme {
	return &Scheme{
		Dialect: d, View: Set{IDs: []int64{1, 2}}, Edit: Set{IDs: []int64{2}},
		Fields: map[string]Field{
			"title": {1, Text, true}, "body": {ID: 2, Kind: Text}, "price": {ID: 3, Kind: Number}, "sold": {ID: 4, Kind: Bool}, "starts": {ID: 5, Kind: Time}, "author": {ID: 6, Kind: Page},
		},
		Templates: map[string]int64{"post": 1, "news": 2, "secret": 3},
		Cursor:    signed.Signer{Key: []byte(strings.Repeat("k", 32)), Label: "selector"},
	}
}

const (
	public = "(p.status = 0 AND +p.template_id IN (?, ?))"
	values = "p.id IN (SELECT v.page_id FROM cms_page_values v WHERE v.field_id = ? AND "
	none   = "EXISTS (SELECT 1 FROM cms_page_values v WHERE v.page_id = p.id AND v.field_id = ?)"
)

// had returns the condition that the template of a page has a field.
func had(field, condition string) string {
	return "(+p.template_id IN (SELECT tf.template_id FROM cms_template_fields tf WHERE tf.field_id = " + field + ") AND " + condition + ")"
}

func TestCompile(t *testing.T) {
	t.Parallel()
	for selector, want := range map[string]string{
		"":                               public + " ORDER BY p.id",
		"template=post":                  "(p.status = 0 AND p.template_id = ?) ORDER BY p.id",
		"template=secret":                "1 = 0 ORDER BY p.id",
		"template=post|secret":           "(p.status = 0 AND p.template_id = ?) ORDER BY p.id",
		"template!=post":                 "(p.status = 0 AND p.template_id = ?) ORDER BY p.id",
		"include=hidden":                 "(p.status IN (0, 1) AND +p.template_id IN (?, ?)) ORDER BY p.id",
		"include=all":                    "((p.status IN (0, 1) AND +p.template_id IN (?, ?)) OR (p.status = 2 AND p.template_id = ?)) ORDER BY p.id",
		"status=trash":                   "(p.status = 3 AND p.template_id = ?) ORDER BY p.id",
		"status=trash, include=all":      "(p.status = 3 AND p.template_id = ?) ORDER BY p.id",
		"status!=hidden, include=hidden": "p.status <> 1 AND (p.status IN (0, 1) AND +p.template_id IN (?, ?)) ORDER BY p.id",
		"sort=-created":                  public + " ORDER BY p.created DESC, p.id DESC",
		"sort=-created, sort=id":         public + " ORDER BY p.created DESC, p.id",
		"sort=id":                        public + " ORDER BY p.id",
		"parent=/blog/":                  "p.parent_id = ? AND " + public + " ORDER BY p.sort, p.id",
		"parent=1|2":                     "(p.parent_id = ? OR p.parent_id = ?) AND " + public + " ORDER BY p.id",
		"parent!=1":                      "NOT (COALESCE(p.parent_id = ?, FALSE)) AND " + public + " ORDER BY p.id",
		"has_parent=7":                   "p.id IN (SELECT a.page_id FROM cms_page_ancestors a WHERE a.ancestor_id = ?) AND " + public + " ORDER BY p.id",
		"id>5, id=7|8":                   "p.id > ? AND (p.id = ? OR p.id = ?) AND " + public + " ORDER BY p.id",
		"name^=a, path%=b":               `(p.name >= ? AND p.name < ?) AND p.path LIKE ? ESCAPE '\' AND ` + public + " ORDER BY p.id",
		"title=x":                        values + "v.text = ? AND v.whole IS NULL) AND " + public + " ORDER BY p.id",
		"title!=x|y":                     "NOT (" + values + "v.text = ? AND v.whole IS NULL) OR " + values + "v.text = ? AND v.whole IS NULL)) AND " + public + " ORDER BY p.id",
		"title|body%=x":                  "(" + values + `COALESCE(v.whole, v.text) LIKE ? ESCAPE '\') OR ` + had("2", values+`COALESCE(v.whole, v.text) LIKE ? ESCAPE '\')`) + `) AND ` + public + " ORDER BY p.id",
		"body=":                          "NOT " + had("2", none) + " AND " + public + " ORDER BY p.id",
		"body!=''":                       "NOT (NOT " + had("2", none) + ") AND " + public + " ORDER BY p.id",
		"price>=1.5":                     had("3", values+"v.num >= ?)") + " AND " + public + " ORDER BY p.id",
		"sold=0":                         "NOT (" + had("4", values+"v.num = 1)") + ") AND " + public + " ORDER BY p.id",
		"author=/a":                      had("6", values+"v.num = ?)") + " AND " + public + " ORDER BY p.id",
		"body~=a":                        had("2", "p.id IN (SELECT v.page_id FROM cms_search JOIN cms_page_values v ON v.id = cms_search.rowid WHERE cms_search MATCH ? AND v.field_id = ?)") + " AND " + public + " ORDER BY p.id",
		"body~=!!":                       "1 = 0 AND " + public + " ORDER BY p.id",
	} {
		s, err := Parse(selector)
		if err != nil {
			t.Errorf("%s: %v", selector, err)
			continue
		}
		q, err := s.Compile(scheme(store.SQLite))
		if err != nil {
			t.Errorf("%s: %v", selector, err)
			continue
		}
		sql, args := q.Select("p.id")
		_, sql, _ = strings.Cut(sql, " WHERE ")
		if sql != want+" LIMIT ?" {
			t.Errorf("%s:\n got %s\nwant %s", selector, sql, want)
		}
		if n := strings.Count(sql, "?"); n != len(args) {
			t.Errorf("%s: %d arguments for %d places", selector, len(args), n)
		}
	}
}

// TestMerge checks that a list of several templates is a union of one query for each of them if an index has these
// in order, and only then.
func TestMerge(t *testing.T) {
	t.Parallel()
	for selector, lists := range map[string]int{
		"template=post|news, sort=-created": 2, "template=post|news|secret, sort=modified, sort=name": 2, "template=post|news": 2, "template=post|news, status=published": 2,
		"template=post": 0, "sort=-created": 0, "template=post|news, sort=name": 0, "template=post|news, sort=-created, price=1": 0, "template=post|news, include=hidden": 0,
		"template=post|news, status=trash": 0, "template=post|news, sort=title": 0, "template=post|news, status!=hidden": 0,
	} {
		s, err := Parse(selector)
		if err != nil {
			t.Fatal(err)
		}
		q, err := s.Compile(scheme(store.SQLite))
		if err != nil {
			t.Fatal(err)
		}
		sql, args := q.Select("p.id")
		if got := strings.Count(sql, "p.template_id = ?"); lists > 0 && got != lists || strings.Contains(sql, "UNION ALL") != (lists > 0) {
			t.Errorf("%s: %s", selector, sql)
		}
		if strings.Count(sql, "?") != len(args) {
			t.Errorf("%s: %d arguments for %s", selector, len(args), sql)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for selector, want := range map[string]string{
		"colour=red":          "1: there is no field \"colour\"",
		"title=x, colour=red": "10: there is no field \"colour\"",
		"title|färbe=x":       "8: an operator is expected, one of = != < <= > >= *= ~= %= ^= $=",
		"ü=1":                 "1: a field is expected",
		"title":               "6: an operator is expected, one of = != < <= > >= *= ~= %= ^= $=",
		"title==x, =":         "11: a field is expected",
		"title=x,":            "9: a term is missing behind the comma",
		"title=x,,":           "9: a field is expected",
		"title=\"x":           "7: this quote is never closed",
		"title=\"x\"y":        "10: a comma or a bar is expected behind a quoted value",
		"title=it's":          "9: a value with a quote in it must be quoted",
		"template=none":       "10: there is no template \"none\"",
		"template>post":       "1: template takes only the operators = and !=",
		"title|template=post": "7: template cannot be combined with other fields",
		"limit=0":             "7: limit must be a number from 1 to 500",
		"limit=501":           "7: limit must be a number from 1 to 500",
		"limit>5":             "1: limit takes only the operator =",
		"limit=5|6":           "9: limit takes one value",
		"limit=5, limit=6":    "10: limit must occur only once",
		"start=10001":         "7: start must be a number from 0 to 10000",
		"include=trash":       "9: include must be hidden, unpublished or all",
		"status=gone":         "8: the status must be one of published, hidden, unpublished, trash",
		"sort=none":           "6: there is no field \"none\" to sort by",
		"sort=id|id|id|id|id": "18: pages can be sorted by at most 4 fields",
		"after=x":             "7: after is not a cursor of this list",
		"price=cheap":         "7: \"cheap\" is not a number",
		"price=NaN":           "7: \"NaN\" is not a number",
		"price%=1":            "1: price is not text: the operator %= is for texts only",
		"id=1.5":              "4: \"1.5\" is not a value of id",
		"id=1e300":            "4: \"1e300\" is not a value of id",
		"created>yesterday":   "9: \"yesterday\" is not a time: write 2026-01-02, 2026-01-02T15:04:05Z or seconds since 1970",
		"sold=perhaps":        "6: sold must be true or false",
		"sold>1":              "1: sold takes only the operators = and !=",
		"parent=blog":         "8: \"blog\" is neither an id nor a path",
		"name*=x":             "1: name has no words: use %=, ^= or $=",
		"title=" + strings.Repeat("x", MaxLength): "1: it is longer than 4096 bytes",
		"title=\xff": "1: it is not UTF-8",
		strings.Repeat("id=1,", MaxTerms) + "id=1":                                "161: it has more than 32 terms",
		strings.Repeat("title|title|title=1|2|3|4|5|6|7|8|9|10,", 20) + "title=1": "788: it has more than 600 alternatives",
	} {
		s, err := Parse(selector)
		if err == nil {
			_, err = s.Compile(scheme(store.SQLite))
		}
		var e *Error
		if !errors.As(err, &e) || err.Error() != "selector, character "+want {
			t.Errorf("%.40s:\n got %v\nwant %s", selector, err, want)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	s, err := Parse(` title | body %= "a, ""b"" | c" | it , created >= 2026-01-02 15:04 , body*='don''t'`)
	if err != nil {
		t.Fatal(err)
	}
	want := []Term{
		{[]Name{{"title", 2}, {"body", 10}}, Contains, []Value{{`a, "b" | c`, 18}, {"it", 35}}},
		{[]Name{{"created", 40}}, GreaterEqual, []Value{{"2026-01-02 15:04", 51}}},
		{[]Name{{"body", 70}}, Phrase, []Value{{"don't", 76}}},
	}
	if !reflect.DeepEqual(s.Terms, want) {
		t.Errorf("got %+v", s.Terms)
	}
}

// TestInjection checks that the SQL contains nothing of a client's input.
func TestInjection(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`x' OR 1=1 --`, `x" OR "1"="1`, `x'; DROP TABLE cms_pages; --`, `x' UNION SELECT password_hash FROM cms_users --`, `\`, `\'`, `%`, `_`, `%' OR '%'='`,
		`" OR rowid > 0 --`, `a* NEAR(b)`, `title: x`, `{title}: x`, `x') OR p.id IN (SELECT 1`, `' || pg_sleep(10) || '`, "x\x00y", `$1`, `?`, `'a' | 'b'`, `!'a'`, `x/*`, `*/x`,
		"x\u2028y", "\ufeffx", "１=１", `＇ OR 1=1`, `0x31`, `1e5)`, `NULL`, `CAST(1 AS TEXT)`,
	} {
		for _, op := range ops {
			for _, field := range []string{"title", "body", "name", "path"} {
				for _, d := range []store.Dialect{store.SQLite, store.Postgres} {
					s, err := Parse(field + string(op) + Quote(text) + ", sort=-title")
					if err != nil {
						t.Fatalf("%q: %v", text, err)
					}
					q, err := s.Compile(scheme(d))
					if err != nil {
						continue // the operator is not of the field
					}
					plain, err := (&Selector{[]Term{{s.Terms[0].Fields, op, []Value{{"word", 1}}}, s.Terms[1]}}).Compile(scheme(d))
					if err != nil {
						t.Fatal(err)
					}
					got, args := q.Select("p.id")
					want, _ := plain.Select("p.id")
					if got != want && !strings.Contains(got, noPage) || len(args) != strings.Count(got, "?") {
						t.Errorf("%s%s%q:\n got %s\nwant %s", field, op, text, got, want)
					}
				}
			}
		}
	}
}

func TestCursor(t *testing.T) {
	t.Parallel()
	compile := func(text string) (*Query, error) {
		s, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return s.Compile(scheme(store.SQLite))
	}
	for sort, keys := range map[string][]any{
		"sort=-created": {int64(5), int64(7)}, "sort=title, sort=-price": {"a", -1e300, int64(7)}, "sort=-price": {2.0, int64(7)}, "": {int64(1)},
	} {
		q, err := compile(sort)
		if err != nil {
			t.Fatal(err)
		}
		var kinds []reflect.Type
		for _, key := range q.Keys() {
			kinds = append(kinds, reflect.TypeOf(key).Elem())
		}
		for i, k := range keys {
			if reflect.TypeOf(k) != kinds[i] {
				t.Errorf("%s: key %d is %s", sort, i, kinds[i])
			}
		}
		cursor := q.Cursor(keys)
		next, err := compile(strings.TrimPrefix(sort+", after="+cursor, ", "))
		if err != nil {
			t.Fatal(err)
		}
		sql, args := next.Select("p.id")
		if strings.Count(sql, "?") != len(args) {
			t.Errorf("%s: %d arguments: %s", sort, len(args), sql)
		}
		for _, other := range []string{"sort=created, after=" + cursor, "after=" + cursor + "A", "sort=title, after=" + cursor, sort + ", start=1, after=" + cursor} {
			if _, err := compile(strings.TrimPrefix(other, ", ")); err == nil {
				t.Errorf("the cursor of %q is valid in %q", sort, other)
			}
		}
	}
	if q, err := compile("after="); err != nil || len(q.Keys()) != 1 {
		t.Errorf("the first page: %v", err)
	}
}

func FuzzSelector(f *testing.F) {
	for _, seed := range []string{
		"template=post, sort=-created, limit=25", `title|body%="a, ""b"""|'c', created>=2026-01-02`, "parent=/a/b, include=all, start=10", "id=1|2|3, name^=x, sold=1, price<=2.5",
		"has_parent!=7, body~=a b, body*='c d', starts<1700000000, author=/x", "status=trash, sort=title, sort=-price, after=", "=", "a|", "\"",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Position < 1 || e.Position > len(text)+1 {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		for _, term := range s.Terms {
			for _, v := range term.Values {
				parsed, err := Parse("title=" + Quote(v.Text) + ",x=1")
				if err != nil && len(Quote(v.Text)) < MaxLength-10 || err == nil && parsed.Terms[0].Values[0].Text != v.Text {
					t.Fatalf("%q: %q is quoted as %s: %v", text, v.Text, Quote(v.Text), err)
				}
			}
		}
		for _, d := range []store.Dialect{store.SQLite, store.Postgres} {
			q, err := s.Compile(scheme(d))
			if err != nil {
				continue
			}
			for _, build := range []func() (string, []any){func() (string, []any) { return q.Select("p.id") }, q.Count} {
				sql, args := build()
				if strings.Count(sql, "?") != len(args) || strings.ContainsAny(sql, "\";\x00") || strings.Contains(sql, "--") {
					t.Fatalf("%q: %s with %d arguments", text, sql, len(args))
				}
			}
		}
	})
}
