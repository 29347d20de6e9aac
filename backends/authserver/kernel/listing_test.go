package kernel

import (
	"slices"
	"strings"
	"testing"
)

func TestListing(t *testing.T) {
	t.Parallel()
	l := Listing{Columns: "a, b", Table: "t", At: "at", ID: "id"}
	l.And("a = ?", 1)
	for _, test := range []struct {
		page Page
		want string
		args []any
	}{
		{Page{Limit: 3}, "SELECT a, b FROM t WHERE a = ? ORDER BY at, id LIMIT ?", []any{1, 3}},
		{Page{Limit: 3, Offset: 6, Newest: true}, "SELECT a, b FROM t WHERE a = ? ORDER BY at DESC, id DESC LIMIT ? OFFSET ?", []any{1, 3, 6}},
		{Page{Limit: 3, After: Place{7, "x"}}, "SELECT a, b FROM t WHERE a = ? AND (at, id) > (?, ?) ORDER BY at, id LIMIT ?", []any{1, int64(7), "x", 3}},
		{Page{Limit: 3, Newest: true, After: Place{0, "x"}}, "SELECT a, b FROM t WHERE a = ? AND (at, id) < (?, ?) ORDER BY at DESC, id DESC LIMIT ?", []any{1, int64(0), "x", 3}},
	} {
		if got, args := l.Page(test.page); got != test.want || !slices.Equal(args, test.args) {
			t.Errorf("%+v: %s %v", test.page, got, args)
		}
	}
	if got, args := l.Count(5); got != "SELECT count(*) FROM (SELECT 1 FROM t WHERE a = ? LIMIT ?) AS found" || !slices.Equal(args, []any{1, 5}) {
		t.Errorf("%s %v", got, args)
	}
	numbered := Listing{Columns: "a", Table: "t", ID: "id"}
	if got, args := numbered.Page(Page{Limit: 3, Newest: true, After: Place{At: 7}}); got != "SELECT a FROM t WHERE id < ? ORDER BY id DESC LIMIT ?" || !slices.Equal(args, []any{int64(7), 3}) {
		t.Errorf("%s %v", got, args)
	}
}

func FuzzParsePlace(f *testing.F) {
	for _, text := range []string{Place{7, "x"}.String(), Place{-1, "https://a.example/x y"}.String(), "", "x", "AAAA", strings.Repeat("A", maxPlace+4), Place{1, "\x00"}.String()} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, ok := ParsePlace(text)
		if !ok {
			return
		}
		if parsed, ok := ParsePlace(p.String()); !ok || parsed != p || strings.Contains(p.ID, "\x00") {
			t.Errorf("%q: %+v, again %+v", text, p, parsed)
		}
	})
}

func TestParsePlace(t *testing.T) {
	t.Parallel()
	for _, p := range []Place{{7, "x"}, {0, ""}, {-5, "https://a.example/x y"}} {
		if got, ok := ParsePlace(p.String()); !ok || got != p {
			t.Errorf("%+v, %v, want %+v", got, ok, p)
		}
	}
	for _, bad := range []string{"", "x", "*", Place{1, "\x00"}.String(), Place{1, "\xff"}.String(), strings.Repeat("A", maxPlace+4)} {
		if p, ok := ParsePlace(bad); ok {
			t.Errorf("%q is %+v", bad, p)
		}
	}
}
