package transfer_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/cms/accounts"
	"github.com/tollgate-gateway/tollgate/backends/cms/content"
	"github.com/tollgate-gateway/tollgate/backends/cms/files"
	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/backends/cms/migrations"
	"github.com/tollgate-gateway/tollgate/backends/cms/transfer"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

var databases = storetest.Fixture{Schemas: migrations.Schemas()}

func newSite(t *testing.T, db *store.DB) transfer.Site {
	t.Helper()
	server := &kernel.Server{DB: db, Logger: zap.NewNop, Now: time.Now, Site: t.TempDir(), Key: func() []byte { return make([]byte, 32) }}
	s := transfer.Site{Accounts: accounts.New(server), Pages: content.New(server)}
	s.Files = files.New(server, s.Pages)
	t.Cleanup(s.Pages.Close)
	t.Cleanup(s.Accounts.Close)
	if _, err := s.Pages.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func ok[T any](t *testing.T) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// fill makes a site with something of everything.
func fill(t *testing.T, s transfer.Site) {
	t.Helper()
	site := kernel.Site()
	ok[*accounts.Role](t)(s.Accounts.SaveRole(t.Context(), site, accounts.Role{Name: "editor", Permissions: []string{"users"}}))
	for _, f := range []content.Field{
		{Name: "body", Type: content.TypeTextarea, Required: true},
		{Name: "author", Type: content.TypePage, Required: true},
		{Name: "also", Type: content.TypePage, Settings: content.Settings{Multiple: true}},
		{Name: "blocks", Type: content.TypeBlocks, Settings: content.Settings{Blocks: map[string][]string{"quote": {"body", "author"}}}},
		{Name: "pictures", Type: content.TypeFile},
	} {
		ok[*content.Field](t)(s.Pages.SaveField(t.Context(), site, f))
	}
	ok[*content.Template](t)(s.Pages.SaveTemplate(t.Context(), site, content.Template{Name: "post", Fields: []string{"body", "author", "also", "blocks", "pictures"}, View: []string{"guest"}, Edit: []string{"editor"}}))
	blog := content.Template{Name: "blog", Label: "A blog", Family: content.Family{Children: []string{"post"}}, Fields: []string{"body"}}
	ok[*content.Template](t)(s.Pages.SaveTemplate(t.Context(), site, blog))
	author := ok[*content.Field](t)(s.Pages.Field(t.Context(), site, "author"))
	author.Settings.Templates = []string{"post"}
	ok[*content.Field](t)(s.Pages.SaveField(t.Context(), site, *author))
	save := func(e content.Edit, title, status string) *content.Page {
		e.Title, e.Status = &title, &status
		return ok[*content.Page](t)(s.Pages.Save(t.Context(), site, e))
	}
	top := ok[*content.Page](t)(s.Pages.At(t.Context(), site, "/"))
	list := save(content.Edit{Parent: top.ID, Template: "blog", Fields: map[string]any{"body": "x"}}, "Blog", "published")
	a := save(content.Edit{Parent: list.ID, Template: "post"}, "A <first> & one", "unpublished")
	b := save(content.Edit{Parent: list.ID, Template: "post", Fields: map[string]any{"body": "b", "author": a.ID}}, "B", "hidden")
	save(content.Edit{ID: a.ID, Fields: map[string]any{"author": b.ID, "also": []any{b.ID, list.ID}, "blocks": []any{map[string]any{"type": "quote", "body": "q", "author": b.ID}}}}, "A <first> & one", "unpublished")
	trashed := save(content.Edit{Parent: list.ID, Template: "post"}, "Gone", "unpublished")
	ok[*content.Page](t)(s.Pages.Trash(t.Context(), site, trashed.ID, 0))
	for name, body := range map[string]string{"a.txt": strings.Repeat("0123456789", 30_000), "b.txt": "b"} {
		page := ok[*content.Page](t)(s.Files.Receive(t.Context(), site, content.Place{Page: b.ID, Field: "pictures"}, name, strings.NewReader(body)))
		items, _ := page.Fields["pictures"].([]any)
		last, _ := items[len(items)-1].(map[string]any)
		last["description"] = "what is in " + name
		ok[*content.Page](t)(s.Pages.Save(t.Context(), site, content.Edit{ID: b.ID, Fields: map[string]any{"pictures": items}}))
	}
}

func export(t *testing.T, s transfer.Site) string {
	t.Helper()
	var out bytes.Buffer
	ok[transfer.Done](t)(s.Export(t.Context(), &out))
	return out.String()
}

// TestTransfer checks that a site that has imported an export yields the same export.
func TestTransfer(t *testing.T) {
	t.Parallel()
	for name, newDB := range map[string]func(testing.TB) *store.DB{"sqlite to postgres": databases.Postgres, "sqlite to sqlite": databases.SQLite} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source, target := newSite(t, databases.SQLite(t)), newSite(t, newDB(t))
			fill(t, source)
			text := export(t, source)
			var progress transfer.Done
			target.Progress = func(d transfer.Done) { progress = d }
			done := ok[transfer.Done](t)(target.Import(t.Context(), strings.NewReader(text)))
			if done.Pages != 7 || done.Files != 2 || done.Fields != 6 || done.Templates != 6 || progress.Pages != 7 {
				t.Errorf("imported %+v, progress reported %+v", done, progress)
			}
			same := func() {
				t.Helper()
				// Pages of the installation have times of their own, and an imported role gets no permissions.
				got, want := plain(t, export(t, target)), plain(t, strings.Replace(text, `"permissions":["users"]`, `"permissions":[]`, 1))
				if got != want {
					t.Errorf("exports\n%s\nwant\n%s", got, want)
				}
			}
			same()
			ok[transfer.Done](t)(target.Import(t.Context(), strings.NewReader(text))) // again: nothing is there twice
			same()
			page, err := target.Pages.Get(t.Context(), kernel.Site(), "name=b, template=post")
			if err != nil {
				t.Fatal(err)
			}
			items, _ := page.Fields["pictures"].([]any)
			for _, item := range items {
				item, _ := item.(map[string]any)
				id, _ := item["id"].(float64)
				_, body, err := target.Files.Open(t.Context(), kernel.Site(), int64(id))
				if err != nil {
					t.Fatal(err)
				}
				raw, err := io.ReadAll(body)
				if _ = body.Close(); err != nil || float64(len(raw)) != item["size"] {
					t.Errorf("%v: %d bytes, error %v", item, len(raw), err)
				}
			}
		})
	}
}

