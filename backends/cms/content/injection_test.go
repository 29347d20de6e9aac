package content_test

import (
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/cms/content"
	"github.com/tollgate-gateway/tollgate/backends/cms/selector"
)

// TestInjection checks that values that try to break out of a selector only match that text, and cause no error of
// the database.
func TestInjection(t *testing.T) {
	t.Parallel()
	hostile := []string{
		`x' OR 1=1 --`, `x" OR "1"="1`, `x'; DROP TABLE cms_pages; --`, `x' UNION SELECT password_hash FROM cms_users --`, `\`, `\'`, `a\`, `%`, `_`, `%' OR '%'='`, `[a-z]`,
		`" OR rowid > 0 --`, `a* NEAR(b)`, `title: x`, `{title}: x`, `^x`, `x AND y`, `x OR y`, `NOT x`, `-x`, `(x`, `x + y`, `x') OR p.id IN (SELECT 1`, `' || pg_sleep(10) || '`,
		`$1`, `$$x$$`, `?`, `:a`, `@b`, `'a' | 'b'`, `!'a'`, `a:*`, `a & b`, `a <-> b`, `x/*`, `*/x`, "x\u2028y", "\ufeffx", `１=１`, `＇ OR 1=1`, `0x31`, `1e5)`, `NULL`, `CAST(1 AS TEXT)`, "\u0301x", "ﬀ", "İ", "\U0001F600",
	}
	onBoth(t, func(t *testing.T, s *site) {
		var titles []string
		for _, text := range hostile {
			created, err := s.Save(t.Context(), s.ann, content.Edit{Parent: s.top, Template: "post", Title: &text, Status: new("published"), Fields: map[string]any{"body": "before " + text + " behind"}})
			if err != nil {
				continue // no title
			}
			titles = append(titles, created.Title)
		}
		if len(titles) < len(hostile)-3 {
			t.Fatalf("only %d of %d are titles", len(titles), len(hostile))
		}
		for _, title := range titles {
			value := selector.Quote(title)
			list, err := s.Find(t.Context(), s.guest, "title="+value+", template=post")
			if err != nil || len(list.Pages) == 0 || len(list.Pages) > 2 { // １=１ is no other text than 1=1
				t.Errorf("%q: %v, error %v", title, list, err)
				continue
			}
			for _, term := range []string{"title^=", "title$=", "title%=", "body%="} {
				list, err := s.Find(t.Context(), s.guest, term+value+", limit=500")
				if err != nil || !has(list, title) {
					t.Errorf("%s%q: error %v", term, title, err)
				}
			}
			for _, term := range []string{"body*=", "body~=", "title~=", "title<", "title!=", "name^=", "path%=", "path=", "sort=title, title>="} {
				if _, err := s.Find(t.Context(), s.guest, term+value); err != nil {
					t.Errorf("%s%q: %v", term, title, err)
				}
			}
			if words := selector.SplitWords(selector.Fold(title)); len(words) > 0 {
				list, err := s.Find(t.Context(), s.guest, "body*="+value+", limit=500")
				if err != nil || !has(list, title) {
					t.Errorf("body*=%q: error %v", title, err)
				}
			}
			for _, term := range []string{"sold=", "author=", "template=", "status=", "limit=", "after=", "include=", "sort=", "created>"} {
				_, err := s.Find(t.Context(), s.guest, term+value)
				s.want(err, 400, term+value)
			}
		}
	})
}

func has(list *content.List, title string) bool {
	for _, page := range list.Pages {
		if page.Title == title {
			return true
		}
	}
	return false
}

// TestZeroBytes checks that texts which no database stores match nothing and cause no error.
func TestZeroBytes(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		for _, odd := range []string{"/a\x00b", "/home\x00", "/\x00", "/home\xff"} {
			_, err := s.At(t.Context(), s.guest, odd)
			s.want(err, 404, "at "+odd)
			_, err = s.Moved(t.Context(), s.guest, odd)
			s.want(err, 404, "moved from "+odd)
		}
		for _, selector := range []string{"parent='/\x00'", "author='/home\x00'", "has_parent='/a\x00b'"} {
			if got := s.titles(s.guest, selector); got != "" {
				t.Errorf("%q finds %s", selector, got)
			}
		}
	})
}
