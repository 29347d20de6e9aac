package content_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/cms/content"
	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

const hour = time.Hour

// whole reports what is inconsistent in the tree of pages, such as paths and ancestors.
func (s *site) whole() {
	s.t.Helper()
	err := s.DB.Read(s.t.Context(), func(c store.Conn) error {
		for name, query := range map[string]string{
			"a path":                              `SELECT COUNT(*) FROM cms_pages p JOIN cms_pages o ON o.id = p.parent_id WHERE p.path <> CASE WHEN o.path = '/' THEN '' ELSE o.path END || '/' || p.name`,
			"a page that is not below its parent": `SELECT COUNT(*) FROM cms_pages p WHERE p.parent_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM cms_page_ancestors a WHERE a.page_id = p.id AND a.ancestor_id = p.parent_id)`,
			"a page that is not below what its parent is below": `SELECT COUNT(*) FROM cms_pages p JOIN cms_page_ancestors a ON a.page_id = p.parent_id
				WHERE NOT EXISTS (SELECT 1 FROM cms_page_ancestors b WHERE b.page_id = p.id AND b.ancestor_id = a.ancestor_id)`,
			"a page below too many": `SELECT COUNT(*) FROM cms_page_ancestors a JOIN cms_pages p ON p.id = a.page_id WHERE a.ancestor_id <> p.parent_id
				AND NOT EXISTS (SELECT 1 FROM cms_page_ancestors b WHERE b.page_id = p.parent_id AND b.ancestor_id = a.ancestor_id)`,
			"a redirect to its own path": "SELECT COUNT(*) FROM cms_page_redirects r JOIN cms_pages p ON p.id = r.page_id WHERE r.path = p.path",
			"a copy of nothing":          "SELECT COUNT(*) FROM cms_page_values WHERE page_id NOT IN (SELECT id FROM cms_pages)",
		} {
			var n int
			if err := c.Row(query).Scan(&n); err != nil {
				return err
			}
			if n > 0 {
				s.t.Errorf("%s is wrong, %d times", name, n)
			}
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

func TestMove(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		a := s.post(s.top, "A", nil)
		b := s.post(a.ID, "B", nil)
		c := s.post(b.ID, "C", nil)
		d := s.post(s.top, "D", nil)
		secret := s.save(content.Edit{Parent: d.ID, Template: "secret", Title: new("S")})
		moved, err := s.Move(t.Context(), s.ann, b.ID, d.ID)
		if err != nil || moved.Path != "/d/b" || moved.Parent != d.ID || moved.Version != 2 {
			t.Fatalf("%+v, error %v", moved, err)
		}
		s.whole()
		if got := s.titles(s.guest, "has_parent=/d") + "|" + s.titles(s.guest, "has_parent=/a") + "|" + s.titles(s.guest, "path^=/d/"); got != "B C||B C" {
			t.Errorf("after the move: %s", got)
		}
		moves := func(oldPath, newPath string) {
			t.Helper()
			if got, err := s.Moved(t.Context(), s.guest, oldPath); err != nil || got != newPath {
				t.Errorf("%s is at %s, error %v; want %s", oldPath, got, err, newPath)
			}
		}
		moves("/a/b", "/d/b")
		moves("/A/b/c/", "/d/b/c")
		s.save(content.Edit{ID: d.ID, Name: new("data")})
		s.whole()
		moves("/a/b/c", "/data/b/c")
		moves("/d/b", "/data/b")
		s.save(content.Edit{ID: d.ID, Name: new("")}) // keeps the name
		s.whole()
		for _, path := range []string{"/a", "/none", "/", "/a/b/none", "/d/s", strings.Repeat("/x", 3000)} {
			_, err := s.Moved(t.Context(), s.guest, path)
			s.want(err, 404, path)
		}
		// A new page takes the old path. Old paths below it then lead nowhere.
		s.post(a.ID, "B", nil)
		_, err = s.Moved(t.Context(), s.guest, "/a/b")
		s.want(err, 404, "a path that is taken")
		if got, err := s.Moved(t.Context(), s.guest, "/a/b/c"); err == nil {
			t.Errorf("/a/b/c is at %s", got)
		}
		for name, move := range map[string]struct {
			id, parent int64
			want       int
		}{
			"below itself":         {d.ID, c.ID, 422},
			"itself":               {d.ID, d.ID, 422},
			"to nothing":           {c.ID, 999, 422},
			"to what is hidden":    {c.ID, adminPage(t, s), 422},
			"below what has none":  {c.ID, secret.ID, 422},
			"a name that is taken": {b.ID, a.ID, 422},
			"to where it is":       {c.ID, b.ID, 0},
		} {
			_, err := s.Move(t.Context(), s.ann, move.id, move.parent)
			s.want(err, move.want, name)
		}
		_, err = s.Move(t.Context(), s.guest, c.ID, s.top)
		s.want(err, 403, "a guest")
		_, err = s.Move(t.Context(), s.root, adminPage(t, s), d.ID)
		s.want(err, 409, "the administration")
		s.whole()
	})
}

func TestOrder(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		top := s.post(s.top, "Top", nil)
		ids := make([]int64, 0, 4)
		for _, title := range []string{"A", "B", "C", "D"} {
			ids = append(ids, s.post(top.ID, title, nil).ID)
		}
		if err := s.Order(t.Context(), s.ann, top.ID, []int64{ids[2], ids[0]}); err != nil {
			t.Fatal(err)
		}
		if got := s.titles(s.guest, "parent=/top"); got != "C A B D" {
			t.Errorf("in order: %s", got)
		}
		s.want(s.Order(t.Context(), s.ann, top.ID, []int64{top.ID}), 422, "a page that is not a child")
		s.want(s.Order(t.Context(), s.guest, top.ID, ids), 403, "a guest")
	})
}