// TestFilesWithSameName checks that files of a page with the same name and size stay separate, even after a second
// import.
func TestFilesWithSameName(t *testing.T) {
	t.Parallel()
	source, target := newSite(t, databases.SQLite(t)), newSite(t, databases.SQLite(t))
	fill(t, source)
	page := ok[*content.Page](t)(source.Pages.At(t.Context(), kernel.Site(), "/blog/b"))
	for _, body := range []string{"x", "y", "y"} { // beside b.txt of b
		ok[*content.Page](t)(source.Files.Receive(t.Context(), kernel.Site(), content.Place{Page: page.ID, Field: "pictures"}, "b.txt", strings.NewReader(body)))
	}
	text := export(t, source)
	for range 2 {
		ok[transfer.Done](t)(target.Import(t.Context(), strings.NewReader(text)))
		page = ok[*content.Page](t)(target.Pages.At(t.Context(), kernel.Site(), "/blog/b"))
		items := page.Fields["pictures"].([]any)
		bodies := make([]string, 0, len(items))
		for _, item := range items {
			_, body, err := target.Files.Open(t.Context(), kernel.Site(), int64(item.(map[string]any)["id"].(float64)))
			if err != nil {
				t.Fatal(err)
			}
			raw := ok[[]byte](t)(io.ReadAll(body))
			if bodies = append(bodies, string(raw[:1])); body.Close() != nil {
				t.Error("not closed")
			}
		}
		slices.Sort(bodies)
		if got := strings.Join(bodies, ""); got != "0bxyy" {
			t.Errorf("files of %s", got)
		}
	}
}

// TestScheduledTimesAreExported checks that the scheduled times of pages are exported, but not those of drafts, which
// are not exported either.
func TestScheduledTimesAreExported(t *testing.T) {
	t.Parallel()
	source, target := newSite(t, databases.SQLite(t)), newSite(t, databases.SQLite(t))
	fill(t, source)
	site := kernel.Site()
	top := ok[*content.Page](t)(source.Pages.At(t.Context(), site, "/blog"))
	soon := kernel.Moment(time.Now().Add(time.Hour).Truncate(time.Second).UnixMicro())
	later := soon + 1e6
	unpublished, hidden, title := "unpublished", "hidden", "Later"
	post := content.Edit{Parent: top.ID, Template: "post", Title: &title, Status: &unpublished, PublishAt: &soon, UnpublishAt: &later}
	ok[*content.Page](t)(source.Pages.Save(t.Context(), site, post))
	title = "Drafted"
	fields := map[string]any{"body": "x", "author": ok[*content.Page](t)(source.Pages.At(t.Context(), site, "/blog/b")).ID}
	page := ok[*content.Page](t)(source.Pages.Save(t.Context(), site, content.Edit{Parent: top.ID, Template: "post", Title: &title, Status: &hidden, Fields: fields, UnpublishAt: &later}))
	ok[*content.Page](t)(source.Pages.Save(t.Context(), site, content.Edit{ID: page.ID, Draft: true, Fields: map[string]any{"body": "y"}, PublishAt: &soon}))
	ok[transfer.Done](t)(target.Import(t.Context(), strings.NewReader(export(t, source))))
	for path, want := range map[string][2]kernel.Moment{"/blog/later": {soon, later}, "/blog/drafted": {0, later}} {
		got := ok[*content.Page](t)(target.Pages.At(t.Context(), site, path))
		if got.PublishAt != want[0] || got.UnpublishAt != want[1] {
			t.Errorf("%s: published at %d, unpublished at %d, want %v", path, got.PublishAt, got.UnpublishAt, want)
		}
	}
}

