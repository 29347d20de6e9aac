package content_test

import (
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/cms/content"
	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/backends/cms/migrations"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

var databases = storetest.Fixture{Schemas: migrations.Schemas()}

// site is a site with a template post, which guests view and ann edits and creates.
type site struct {
	*content.Content
	t                *testing.T
	guest, ann, root *kernel.User
	top              int64
	ahead            atomic.Int64
}

var begin = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func onBoth(t *testing.T, test func(t *testing.T, s *site)) {
	t.Helper()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) { test(t, newSite(t, db)) })
}

func newSite(t *testing.T, db *store.DB) *site {
	t.Helper()
	s := &site{t: t, guest: &kernel.User{ID: 1, Name: "guest", Roles: []string{"guest"}}, root: kernel.Site()}
	s.ann = &kernel.User{ID: 7, Name: "ann", Roles: []string{"editor", "guest"}}
	err := db.Write(t.Context(), func(c store.Conn) error {
		_, err := c.Exec("INSERT INTO cms_roles (name) VALUES ('editor')")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	key := []byte(strings.Repeat("k", 32))
	s.Content = content.New(&kernel.Server{
		DB: db, Logger: zap.NewNop, Key: func() []byte { return key },
		Now: func() time.Time { return begin.Add(time.Duration(s.ahead.Add(int64(time.Second)))) },
	})
	t.Cleanup(s.Close)
	created, err := s.Install(t.Context())
	if err != nil || !slices.Equal(created, []string{"/", "/home", "/admin", "/admin/users"}) {
		t.Fatal(created, err)
	}
	page, err := s.At(t.Context(), s.root, "/")
	if err != nil {
		t.Fatal(err)
	}
	s.top = page.ID
	lo := 0.0
	for _, f := range []content.Field{
		{Name: "body", Type: content.TypeTextarea},
		{Name: "summary", Type: content.TypeText, Required: true},
		{Name: "price", Type: content.TypeFloat, Settings: content.Settings{Min: &lo}},
		{Name: "stock", Type: content.TypeInt},
		{Name: "sold", Type: content.TypeBool},
		{Name: "starts", Type: content.TypeDatetime},
		{Name: "mail", Type: content.TypeEmail},
		{Name: "link", Type: content.TypeURL},
		{Name: "author", Type: content.TypePage},
		{Name: "related", Type: content.TypePage, Settings: content.Settings{Multiple: true, Most: 3}},
		{Name: "tags", Type: content.TypeOptions, Settings: content.Settings{Multiple: true, Options: []string{"Red", "Green", "Blue"}}},
		{Name: "pictures", Type: content.TypeFile},
		{Name: "extra", Type: content.TypeJSON},
		{Name: "sections", Type: content.TypeBlocks, Settings: content.Settings{Blocks: map[string][]string{"quote": {"body", "author"}, "heading": {"summary"}}}},
	} {
		if _, err := s.SaveField(t.Context(), s.root, f); err != nil {
			t.Fatal(err)
		}
	}
	guests, editors := []string{"guest"}, []string{"editor"}
	fields := []string{"body", "price", "stock", "sold", "starts", "mail", "link", "author", "related", "tags", "pictures", "extra", "sections"}
	for _, template := range []content.Template{
		{Name: "post", Fields: fields, View: guests, Edit: editors, Create: editors},
		{Name: "secret", Fields: []string{"summary"}, View: editors, Edit: editors, Create: editors, Family: content.Family{NoChildren: true}},
		{Name: "hers", Fields: []string{"body"}, View: editors},
	} {
		if _, err := s.SaveTemplate(t.Context(), s.root, template); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// post makes a published one.
func (s *site) post(parent int64, title string, fields map[string]any) *content.Page {
	s.t.Helper()
	return s.save(content.Edit{Parent: parent, Template: "post", Title: &title, Status: new("published"), Fields: fields})
}

func (s *site) save(e content.Edit) *content.Page {
	s.t.Helper()
	page, err := s.Save(s.t.Context(), s.ann, e)
	if err != nil {
		s.t.Fatal(err)
	}
	return page
}

// titles returns the titles of the pages that match a selector.
func (s *site) titles(u *kernel.User, selector string) string {
	s.t.Helper()
	list, err := s.Find(s.t.Context(), u, selector)
	if err != nil {
		s.t.Fatalf("%s: %v", selector, err)
	}
	titles := make([]string, 0, len(list.Pages))
	for _, page := range list.Pages {
		titles = append(titles, page.Title)
	}
	n, err := s.Count(s.t.Context(), u, selector)
	if err != nil || list.Next == "" && list.Start == 0 && n != int64(len(titles)) {
		s.t.Errorf("%s: counts %d of %d, error %v", selector, n, len(titles), err)
	}
	return strings.Join(titles, " ")
}

// want fails the test unless err has the given status, which is 0 for no error. name describes the case.
func (s *site) want(err error, status int, name string) {
	s.t.Helper()
	if kernel.Status(err) != status {
		s.t.Errorf("%s: error %v, want the status %d", name, err, status)
	}
}

func TestSelectors(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		blog := s.post(s.top, "Blog", nil)
		long := strings.Repeat("Ünïcode ", 40)
		a := s.post(blog.ID, "Alpha", map[string]any{
			"body": "The quick brown fox\r\njumps over it's \"dog\"", "price": 2.5, "stock": 3, "sold": true, "starts": "2026-05-01", "mail": "Ann@Example.com", "link": "/x", "tags": []any{"Red", "Blue"},
			"sections": []any{map[string]any{"type": "quote", "body": "Buried words", "author": blog.ID}, map[string]any{"type": "heading", "summary": "Deep"}},
		})
		s.post(blog.ID, "Beta", map[string]any{"body": "quick fox brown 100%_sure \\", "price": 10, "sold": false, "starts": 1780000000, "author": a.ID, "related": []any{blog.ID, a.ID, a.ID}, "tags": "Green"})
		s.post(blog.ID, "gamma", map[string]any{"body": long + "end", "stock": 0, "extra": map[string]any{"n": []any{1, "two", nil}}})
		hidden := s.save(content.Edit{Parent: blog.ID, Template: "post", Title: new("Hidden"), Status: new("hidden")})
		s.save(content.Edit{Parent: blog.ID, Template: "post", Title: new("Draft")})
		s.save(content.Edit{Parent: hidden.ID, Template: "secret", Title: new("Secret"), Status: new("published"), Fields: map[string]any{"summary": "s"}})
		s.post(s.top, "Other", nil)
		for _, c := range []struct{ selector, guest, ann string }{
			{"template=post", "Blog Alpha Beta gamma Other", "Blog Alpha Beta gamma Other"},
			{"template=post, sort=title", "Alpha Beta Blog gamma Other", "Alpha Beta Blog gamma Other"},
			{"template=post, sort=-title, limit=2", "Other gamma", "Other gamma"},
			{"template=post, sort=-created, start=1, limit=2", "gamma Beta", "gamma Beta"},
			{"template=post|secret", "Blog Alpha Beta gamma Other", "Blog Alpha Beta gamma Secret Other"},
			{"template=secret", "", "Secret"},
			{"template=hers", "", ""},
			{"template=admin, include=all", "", ""},
			{"parent=/blog, include=all", "Alpha Beta gamma Hidden", "Alpha Beta gamma Hidden Draft"},
			{"parent=/blog, include=unpublished", "Alpha Beta gamma", "Alpha Beta gamma Draft"},
			{"parent=/blog, status=hidden|unpublished", "Hidden", "Hidden Draft"},
			{"parent=/blog, status!=published, include=hidden", "Hidden", "Hidden"},
			{"parent=/blog, sort=sort, sort=-title", "Alpha Beta gamma", "Alpha Beta gamma"},
			{"has_parent=/blog/", "Alpha Beta gamma", "Alpha Beta gamma Secret"},
			{"has_parent!=/blog, template=post", "Blog Other", "Blog Other"},
			{"title=ALPHA", "Alpha", "Alpha"},
			{"title=alpha|GAMMA", "Alpha gamma", "Alpha gamma"},
			{"parent=/blog, title!=Alpha|Beta", "gamma", "gamma"},
			{"title^=al", "Alpha", "Alpha"},
			{"title$=TA", "Beta", "Beta"},
			{"title%=lph", "Alpha", "Alpha"},
			{"template=post, title>b, title<c", "Blog Beta", "Blog Beta"},
			{"body*='brown fox'", "Alpha", "Alpha"},
			{"body~=fox brown", "Alpha Beta", "Alpha Beta"},
			{"body~=fox cat", "", ""},
			{"body*='jumps over it s dog'", "Alpha", "Alpha"},
			{"body%='100%_sure'", "Beta", "Beta"},
			{"body%='0%s'", "", ""},
			{`body$=\`, "Beta", "Beta"},
			{`body%="""dog"""`, "Alpha", "Alpha"},
			{"body%=ünïcode end", "gamma", "gamma"},
			{"body$=end", "gamma", "gamma"},
			{"body='" + long + "end'", "gamma", "gamma"},
			{"body='" + long + "'", "", ""},
			{"body^='" + long + "'", "gamma", "gamma"},
			{"body~=ÜNÏCODE END", "gamma", "gamma"},
			{"title|body%=quick|gamma", "Alpha Beta gamma", "Alpha Beta gamma"},
			{"parent=/blog, body=''", "", ""},
			{"parent=/blog, body!=''", "Alpha Beta gamma", "Alpha Beta gamma"},
			{"price=2.5", "Alpha", "Alpha"},
			{"price>2.5", "Beta", "Beta"},
			{"price>=2.5, price<=10", "Alpha Beta", "Alpha Beta"},
			{"parent=/blog, price=''", "gamma", "gamma"},
			{"parent=/blog, price!=10", "Alpha gamma", "Alpha gamma"},
			{"parent=/blog, sort=-price", "Beta Alpha gamma", "Beta Alpha gamma"},
			{"parent=/blog, sort=price", "gamma Alpha Beta", "gamma Alpha Beta"},
			{"sold=1", "Alpha", "Alpha"},
			{"parent=/blog, sold=false", "Beta gamma", "Beta gamma"},
			{"starts=2026-05-01", "Alpha", "Alpha"},
			{"starts>=1780000000", "Beta", "Beta"},
			{"starts<2026-05-01T00:00:01Z", "Alpha", "Alpha"},
			{"mail=ann@example.com", "Alpha", "Alpha"},
			{"tags=red", "Alpha", "Alpha"},
			{"tags=red|green, sort=id", "Alpha Beta", "Alpha Beta"},
			{"tags=red, tags=blue", "Alpha", "Alpha"},
			{"parent=/blog, tags!=red", "Beta gamma", "Beta gamma"},
			{"author=/blog/alpha", "Beta", "Beta"},
			{"related=/blog", "Beta", "Beta"},
			{"related=/blog/alpha|/none", "Beta", "Beta"},
			{"author!=/blog/alpha, parent=/blog", "Alpha gamma", "Alpha gamma"},
			{"sections%=buried", "Alpha", "Alpha"},
			{"sections~=deep", "Alpha", "Alpha"},
			{"name=alpha", "Alpha", "Alpha"},
			{"name^=al|be", "Alpha Beta", "Alpha Beta"},
			{"path=/BLOG/alpha/", "Alpha", "Alpha"},
			{"path^=/blog/", "Alpha Beta gamma", "Alpha Beta gamma Secret"},
			{"created>2030-01-01", "", ""},
			{"template=post, published>=2026-01-01", "Blog Alpha Beta gamma Other", "Blog Alpha Beta gamma Other"},
			{"id=0", "", ""},
			{"body~='quick fox', template=post, price>5", "Beta", "Beta"},
		} {
			if got := s.titles(s.guest, c.selector); got != c.guest {
				t.Errorf("guest: %s: %q, want %q", c.selector, got, c.guest)
			}
			if got := s.titles(s.ann, c.selector); got != c.ann {
				t.Errorf("ann: %s: %q, want %q", c.selector, got, c.ann)
			}
		}
		if got := s.titles(s.root, "include=all, sort=id"); got != "Root Home Administration Users Blog Alpha Beta gamma Hidden Draft Secret Other" {
			t.Errorf("a superuser sees %s", got)
		}
		if page, err := s.Get(t.Context(), s.guest, "title=hidden"); err != nil || page.ID != hidden.ID {
			t.Errorf("%v, error %v", page, err)
		}
		_, err := s.Get(t.Context(), s.guest, "title=secret")
		s.want(err, 404, "a secret")
		_, err = s.Find(t.Context(), s.guest, "title=x, colour=red")
		s.want(err, 400, "an unknown field")
		if err == nil || !strings.Contains(err.Error(), "character 10") {
			t.Error(err)
		}
	})
}

// TestLargePages checks that a list of large pages is cut before it takes much memory.
func TestLargePages(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t))
	if _, err := s.SaveField(t.Context(), s.root, content.Field{Name: "novel", Type: content.TypeTextarea, Settings: content.Settings{Most: 262_144}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.SaveTemplate(t.Context(), s.root, content.Template{Name: "book", Fields: []string{"novel"}, View: []string{"guest"}, Edit: []string{"editor"}, Create: []string{"editor"}}); err != nil {
		t.Fatal(err)
	}
	const answer = 8 << 20 // of the API
	novel := strings.Repeat("本", 262_144)
	var last *content.Page
	for range 18 {
		last = s.save(content.Edit{Parent: s.top, Template: "book", Title: new("Book"), Status: new("published"), Fields: map[string]any{"novel": novel}})
	}
	fits := func(name string, value any) {
		t.Helper()
		if text, err := json.Marshal(value); err != nil || len(text) > answer || len(text) < answer/2 {
			t.Errorf("%s has %d bytes, error %v", name, len(text), err)
		}
	}
	found, next := 0, ""
	for n := 0; n == 0 || next != ""; n++ {
		list, err := s.Find(t.Context(), s.guest, "template=book, limit=500, after="+next)
		if err != nil || len(list.Pages) == 0 {
			t.Fatalf("%d pages, error %v", len(list.Pages), err)
		}
		if n == 0 {
			fits("a list", list)
		}
		found, next = found+len(list.Pages), list.Next
	}
	if found != 18 {
		t.Errorf("found %d pages", found)
	}

	for i := range 12 {
		s.save(content.Edit{ID: last.ID, Fields: map[string]any{"novel": novel[3*(i+1):]}})
	}
	revisions, err := s.Revisions(t.Context(), s.ann, last.ID)
	if err != nil || revisions[0].Revision != 12 {
		t.Fatalf("got %d revisions, error %v; want the first to be revision 12", len(revisions), err)
	}
	fits("the revisions of a page", revisions)

	for id := last.ID; id > last.ID-18; id-- {
		if _, err := s.Trash(t.Context(), s.ann, id, 0); err != nil {
			t.Fatal(err)
		}
	}
	trashed := 0
	for n, before := 0, int64(0); n == 0 || before != 0; n++ {
		list, next, err := s.Trashed(t.Context(), s.ann, before, 500)
		if err != nil || len(list) == 0 {
			t.Fatalf("%d pages, error %v", len(list), err)
		}
		if n == 0 {
			fits("the trash", list)
		}
		trashed, before = trashed+len(list), next
	}
	if trashed != 18 {
		t.Errorf("%d pages are in the trash, want 18", trashed)
	}
}

// TestCursors checks that a list that is read page by page contains each page once, in any order.
func TestCursors(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		for i := range 7 {
			s.post(s.top, "Page "+string(rune('a'+i%3)), map[string]any{"price": i / 2, "body": strings.Repeat("x", i)})
		}
		s.post(s.top, "None", nil)
		for _, order := range []string{"", "sort=-created", "sort=title", "sort=-title, sort=price", "sort=-price, sort=-id", "sort=price, sort=body", "sort=starts", "parent=/, template=post", "sort=name", "sort=-parent"} {
			all := s.titles(s.guest, "template=post, "+strings.TrimPrefix(order+", limit=500", ", "))
			for limit := 1; limit <= 3; limit++ {
				var titles []string
				for after := ""; ; {
					list, err := s.Find(t.Context(), s.guest, strings.TrimPrefix(order+", template=post, limit="+string(rune('0'+limit))+", after="+after, ", "))
					if err != nil {
						t.Fatalf("%s: %v", order, err)
					}
					for _, page := range list.Pages {
						titles = append(titles, page.Title)
					}
					if after = list.Next; after == "" || len(titles) > 20 {
						break
					}
				}
				if got := strings.Join(titles, " "); got != all {
					t.Errorf("%s, %d at a time: %s, want %s", order, limit, got, all)
				}
			}
		}
	})
}

// TestExtensions checks the spellings of extensions that a field accepts.
func TestExtensions(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t))
	created, err := s.SaveField(t.Context(), s.root, content.Field{Name: "photos", Type: content.TypeFile, Settings: content.Settings{Extensions: []string{".jpg", "PNG"}}})
	if err != nil || !slices.Equal(created.Settings.Extensions, []string{"jpg", "png"}) {
		t.Errorf("%+v, %v", created, err)
	}
	if _, err := s.SaveField(t.Context(), s.root, content.Field{Name: "papers", Type: content.TypeFile, Settings: content.Settings{Extensions: []string{"."}}}); kernel.Status(err) != 422 {
		t.Error(err)
	}
}

// TestKnownTemplates checks that users who may edit or create pages of a template see the template, even if they
// may not view its pages.
func TestKnownTemplates(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t))
	for _, f := range []content.Field{{Name: "note", Type: content.TypeText}, {Name: "wish", Type: content.TypeText}} {
		if _, err := s.SaveField(t.Context(), s.root, f); err != nil {
			t.Fatal(err)
		}
	}
	editors := []string{"editor"}
	for _, created := range []content.Template{{Name: "inner", Fields: []string{"note"}, Edit: editors}, {Name: "letter", Fields: []string{"wish"}, Create: editors}} {
		if _, err := s.SaveTemplate(t.Context(), s.root, created); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Template(t.Context(), s.ann, created.Name); err != nil || !slices.Equal(got.Fields, created.Fields) {
			t.Errorf("%s: %v, %v", created.Name, got, err)
		}
		if _, err := s.Field(t.Context(), s.ann, created.Fields[0]); err != nil {
			t.Error(err)
		}
		if _, err := s.Template(t.Context(), s.guest, created.Name); !kernel.IsNotFound(err) {
			t.Errorf("a guest knows %s: %v", created.Name, err)
		}
		if _, err := s.Field(t.Context(), s.guest, created.Fields[0]); !kernel.IsNotFound(err) {
			t.Errorf("a guest knows %s: %v", created.Fields[0], err)
		}
	}
}
