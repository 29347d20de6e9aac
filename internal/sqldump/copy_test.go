package sqldump

import (
	"bufio"
	"fmt"
	"strings"
	"testing"
)

const copyHead = "--\n-- PostgreSQL database dump\n--\n\n\\restrict abc\n\nSET x = 'it''s';\n" +
	"CREATE FUNCTION public.f() RETURNS trigger\n    AS $$ BEGIN RAISE 'x; END; $$;\n"

func TestScanCopy(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long ", bufferSize/4)
	for name, test := range map[string]struct{ rows, want string }{
		"rows":          {"COPY public.t (id, name) FROM stdin;\n1\ta\n2\t\\N\n3\t\n\\.\n", "11: t id=1 name=a|12: t id=2 name=|13: t id=3 name="},
		"escapes":       {"COPY t (name, id) FROM stdin;\nit's\\ta\\n\\\\N\\.\\r\\b\t-4\n\\.\n", "11: t id=-4 name=it's\ta\n\\N.\r\b"},
		"quoted names":  {"COPY \"public\".\"t\" (\"id\", \"name\", \"a \"\"b, c\") FROM stdin;\n1\tx\ty\n\\.\n", "11: t id=1 name=x"},
		"other tables":  {"COPY public.skipped (a, b) FROM stdin;\nnot\tchecked\twhat\n\\.\n\nCOPY public.t (id, name) FROM stdin;\n7\tb\n\\.\nSELECT 1;\n", "15: t id=7 name=b"},
		"no rows":       {"COPY public.t (id, name) FROM stdin;\n\\.\n", ""},
		"lines":         {"COPY t (id, name) FROM stdin;\r\n1\ta\r\n2\tb\r\n\\.\r\n", "11: t id=1 name=a|12: t id=2 name=b"},
		"invalid UTF-8": {"COPY t (id, name) FROM stdin;\n1\ta\xffb\n\\.", "11: t id=1 name=a\ufffdb"},
		"a long line":   {"COPY t (id, name) FROM stdin;\n1\t" + long + "\n2\tb\n\\.\n", "11: t id=1 name=" + long + "|12: t id=2 name=b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t, copyHead+test.rows)
			var got []string
			var places []Place
			show := func(r *Row) string {
				return fmt.Sprintf("%s id=%d name=%s", r.Table, r.Int("id"), r.Text("name"))
			}
			if err := d.Scan(t.Context(), func(table string) bool { return table != "skipped" }, func(r *Row) error {
				got = append(got, fmt.Sprintf("%d: %s", r.Line, show(r)))
				places = append(places, r.Place)
				return nil
			}, nil); err != nil || strings.Join(got, "|") != test.want {
				t.Fatalf("%v\n%.500q, want\n%.500q", err, strings.Join(got, "|"), test.want)
			}
			if !d.Created("t") {
				t.Error("the table is not known")
			}
			for i, place := range places {
				if r, err := d.At(place); err != nil || !strings.HasSuffix(got[i], ": "+show(r)) {
					t.Errorf("read again: %v", err)
				}
			}
		})
	}
	for rows, want := range map[string]string{
		"COPY t (id, name) FROM stdin;\n1\ta\n":         "line 12: the dump ends in the middle of a statement",
		"COPY t (id, name) FROM stdin;\n1\n\\.\n":       "a row of t does not have 2 values, one for each column",
		"COPY t (id, name) FROM stdin;\n1\t2\t3\n\\.\n": "a row of t does not have 2 values, one for each column",
		"COPY t FROM stdin;\n1\n\\.\n":                  "expected a comma between names",
		"COPY t (id; FROM stdin;\n1\n\\.\n":             "expected a comma",
	} {
		err := open(t, copyHead+rows).Scan(t.Context(), every, func(*Row) error { return nil }, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", rows, err, want)
		}
	}
}

func FuzzCopy(f *testing.F) {
	f.Add("COPY public.t (id, name) FROM stdin;\n1\ta\\n\\\\\n2\t\\N\n\\.\nSELECT 1;\n")
	f.Add("COPY \"a\".\"b\"\"c\" (x) FROM stdin;\r\n\\\n\\.\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		d := &Dump{file: memory{strings.NewReader(text)}, indexes: make(map[string]int), copy: true}
		var places []Place
		var texts []string
		s := &scanner{
			in: bufio.NewReaderSize(d.file, 16), line: 1, dump: d, accept: every, ctx: t.Context(), each: func(r *Row) error {
				places, texts = append(places, r.Place), append(texts, string(r.text))
				return nil
			},
		}
		_ = s.readCopies()
		for i, place := range places {
			if row, err := d.At(place); err != nil || string(row.text) != texts[i] {
				t.Fatalf("%q is read again as %q, %v", texts[i], row.text, err)
			}
		}
	})
}