// cut is a reader that returns an error instead of io.EOF, like an export that is interrupted.
type cut struct{ io.Reader }

var errCut = errors.New("cut off")

func (c cut) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		err = errCut
	}
	return n, err
}

// TestInterruptedImport checks that a template that an interrupted import leaves has its family, or does not exist, and
// that repeating the import completes it.
func TestInterruptedImport(t *testing.T) {
	t.Parallel()
	source := newSite(t, databases.SQLite(t))
	fill(t, source)
	text := export(t, source)
	lines := strings.SplitAfter(text, "\n")
	want := plain(t, strings.Replace(text, `"permissions":["users"]`, `"permissions":[]`, 1))
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		target := newSite(t, db)
		site := kernel.Site()
		checkFamily := func(name, want string) {
			t.Helper()
			template, err := target.Pages.Template(t.Context(), site, name)
			if err != nil && !kernel.IsNotFound(err) {
				t.Fatal(err)
			}
			if err == nil && strings.Join(template.Family.Children, " ") != want {
				t.Errorf("the children of template %s are %q, want %q", name, template.Family.Children, want)
			}
		}
		// The other site has this template, too.
		ok[*content.Template](t)(target.Pages.SaveTemplate(t.Context(), site, content.Template{Name: "blog", Family: content.Family{Children: []string{"home"}}}))
		first := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, `{"page":`) })
		for n := 1; n < len(lines)-1; n++ {
			if _, err := target.Import(t.Context(), cut{strings.NewReader(strings.Join(lines[:n], ""))}); err == nil {
				t.Fatalf("the import of the first %d lines returned no error", n)
			}
			if n <= first {
				checkFamily("blog", "home")
				if _, err := target.Pages.Template(t.Context(), site, "post"); !kernel.IsNotFound(err) {
					t.Errorf("after %d lines: template post: got error %v, want not found", n, err)
				}
				continue
			}
			checkFamily("blog", "post")
			author := ok[*content.Field](t)(target.Pages.Field(t.Context(), site, "author"))
			if !slices.Equal(author.Settings.Templates, []string{"post"}) {
				t.Errorf("after %d lines: the templates of field author are %q, want post", n, author.Settings.Templates)
			}
		}
		ok[transfer.Done](t)(target.Import(t.Context(), strings.NewReader(text)))
		// An import may also be interrupted between a file and its description.
		page := ok[*content.Page](t)(target.Pages.At(t.Context(), site, "/blog/b"))
		items := page.Fields["pictures"].([]any)
		delete(items[0].(map[string]any), "description")
		ok[*content.Page](t)(target.Pages.Save(t.Context(), site, content.Edit{ID: page.ID, Fields: map[string]any{"pictures": items}}))
		ok[transfer.Done](t)(target.Import(t.Context(), strings.NewReader(text)))
		if got := plain(t, export(t, target)); got != want {
			t.Errorf("exports\n%s\nwant\n%s", got, want)
		}
	})
}

