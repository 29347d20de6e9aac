package query_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// recordedAnswer is a request with the answer of the reference implementation.
type recordedAnswer struct {
	ID      string
	Tag     string
	Request struct {
		Method  string
		Path    string
		Params  [][2]string
		Headers map[string]string
		Body    *string
	}
	Response struct {
		Status  int
		Headers map[string]string
		JSON    *[]map[string]any
		Text    *string
	}
	Compare string
}

func cases(tb testing.TB) (list []recordedAnswer) {
	tb.Helper()
	f, err := os.Open("testdata/cases.jsonl")
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c recordedAnswer
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			tb.Fatal(err)
		}
		list = append(list, c)
	}
	if err := lines.Err(); err != nil || len(list) != 25 {
		tb.Fatalf("%d cases, %v", len(list), err)
	}
	return list
}

func TestRecordedAnswers(t *testing.T) {
	t.Parallel()
	for _, d := range []store.Dialect{store.SQLite, store.Postgres} {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			b := open(t, d).load(t)
			for _, c := range cases(t) {
				t.Run(c.ID+"-"+c.Tag, func(t *testing.T) { check(t, b, c) })
			}
		})
	}
}

func check(t *testing.T, b *fixture, c recordedAnswer) {
	t.Helper()
	pairs := make([]string, 0, len(c.Request.Params))
	for _, p := range c.Request.Params {
		pairs = append(pairs, url.QueryEscape(p[0])+"="+url.QueryEscape(p[1]))
	}
	body := ""
	if c.Request.Body != nil {
		body = *c.Request.Body
	}
	r := httptest.NewRequest(c.Request.Method, c.Request.Path+"?"+strings.Join(pairs, "&"), strings.NewReader(body))
	for k, v := range c.Request.Headers {
		r.Header.Set(k, v)
	}
	a := b.call(r)
	if c.Response.Status == http.StatusInternalServerError {
		if a.status != http.StatusBadRequest || a.body == "" {
			t.Errorf("%d %s, want 400 with a text", a.status, a.body)
		}
		return
	}
	if a.status != c.Response.Status {
		t.Fatalf("%d, want %d\n%s", a.status, c.Response.Status, a.body)
	}
	for name, want := range c.Response.Headers {
		wantEqual(t, name, a.header.Get(name), want)
	}
	if c.Response.Text != nil {
		wantEqual(t, "text", a.body, *c.Response.Text)
		return
	}
	var got []map[string]any
	if err := json.Unmarshal([]byte(a.body), &got); err != nil {
		t.Fatal(err)
	}
	ordered := c.Compare == "ordered"
	gotRows, want := rowTexts(t, got, ordered), rowTexts(t, *c.Response.JSON, ordered)
	if c.Compare == "subset" {
		wantEqual(t, "number of rows", len(gotRows), len(want))
		return
	}
	if !slices.Equal(gotRows, want) {
		t.Errorf("%d rows, want %d", len(gotRows), len(want))
		for i := range min(len(gotRows), len(want)) {
			if gotRows[i] != want[i] {
				t.Fatalf("first difference:\ngot  %s\nwant %s", gotRows[i], want[i])
			}
		}
	}
}
