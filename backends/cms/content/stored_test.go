package content_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/cms/content"
	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
)

// remake makes fields of post anew, with other types.
func (s *site) remake(fields ...content.Field) {
	s.t.Helper()
	sections, err := s.Field(s.t.Context(), s.root, "sections")
	if err != nil {
		s.t.Fatal(err)
	}
	post, err := s.Template(s.t.Context(), s.root, "post")
	if err != nil {
		s.t.Fatal(err)
	}
	fieldNames, blocks := post.Fields, sections.Settings.Blocks
	step := func(err error) {
		s.t.Helper()
		if err != nil {
			s.t.Fatal(err)
		}
	}
	save := func(names []string, kinds map[string][]string) {
		s.t.Helper()
		post.Fields, sections.Settings.Blocks = names, kinds
		_, err := s.SaveTemplate(s.t.Context(), s.root, *post)
		step(err)
		_, err = s.SaveField(s.t.Context(), s.root, *sections)
		step(err)
	}
	remade := func(name string) bool {
		return slices.ContainsFunc(fields, func(f content.Field) bool { return f.Name == name })
	}
	save(slices.DeleteFunc(slices.Clone(fieldNames), remade), map[string][]string{"heading": {"summary"}})
	for _, f := range fields {
		step(s.DeleteField(s.t.Context(), s.root, f.Name))
		_, err := s.SaveField(s.t.Context(), s.root, f)
		step(err)
	}
	save(fieldNames, blocks)
}

// TestRecreatedFieldHasNoOldValues checks that a field does not have the values of a deleted field with the same name:
// not in pages, drafts, revisions and blocks, nor when searching and sorting.
func TestRecreatedFieldHasNoOldValues(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		other := s.post(s.top, "Other", nil)
		sections, err := s.Field(t.Context(), s.root, "sections")
		if err != nil {
			t.Fatal(err)
		}
		sections.Settings.Blocks["quote"] = []string{"link", "author"}
		if _, err := s.SaveField(t.Context(), s.root, *sections); err != nil {
			t.Fatal(err)
		}
		old := map[string]any{
			"price": 900.0, "stock": 3.0, "author": other.ID, "tags": []any{"Red"}, "link": "/x", "sold": true,
			"extra":    []any{map[string]any{"id": []any{1.0}}},
			"sections": []any{map[string]any{"type": "quote", "link": "/buried", "author": other.ID}, map[string]any{"type": "heading", "summary": "Deep"}},
		}
		page := s.post(s.top, "Page", old)
		s.save(content.Edit{ID: page.ID, Fields: map[string]any{"price": 901.0}}) // a revision
		s.save(content.Edit{ID: page.ID, Draft: true, Fields: map[string]any{"price": 902.0, "starts": "2026-05-01"}})
		s.remake(
			content.Field{Name: "price", Type: content.TypeText}, content.Field{Name: "stock", Type: content.TypePage},
			content.Field{Name: "author", Type: content.TypeInt}, content.Field{Name: "tags", Type: content.TypeText}, content.Field{Name: "link", Type: content.TypeTextarea},
			content.Field{Name: "sold", Type: content.TypeOptions, Settings: content.Settings{Options: []string{"true"}}}, content.Field{Name: "extra", Type: content.TypeFile},
		)
		none := func(label string, fields map[string]any, more ...string) {
			t.Helper()
			raw, _ := json.Marshal(fields)
			for name := range fields {
				if name != "sections" && !slices.Contains(more, name) {
					t.Errorf("%s has %s", label, raw)
				}
			}
			if text := string(raw); strings.Contains(text, "buried") || strings.Contains(text, "author") || strings.Contains(text, "#") || !strings.Contains(text, "Deep") {
				t.Errorf("%s has %s", label, raw)
			}
		}
		got, err := s.Page(t.Context(), s.guest, page.ID)
		if err != nil {
			t.Fatal(err)
		}
		none("the page", got.Fields)
		list, err := s.Find(t.Context(), s.guest, "template=post, title=Page")
		if err != nil || len(list.Pages) != 1 {
			t.Fatal(list, err)
		}
		none("the list", list.Pages[0].Fields)
		draft, err := s.Draft(t.Context(), s.ann, page.ID)
		if err != nil || draft.Fields["starts"] == nil {
			t.Fatal(draft, err)
		}
		none("the draft", draft.Fields, "starts")
		revisions, err := s.Revisions(t.Context(), s.ann, page.ID)
		if err != nil || len(revisions) != 1 {
			t.Fatal(revisions, err)
		}
		none("the revision", revisions[0].Fields)
		found := func(want map[string]string) {
			t.Helper()
			for selector, titles := range want {
				if got := s.titles(s.guest, "template=post, "+selector); got != titles {
					t.Errorf("%s finds %q, want %q", selector, got, titles)
				}
			}
		}
		found(map[string]string{
			"price%=90": "", "price>1": "", `price=""`: "Other Page", "sort=-price, sort=id": "Other Page", "author>0": "", "sort=-author, sort=id": "Other Page",
			"tags=Red": "", "tags~=red": "", "link=/x": "", "sold=true": "", "sold!=true": "Other Page", "extra%=a": "",
		})
		// Values that are saved in the new field can be found. The copies of the old values are gone with the old field.
		s.save(content.Edit{ID: page.ID, Draft: true, Fields: map[string]any{"price": "dear"}})
		if page, err = s.PublishDraft(t.Context(), s.ann, page.ID, 0); err != nil || page.Fields["price"] != "dear" || page.Fields["author"] != nil {
			t.Fatal(page, err)
		}
		found(map[string]string{"price~=dear": "Page", "sort=-price, sort=id": "Page Other", "price%=90": "", "sections%=buried": "", "sections%=Deep": "Page"})
		if n := s.number("SELECT COUNT(*) FROM cms_page_values WHERE field_id NOT IN (SELECT id FROM cms_fields)"); n != 0 {
			t.Errorf("%d copies are of no field", n)
		}
		page = s.save(content.Edit{ID: page.ID, Fields: map[string]any{"author": 900.0, "extra": nil, "stock": page.ID}})
		found(map[string]string{"author=900": "Page", "sort=-author, sort=id": "Page Other"})
		reverted, err := s.Revert(t.Context(), s.ann, page.ID, revisions[0].Revision, 0)
		if err != nil {
			t.Fatal(err)
		}
		none("what it was", reverted.Fields)
	})
}