// TestImportIgnoresFamilies checks that pages keep their places even if families no longer allow them, and that
// templates may follow after pages.
func TestImportIgnoresFamilies(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t))
	text := `{"cms":1}
{"template":{"name":"shelf","label":"","system":false,"fields":[],"family":{"children":["book","shelf"]},"view":[],"edit":[],"create":[]}}
{"page":{"path":"/shelf","template":"shelf","title":"Shelf","status":"published","sort":1,"fields":{},"created":"2026-01-02T03:04:05.000Z","modified":"2026-01-02T03:04:05.000Z"}}
{"page":{"path":"/shelf/odd","template":"home","title":"Odd","status":"published","sort":1,"fields":{},"created":"2026-01-02T03:04:05.000Z","modified":"2026-01-02T03:04:05.000Z"}}
{"template":{"name":"book","label":"","system":false,"fields":[],"family":{"parents":["shelf"]},"view":[],"edit":[],"create":[]}}
{"page":{"path":"/book","template":"book","title":"Book","status":"published","sort":1,"fields":{},"created":"2026-01-02T03:04:05.000Z","modified":"2026-01-02T03:04:05.000Z"}}
{"end":{}}
`
	if _, err := s.Import(t.Context(), strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), "the template home allows only one page") {
		t.Errorf("%v, want that the template home allows only one page", err)
	}
	text = strings.Replace(text, `"template":"home"`, `"template":"shelf"`, 1)
	text = strings.Replace(text, `["book","shelf"]`, `["book"]`, 1)
	done := ok[transfer.Done](t)(s.Import(t.Context(), strings.NewReader(text)))
	if done.Templates != 2 || done.Pages != 3 {
		t.Errorf("%+v", done)
	}
	if shelf := ok[*content.Template](t)(s.Pages.Template(t.Context(), kernel.Site(), "shelf")); !slices.Equal(shelf.Family.Children, []string{"book"}) {
		t.Errorf("%+v", shelf)
	}
	if _, err := s.Pages.Save(t.Context(), kernel.Site(), content.Edit{Parent: 1, Template: "book", Title: new("x")}); kernel.Status(err) != 422 {
		t.Errorf("a book at the root: %v", err)
	}
	_, err := s.Import(t.Context(), strings.NewReader("{\"cms\":1}\n{\"field\":{\"name\":\"a\",\"type\":\"text\"}}\n{\"field\":{\"name\":\"b\",\"type\":\"none\"}}\n{\"end\":{}}\n"))
	if err == nil || !strings.Contains(err.Error(), "line 3") {
		t.Errorf("%v, want the line of the field", err)
	}
	if _, err := s.Pages.Field(t.Context(), kernel.Site(), "a"); !kernel.IsNotFound(err) {
		t.Errorf("the field before it is there: %v", err)
	}
}

// plain returns an export without the times of the system's pages.
func plain(t *testing.T, text string) string {
	t.Helper()
	var out strings.Builder
	for line := range strings.Lines(text) {
		var parsed map[string]any
		if err := json.Unmarshal([]byte(line), &parsed); err != nil {
			t.Fatal(err)
		}
		if page, found := parsed["page"].(map[string]any); found {
			if page["template"] != "post" && page["template"] != "blog" {
				for _, name := range []string{"created", "published"} {
					delete(page, name)
				}
			}
		}
		if _, found := parsed["chunk"]; found { // the parts of a file
			continue
		}
		encoded, err := json.Marshal(parsed)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(encoded, '\n'))
	}
	return out.String()
}

// TestForeignSystemTemplate checks that imported templates are not system templates, whatever the file contains, so
// that they can be deleted.
func TestForeignSystemTemplate(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t))
	text := `{"cms":1}
{"template":{"name":"mine","label":"","system":true,"fields":[],"family":{},"view":["guest"],"edit":[],"create":[]}}
{"template":{"name":"home","label":"Start","system":false,"fields":[],"family":{"one":true},"view":["guest"],"edit":[],"create":[]}}
{"end":{}}
`
	ok[transfer.Done](t)(s.Import(t.Context(), strings.NewReader(text)))
	if home := ok[*content.Template](t)(s.Pages.Template(t.Context(), kernel.Site(), "home")); !home.System || home.Label != "Start" {
		t.Errorf("%+v", home)
	}
	if err := s.Pages.DeleteTemplate(t.Context(), kernel.Site(), "mine"); err != nil {
		t.Error(err)
	}
}

func TestMalformedExports(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t))
	for text, want := range map[string]struct {
		line int
		is   string
	}{
		"":                          {1, "not an export"},
		"{}":                        {1, "not an export"},
		`{"cms":2}`:                 {1, "another version"},
		"{\"cms\":1}\n":             {1, "last lines are missing"},
		"{\"cms\":1}\n{\"none\":1}": {2, "unknown field"},
		"{\"cms\":1}\n{}\n":         {2, "contains none of the objects"},
		"{\"cms\":1}\n{\"page\":{\"path\":\"/a/b\",\"template\":\"post\",\"title\":\"x\",\"status\":\"published\"}}\n{\"end\":{}}": {3, "page /a/b: the parent page /a does not exist"},
		"{\"cms\":1}\n{\"file\":{\"page\":\"/\",\"field\":\"x\",\"name\":\"a.txt\",\"size\":3}}\n{\"chunk\":\"eHh4eA==\"}":         {2, "have no field of type file"},
		"{\"cms\":1}\n" + strings.Repeat("x", 5<<20): {1, "too long"},
	} {
		_, err := s.Import(t.Context(), strings.NewReader(text))
		var e *transfer.LineError
		if !errors.As(err, &e) || e.Line != want.line || !strings.Contains(err.Error(), want.is) {
			t.Errorf("%.60s: %v, want line %d, %s", text, err, want.line, want.is)
		}
	}
}
