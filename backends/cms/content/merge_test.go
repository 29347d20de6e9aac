package content_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/cms/content"
)

// TestMergedLists checks that a merged list of several templates has the same pages in the same order as an
// ordinary one, on each page.
func TestMergedLists(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		for i := range 11 {
			title := fmt.Sprintf("P%d", i)
			switch i % 3 {
			case 0:
				s.post(s.top, title, nil)
			case 1:
				s.save(content.Edit{Parent: s.top, Template: "secret", Title: &title, Status: new("published"), Fields: map[string]any{"summary": "x"}})
			default:
				s.save(content.Edit{Parent: s.top, Template: "post", Title: &title}) // nobody's yet
			}
		}
		walk := func(selector string) string {
			t.Helper()
			var all []string
			for after := ""; ; {
				list, err := s.Find(t.Context(), s.ann, selector+", limit=2, after="+after)
				if err != nil {
					t.Fatalf("%s: %v", selector, err)
				}
				for _, page := range list.Pages {
					all = append(all, page.Title)
				}
				if after = list.Next; after == "" || len(all) > 100 {
					return strings.Join(all, " ")
				}
			}
		}
		for _, sort := range []string{"", ", sort=-created", ", sort=created", ", sort=-modified", ", sort=-created, sort=name", ", sort=-id", ", sort=created, sort=-id"} {
			merged, plain := walk("template=post|secret"+sort), walk("template=post|secret, id>0"+sort) // a term more has it made as others are
			if merged != plain || strings.Count(merged, "P") != 8 {
				t.Errorf("%q:\n got %s\nwant %s", sort, merged, plain)
			}
			if merged, plain := s.titles(s.ann, "template=post|secret, start=3, limit=4"+sort), s.titles(s.ann, "template=post|secret, id>0, start=3, limit=4"+sort); merged != plain || strings.Count(merged, "P") != 4 {
				t.Errorf("%q:\n got %s\nwant %s", sort, merged, plain)
			}
		}
	})
}