// TestFieldWithoutNumberKeepsValues checks that a field without a number keeps its values, unless they are of another
// type.
func TestFieldWithoutNumberKeepsValues(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		page := s.post(s.top, "Page", map[string]any{"price": 5.0, "sections": []any{map[string]any{"type": "heading", "summary": "Deep"}}})
		s.exec("UPDATE cms_fields SET numbered = 0")
		s.exec("UPDATE cms_pages SET data = ? WHERE id = ?", `{"price":7,"sections":[{"type":"heading","summary":"Deeper"}]}`, page.ID)
		post, err := s.Template(t.Context(), s.root, "post")
		if err == nil {
			_, err = s.SaveTemplate(t.Context(), s.root, *post) // which has all read what is stored
		}
		if err != nil {
			t.Fatal(err)
		}
		// As of others of their names that were deleted before.
		s.exec("UPDATE cms_pages SET data = ? WHERE id = ?", `{"price":7,"sections":[{"type":"heading","summary":"Deeper"},{"type":"quote","body":5}],`+
			`"mail":3,"sold":"yes","starts":"soon","author":"ann","related":["x"],"tags":[1],"pictures":[{"id":[1]}],"link":["/x"],"body":{"a":1},"stock":true}`, page.ID)
		if page, err = s.Page(t.Context(), s.guest, page.ID); err != nil || len(page.Fields) != 2 {
			t.Errorf("%v, error %v", page, err)
		}
		page = s.save(content.Edit{ID: page.ID, Fields: map[string]any{"stock": 1.0, "sections": page.Fields["sections"].([]any)[:1], "pictures": []any{}}})
		raw, _ := json.Marshal(page.Fields)
		if string(raw) != `{"price":7,"sections":[{"summary":"Deeper","type":"heading"}],"stock":1}` {
			t.Errorf("%s", raw)
		}
		if n := s.number("SELECT COUNT(*) FROM cms_pages WHERE data LIKE '%#%'"); n != 0 {
			t.Errorf("%d pages have other keys", n)
		}
	})
}

// number returns the integer of a query.
func (s *site) number(query string) (n int64) {
	s.t.Helper()
	if err := s.Read(s.t.Context(), func(c kernel.Conn) error { return c.Row(query).Scan(&n) }); err != nil {
		s.t.Fatal(err)
	}
	return n
}

// exec changes the database.
func (s *site) exec(statement string, args ...any) {
	s.t.Helper()
	err := s.Write(s.t.Context(), func(c kernel.Conn) error {
		_, err := c.Exec(statement, args...)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}