func TestTrash(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		a := s.post(s.top, "A", map[string]any{"body": "words"})
		b := s.post(a.ID, "B", nil)
		c := s.post(b.ID, "C", nil)
		hidden := s.save(content.Edit{Parent: a.ID, Template: "post", Title: new("H"), Status: new("hidden")})
		if _, err := s.Trash(t.Context(), s.ann, c.ID, 0); err != nil { // by itself, before
			t.Fatal(err)
		}
		_, err := s.Trash(t.Context(), s.ann, a.ID, 9)
		s.want(err, 412, "another version")
		trashed, err := s.Trash(t.Context(), s.ann, a.ID, 1)
		if err != nil || trashed.Status != "trash" {
			t.Fatalf("%+v, error %v", trashed, err)
		}
		s.whole()
		if got := s.titles(s.guest, "status=trash") + s.titles(s.guest, "include=all, body~=words") + "|" + s.titles(s.ann, "status=trash, sort=id"); got != "|A B C H" {
			t.Errorf("in the trash: %s", got)
		}
		_, err = s.Page(t.Context(), s.guest, a.ID)
		s.want(err, 404, "a guest sees the trash")
		for _, c := range []struct {
			by   *kernel.User
			want int
		}{{s.guest, 0}, {s.ann, 2}, {s.root, 2}} { // C and A went there themselves
			if list, _, err := s.Trashed(t.Context(), c.by, 0, 10); err != nil || len(list) != c.want {
				t.Errorf("%v sees %d pages in the trash, error %v", c.by.Roles, len(list), err)
			}
		}
		_, err = s.Save(t.Context(), s.ann, content.Edit{ID: a.ID, Title: new("x")})
		s.want(err, 409, "a change in the trash")
		_, err = s.Save(t.Context(), s.ann, content.Edit{Parent: a.ID, Template: "post", Title: new("x")})
		s.want(err, 409, "a page in the trash")
		_, err = s.Restore(t.Context(), s.ann, c.ID)
		s.want(err, 409, "a page whose parent is in the trash")
		_, err = s.Restore(t.Context(), s.ann, b.ID)
		s.want(err, 409, "a page that was trashed with its parent")
		s.post(s.top, "A", nil) // takes its name
		restored, err := s.Restore(t.Context(), s.ann, a.ID)
		if err != nil || restored.Path != "/a-2" || restored.Status != "published" {
			t.Fatalf("%+v, error %v", restored, err)
		}
		s.whole()
		if got := s.titles(s.guest, "has_parent=/a-2, include=hidden") + "|" + s.titles(s.ann, "status=trash"); got != "B H|C" {
			t.Errorf("restored: %s", got)
		}
		if page, err := s.Page(t.Context(), s.guest, hidden.ID); err != nil || page.Status != "hidden" {
			t.Errorf("%+v, error %v", page, err)
		}
		if restored, err := s.Restore(t.Context(), s.ann, c.ID); err != nil || restored.Path != "/a-2/b/c" {
			t.Errorf("%+v, error %v", restored, err)
		}
		s.want(s.Delete(t.Context(), s.ann, a.ID), 409, "deleting a page that is not in the trash")
		for _, id := range []int64{c.ID, a.ID} {
			if _, err := s.Trash(t.Context(), s.ann, id, 0); err != nil {
				t.Fatal(err)
			}
		}
		s.want(s.Delete(t.Context(), s.ann, b.ID), 409, "deleting a page that was trashed with its parent")
		if err := s.Delete(t.Context(), s.ann, a.ID); err != nil {
			t.Fatal(err)
		}
		s.whole()
		if got := s.titles(s.root, "status=trash"); got != "" {
			t.Errorf("left: %s", got)
		}
		_, err = s.Trash(t.Context(), s.root, adminPage(t, s), 0)
		s.want(err, 409, "the administration")
		mine := s.post(s.top, "Mine", nil)
		theirs, err := s.Save(t.Context(), s.root, content.Edit{Parent: mine.ID, Template: "hers", Title: new("Not mine")})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Trash(t.Context(), s.ann, mine.ID, 0)
		s.want(err, 403, "trashing a page above a page of others: "+theirs.Path)
		if _, err := s.Trash(t.Context(), s.root, mine.ID, 0); err != nil {
			t.Fatal(err)
		}
		_, err = s.Restore(t.Context(), s.ann, mine.ID)
		s.want(err, 403, "restoring a page above a page of others")
		s.want(s.Delete(t.Context(), s.ann, mine.ID), 403, "deleting a page above a page of others")
		if _, err := s.Restore(t.Context(), s.root, mine.ID); err != nil {
			t.Error(err)
		}
	})
}

func TestSchema(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		s.post(s.top, "A", map[string]any{"body": "words", "price": 5})
		none := content.Template{Name: "new", Fields: []string{"body"}, View: []string{"guest"}}
		created, err := s.SaveTemplate(t.Context(), s.root, none)
		if err != nil || created.ID == 0 || len(created.View) != 1 {
			t.Fatalf("%+v, error %v", created, err)
		}
		post, err := s.Template(t.Context(), s.ann, "post")
		if err != nil {
			t.Fatal(err)
		}
		post.Fields = []string{"price"}
		if _, err := s.SaveTemplate(t.Context(), s.root, *post); err != nil {
			t.Fatal(err)
		}
		if page, err := s.Get(t.Context(), s.guest, "title=a"); err != nil || len(page.Fields) != 1 || page.Fields["price"] != 5.0 {
			t.Errorf("%+v, error %v", page, err)
		}
		field := func(f content.Field) func() error {
			return func() error { _, err := s.SaveField(t.Context(), s.root, f); return err }
		}
		template := func(tt content.Template) func() error {
			return func() error { _, err := s.SaveTemplate(t.Context(), s.root, tt); return err }
		}
		body, err := s.Field(t.Context(), s.ann, "body")
		if err != nil {
			t.Fatal(err)
		}
		other := *body
		other.Type = "text"
		for name, c := range map[string]struct {
			act  func() error
			want int
		}{
			"a template twice":         {template(none), 422},
			"a template of no field":   {template(content.Template{Name: "x", Fields: []string{"none"}}), 422},
			"a field twice":            {template(content.Template{Name: "x", Fields: []string{"body", "body"}}), 422},
			"no role":                  {template(content.Template{Name: "x", View: []string{"none"}}), 422},
			"no family":                {template(content.Template{Name: "x", Family: content.Family{Children: []string{"none"}}}), 422},
			"a bad name":               {template(content.Template{Name: "x y"}), 422},
			"an unknown template":      {template(content.Template{ID: 99, Name: "x"}), 404},
			"a taken word":             {field(content.Field{Name: "parent", Type: "text"}), 422},
			"an unknown type":          {field(content.Field{Name: "x", Type: "none"}), 422},
			"options without":          {field(content.Field{Name: "x", Type: "options"}), 422},
			"settings of another":      {field(content.Field{Name: "x", Type: "text", Settings: content.Settings{Multiple: true}}), 422},
			"blocks in blocks":         {field(content.Field{Name: "x", Type: "blocks", Settings: content.Settings{Blocks: map[string][]string{"a": {"sections"}}}}), 422},
			"another type":             {field(other), 422},
			"a field in use":           {func() error { return s.DeleteField(t.Context(), s.root, "price") }, 409},
			"a field of blocks":        {func() error { return s.DeleteField(t.Context(), s.root, "summary") }, 409},
			"the title":                {func() error { return s.DeleteField(t.Context(), s.root, "title") }, 409},
			"a template in use":        {func() error { return s.DeleteTemplate(t.Context(), s.root, "post") }, 409},
			"a template of the system": {func() error { return s.DeleteTemplate(t.Context(), s.root, "admin") }, 409},
			"by an editor":             {func() error { return s.DeleteTemplate(t.Context(), s.ann, "new") }, 403},
		} {
			s.want(c.act(), c.want, name)
		}
		s.want(s.DeleteTemplate(t.Context(), s.root, "new"), 0, "deleting an unused template")
		templates, err := s.Templates(t.Context(), s.guest)
		if err != nil || len(templates) != 3 { // home, post, root
			t.Errorf("a guest sees %d templates, error %v", len(templates), err)
		}
		fields, err := s.Fields(t.Context(), s.guest)
		if err != nil || len(fields) != 2 {
			t.Errorf("a guest sees %d fields, error %v", len(fields), err)
		}
		if created, err := s.Install(t.Context()); err != nil || len(created) != 0 {
			t.Errorf("a second installation makes %v, error %v", created, err)
		}
	})
}
