package cms_test

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/cms/settings"
	"github.com/tollgate-gateway/tollgate/internal/pages/pagestest"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// office is the administration of a site under test.
type office struct {
	*site
	url string
}

func newOffice(t *testing.T, db *store.DB) *office {
	t.Helper()
	s := newSite(t, db, settings.Settings{Auth: settings.Session, Content: settings.ContentWrite})
	server := httptest.NewServer(s.server)
	t.Cleanup(server.Close)
	return &office{s, server.URL}
}

// as opens a browser in which somebody has signed in.
func (o *office) as(name, password string) *pagestest.Browser {
	o.Helper()
	b := pagestest.New(o.T, o.url, true)
	b.Get("/admin/login").Want(200, "Sign in").Send("/admin/login", "name", name, "password", password, "next", "/").Want(200, "Sign out")
	return b
}

// fields returns what the form of a page sends, with some values replaced.
func fields(p *pagestest.Page, set ...string) url.Values {
	v := p.Fields()
	for i := 0; i+1 < len(set); i += 2 {
		v.Set(set[i], set[i+1])
	}
	return v
}

var onePage = regexp.MustCompile(`/admin/pages/(\d+)$`)

// made returns the ID of the page to which a form has redirected.
func made(p *pagestest.Page) string {
	p.T.Helper()
	found := onePage.FindStringSubmatch(p.Want(200).Where())
	if found == nil {
		p.T.Fatalf("it leads to %s: %s", p.Where(), p.Text)
	}
	return found[1]
}

func TestAdmin(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		o := newOffice(t, db)
		ann := o.as("ann", o.password)
		// The session of the administration is not valid for the API.
		if got := o.do("GET", "/api/content/fields", ""); got.Code != http.StatusUnauthorized {
			t.Errorf("%d %s", got.Code, got.Body)
		}
		signed := o.do("POST", "/api/auth", o.login(), "Origin", "http://example.com")
		o.cookie = signed.Result().Cookies()[0].Value

		// Fields and a template.
		ann.Get("/admin/field").Want(200).Send("/admin/field", "new", "1", "name", "id", "type", "text").Want(422, "problem")
		for _, f := range [][]string{
			{"name", "body", "type", "textarea", "label", "The text"},
			{"name", "stars", "type", "int", "min", "1", "max", "5"},
			{"name", "day", "type", "datetime"},
			{"name", "colours", "type", "options", "multiple", "1", "options", "red\ngreen"},
			{"name", "near", "type", "page", "multiple", "1"},
			{"name", "papers", "type", "file", "extensions", "txt"},
			{"name", "parts", "type", "blocks", "blocks", "quote: body stars"},
			{"name", "seen", "type", "bool"},
			{"name", "extra", "type", "json"},
		} {
			ann.Get("/admin/field").Send("/admin/field", append(f, "new", "1")...).Want(200, "Saved.")
		}
		ann.Get("/admin/field?name=stars").Want(200, `value="5"`).Send("/admin/field?name=stars", "min", "1", "max", "x").Want(422, "This is not a number")
		ann.Get("/admin/fields").Want(200, "colours", "blocks")
		ann.Get("/admin/template").Send("/admin/template", "new", "1", "name", "story", "label", "Story",
			"fields", "body stars day colours near papers parts seen extra", "view", "guest").Want(200, "Saved.", "Story")
		ann.Get("/admin/templates").Want(200, "story", "body, stars")

		// A page is created, and errors are shown beside the inputs.
		root := ann.Get("/admin/").Want(200, "New page below")
		id := root.Where()[strings.LastIndex(root.Where(), "/")+1:]
		ann.Get("/admin/new?parent="+id).Want(200, ">Story</option>")
		form := ann.Get("/admin/new?parent="+id+"&template=story").Want(200, "The text", "Create the page")
		wrong := ann.Post("/admin/new", fields(form, "title", "One <b>", "status", "published", "f-stars", "9", "f-extra", "{", "f-body", "typed\r\ntext")).
			Want(422, "Extra: this is not JSON", "typed\ntext", "One &lt;b&gt;")
		wrong = ann.Post("/admin/new", fields(wrong, "title", "One <b>", "status", "published", "f-stars", "9")).Want(422, "above the maximum", `value="9"`)
		first := made(ann.Post("/admin/new", fields(wrong, "title", "One <b>", "status", "published", "f-stars", "4", "f-extra", `{"a":[1]}`, "f-body", "typed\r\ntext",
			"f-day", "2026-03-04T05:06:07", "f-colours", "green", "f-near", "/ "+id, "f-parts.add", "quote", "f-seen", "1")))
		page := ann.Get("/admin/pages/"+first).Want(200, `value="4"`, `value="2026-03-04T05:06:07"`, `value="green" checked`, "&#34;a&#34;", "typed\ntext", "<legend>quote</legend>", `name="f-seen" value="1" checked`)
		if page.Hidden("version") != "1" {
			t.Errorf("version %q", page.Hidden("version"))
		}
		got := o.do("GET", "/api/content/pages/"+first, "")
		for _, want := range []string{`"stars":4`, `"colours":["green"]`, `"day":"2026-03-04T05:06:07Z"`, `"extra":{"a":[1]}`, `"seen":true`, `"type":"quote"`} {
			if got.Code != 200 || !strings.Contains(got.Body.String(), want) {
				t.Fatalf("%d %s lacks %s", got.Code, got.Body, want)
			}
		}
		ann.Get("/admin/").Want(200, "One &lt;b&gt;", "story")
		ann.Get("/admin/find?q=one").Want(200, "One &lt;b&gt;")
		ann.Get("/admin/find?q="+url.QueryEscape("stars>3, template=story")).Want(200, "One &lt;b&gt;")
		ann.Get("/admin/find?q="+url.QueryEscape("nothing=1")).Want(400, "nothing")
		ann.Get("/admin/find?template=story&status=published").Want(200, "One &lt;b&gt;", `value="story" selected`)
		ann.Get("/admin/find?template=story&status=hidden").Want(200, "No page is found by these filters.")
		ann.Get("/admin/find").Want(200, "One &lt;b&gt;", "Root")
		ann.Get("/admin/find?format=csv&template=story").Want(200, "One <b>,/one-b,story,published,")
		// Several at once; the page of the system stays.
		tree := ann.Get("/admin/").Want(200, "Unpublish").Where()
		ann.Get(tree).Send(tree, "do", "unpublish", "row", first).Want(200, first+" was unpublished.", ">unpublished<")
		ann.Get(tree).Send(tree, "do", "publish", "row", first+" One", "row", "99999 gone").Want(409, "1 of 2 pages was published.", "Gone: ")
		page = ann.Get("/admin/pages/" + first)

		// On a conflict, the second editor sees the change of the first.
		other := ann.Get("/admin/pages/" + first)
		ann.Post("/admin/pages/"+first, fields(page, "title", "Two", "status", "published", "f-stars", "3", "do", "save")).Want(200, "Saved.")
		clash := ann.Post("/admin/pages/"+first, fields(other, "title", "Mine", "status", "published", "f-stars", "5", "do", "save")).Want(409, "Somebody else has changed this", "<del>Two</del>", "<ins>Mine</ins>")
		ann.Post("/admin/pages/"+first, fields(clash, "title", "Mine", "status", "published", "f-stars", "5", "do", "save")).Want(200, "Saved.", `value="Mine"`)

		// Blocks are filled and taken out.
		page = ann.Get("/admin/pages/" + first)
		page = ann.Post("/admin/pages/"+first, fields(page, "title", "Mine", "status", "published", "f-parts.0.type", "quote", "f-parts.0.body", "said", "f-parts.0.at", "3", "f-parts.add", "quote", "do", "save")).Want(200, ">said</textarea>")
		if n := strings.Count(page.Text, "<legend>quote</legend>"); n != 2 {
			t.Errorf("%d blocks", n)
		}

		// A draft beside the page, published then.
		draft := ann.Post("/admin/pages/"+first, fields(page, "title", "Later", "do", "draft")).Want(200, "The draft is saved.", "This is the draft")
		if got := o.do("GET", "/api/content/pages/"+first, ""); !strings.Contains(got.Body.String(), `"title":"Mine"`) {
			t.Errorf("the draft is served: %s", got.Body)
		}
		link := regexp.MustCompile(`<code class="secret">([^<]*)</code>`).FindStringSubmatch(draft.Send("/admin/pages/"+first+"/act", "do", "preview").Want(200).Text)
		if link == nil {
			t.Fatal("no link to a preview")
		}
		pagestest.New(t, o.url, true).Get(link[1]).Want(200, `"title":"Later"`)
		// A file is added to the draft, and becomes visible to everybody with its publication.
		draft = o.upload(ann, first, "papers", "late.txt", "late").Want(200, "The file is uploaded.", "This is the draft", "late.txt")
		if got := o.do("GET", "/api/content/pages/"+first, ""); strings.Contains(got.Body.String(), "late.txt") {
			t.Errorf("the file of the draft is served: %s", got.Body)
		}
		ann.Post("/admin/pages/"+first, fields(draft, "title", "Lost", "version", "x", "do", "draft")).Want(400, "Version must be a number")
		// If two users change the draft, the second sees the changes of the draft, not those of the published page.
		late := draft
		draft = ann.Post("/admin/pages/"+first, fields(draft, "title", "Theirs", "do", "draft")).Want(200, "The draft is saved.")
		ann.Post("/admin/pages/"+first, fields(late, "title", "Ours", "do", "draft")).Want(409, "Somebody else has changed this", "<del>Theirs</del>", "<ins>Ours</ins>")
		clash = ann.Post("/admin/pages/"+first, fields(late, "title", "Theirs", "do", "draft")).Want(409, "Somebody else has changed this")
		if strings.Contains(clash.Text, "<del>Mine</del>") {
			t.Error("the typed values are compared with the published page instead of the draft")
		}
		ann.Post("/admin/pages/"+first, fields(draft, "title", "Later still", "do", "publish")).Want(200, "Published.", "Later still", "late.txt")
		if got := o.do("GET", "/api/content/pages/"+first, ""); !strings.Contains(got.Body.String(), "late.txt") {
			t.Errorf("the file of the draft is gone: %s", got.Body)
		}

		// Revisions.
		history := ann.Get("/admin/pages/"+first+"/revisions").Want(200, "by ann", "<del>Mine")
		history.Send("/admin/pages/"+first+"/act", "do", "revert", "revision", history.Hidden("revision"), "version", history.Hidden("version")).Want(200, "The revision is restored.", `value="Mine"`)

		// Files.
		o.upload(ann, first, "papers", "note.exe", "x").Want(422, "extensions are txt")
		page = o.upload(ann, first, "papers", "note.txt", "a note").Want(200, "The file is uploaded.", "note.txt")
		file := regexp.MustCompile(`/admin(/files/\d+)"`).FindStringSubmatch(page.Text)
		ann.Get("/admin"+file[1]).Want(200, "a note")
		ann.Post("/admin/pages/"+first, fields(page, "title", "Mine", "status", "published", "f-papers.gone", file[1][len("/files/"):], "do", "save")).Want(200).Lacks("note.txt")

		// Moving, trash and deletion.
		second := made(ann.Post("/admin/new", fields(ann.Get("/admin/new?parent="+id+"&template=story"), "title", "Shelf", "status", "published")))
		ann.Get("/admin/pages/"+first).Send("/admin/pages/"+first+"/act", "do", "move", "to", "/nowhere").Want(422, "There is no page at this path")
		ann.Get("/admin/pages/"+first).Send("/admin/pages/"+first+"/act", "do", "move", "to", "/shelf").Want(200, "Moved.", "/shelf/one")
		ann.Get("/admin/tree/"+second).Want(200, "Mine")
		ann.Get("/admin/pages/"+first).Send("/admin/pages/"+first+"/act", "do", "trash").Want(200, "The page is in the trash.")
		ann.Get("/admin/trash").Want(200, "Mine").Send("/admin/trash", "one", "restore "+first+" Mine").Want(200, "Mine was restored.")
		ann.Get("/admin/pages/"+first).Send("/admin/pages/"+first+"/act", "do", "trash").Want(200)
		ann.Get("/admin/trash").Send("/admin/trash", "one", "delete "+first+" Mine").Want(200, "cannot be restored").
			Send("/admin/trash", "do", "delete", "row", first+" Mine", "sure", "1").Want(200, "Mine was deleted.", "The trash is empty.")
		ann.Get("/admin/pages/" + first).Want(404)
	})
}

// TestAdminTabs sends the forms to sign in and out of tabs that were open before somebody signed in or out.
func TestAdminTabs(t *testing.T) {
	t.Parallel()
	o := newOffice(t, databases.SQLite(t))
	b := pagestest.New(t, o.url, true)
	first, second := b.Get("/admin/login"), b.Get("/admin/login?next=/field")
	first.Send("/admin/login", "name", "ann", "password", o.password).Want(200, "Sign out")
	second.Send("/admin/login", "name", "bob", "password", "").Want(200, "You are signed in as ann")
	out, twice := b.Get("/admin/"), b.Get("/admin/")
	out.Send("/admin/logout").Want(200, "You are signed out")
	twice.Send("/admin/logout").Want(200, "You are signed out")
}

// upload sends a file by the form of a page.
func (o *office) upload(b *pagestest.Browser, id, field, name, text string) *pagestest.Page {
	o.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for _, pair := range [][2]string{{"token", b.Get("/admin/pages/" + id).Hidden("token")}, {"field", field}} {
		if err := form.WriteField(pair[0], pair[1]); err != nil {
			o.Fatal(err)
		}
	}
	w, err := form.CreateFormFile("file", name)
	if err != nil {
		o.Fatal(err)
	}
	_, _ = w.Write([]byte(text)) // memory
	if err := form.Close(); err != nil {
		o.Fatal(err)
	}
	return b.Do(http.MethodPost, "/admin/pages/"+id+"/files", body.String(), "Content-Type", form.FormDataContentType())
}

// TestAdminPeople checks users and roles, and that a page requires the same permission as the API.
func TestAdminPeople(t *testing.T) {
	t.Parallel()
	o := newOffice(t, databases.SQLite(t))
	ann := o.as("ann", o.password)
	ann.Get("/admin/roles/new").Send("/admin/roles/new", "name", "editor", "label", "Editor", "permissions", "admin").Want(200, "Saved.")
	ann.Get("/admin/roles").Want(200, "editor", "superuser")
	ann.Get("/admin/users/new").Send("/admin/users/new", "name", "bob", "password", "short").Want(422, "at least 10 characters", `value="bob"`)
	bobAt := ann.Get("/admin/users/new").Send("/admin/users/new", "name", "bob", "password", "correct horse battery", "roles", "editor", "email", "bob@example.com").Want(200, "The user is created.", "bob@example.com").Where()
	ann.Get("/admin/users?q=b").Want(200, "bob").Lacks(">ann</bdi></a>")

	bob := o.as("bob", "correct horse battery")
	bob.Get("/admin/").Want(200).Lacks("/admin/users", "/admin/settings", "/admin/templates")
	for _, path := range []string{"/admin/users", "/admin/users/new", "/admin/roles", "/admin/settings", "/admin/routes", "/admin/templates", "/admin/field", "/admin/template"} {
		bob.Get(path).Want(403)
		pagestest.New(t, o.url, false).Get(path).Leads("/admin/login?next=")
	}
	token := bob.Get("/admin/account").Want(200)
	token.Send("/admin/users/new", "name", "carol", "password", "correct horse battery").Want(403)
	token.Send("/admin/settings", "auth", "none").Want(403)
	bob.Get("/admin/trash").Want(200, "The trash is empty.")
	if root := bob.Get("/admin/"); strings.Contains(root.Text, "New page below") {
		t.Error("a user without a role that may create pages can create one")
	}
	bob.Post("/admin/account", url.Values{"email": {"x@example.com"}}).Want(403) // without a token
	token.Send("/admin/account", "email", "bob@example.net", "password", "another horse battery", "present", "wrong").Want(401)
	token.Send("/admin/account", "email", "bob@example.net", "password", "another horse battery", "present", "correct horse battery").Want(200, "Your password is changed")
	bob = o.as("bob", "another horse battery")
	ann.Get("/admin/users?status=disabled").Want(200, "No user is found by these filters.")
	ann.Get("/admin/users?role=editor").Want(200, ">bob</bdi></a>", `value="editor" selected`).Lacks(">ann</bdi></a>")
	ann.Get(bobAt).Send(bobAt, "do", "disable").Want(200, "bob was disabled.", ">disabled<", "Activate")
	ann.Get("/admin/users?status=disabled&format=csv").Want(200, "Name,Mail address,Roles,Status,Since\r\nbob,")
	if got := bob.Get("/admin/"); !strings.HasPrefix(got.Where(), "/admin/login") {
		t.Errorf("a disabled user is at %s, want the sign-in page", got.Where())
	}
	ann.Get("/admin/users").Send("/admin/users", "do", "delete", "sure", "1", "row", bobAt[len("/admin/users/"):]+" bob", "row", "1 guest").Want(409, "1 of 2 users was deleted.", "the guest cannot be deleted")

	// A user without permissions can sign in, but sees no page.
	ann.Get("/admin/users/new").Send("/admin/users/new", "name", "dan", "password", "correct horse battery").Want(200)
	dan := pagestest.New(t, o.url, true)
	dan.Get("/admin/login").Send("/admin/login", "name", "dan", "password", "correct horse battery", "next", "/").Want(403, "the permission admin")

	guess := pagestest.New(t, o.url, true)
	for range 5 {
		guess.Get("/admin/login").Send("/admin/login", "name", "ann", "password", "wrong").Want(401, "Login not successful")
	}
	if got := guess.Get("/admin/login").Send("/admin/login", "name", "ann", "password", o.password).Want(429); got.Header.Get("Retry-After") == "" {
		t.Errorf("%v", got.Header)
	}
	ann.Get("/admin/account").Send("/admin/logout").Want(200, "You are signed out.")
	if got := ann.Get("/admin/"); !strings.HasPrefix(got.Where(), "/admin/login") {
		t.Errorf("signed out, at %s", got.Where())
	}
}

// TestAdminSite checks that settings take effect at once, and that the pages show errors of the routes.
func TestAdminSite(t *testing.T) {
	t.Parallel()
	o := newOffice(t, databases.SQLite(t))
	ann := o.as("ann", o.password)
	secret := o.server.Settings().Current().JWTSecret
	set := ann.Get("/admin/settings").Want(200, `value="session" selected`).Lacks(secret)
	set.Send("/admin/settings", "auth", "jwt", "endpoint", "Not A Path").Want(422, "endpoint-problem", "Not A Path")
	set.Send("/admin/settings", "auth", "jwt", "endpoint", "admin").Want(422, "needs another path")
	set.Send("/admin/settings", "auth", "jwt", "origins", "app.example.com").Want(422, "origins-problem")
	set.Send("/admin/settings", "auth", "jwt", "endpoint", "rest", "origins", "https://app.example.com", "jwtSeconds", "600").Want(200, "Saved.", `value="jwt" selected`, `value="rest"`)
	if now := o.server.Settings().Current(); now.JWTSecret != secret || now.Auth != "jwt" || now.JWTSeconds != 600 {
		t.Errorf("settings %+v", now)
	}
	if got := o.do("GET", "/rest/go/echo", ""); got.Code != 200 {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	set.Send("/admin/settings", "auth", "jwt", "endpoint", "rest", "fresh", "1").Want(200, "Saved.")
	if o.server.Settings().Current().JWTSecret == secret {
		t.Error("the secret has not been replaced")
	}

	ann.Get("/admin/routes").Want(200, "/rest/go/secret", "GoTest.echo", "editor", "Routes.php:", "built in").Lacks("are not in use")
	file := filepath.Join(o.folder, "api", "Routes.php")
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("<?php\n$routes = [\n  ['GET', 'x', Nobody::class, 'y'],\n];\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ann.Get("/admin/routes").Send("/admin/routes").Want(200, "are not in use", "Routes.php:3", "Nobody", "/rest/go/secret")
	if err := os.WriteFile(file, good, 0o600); err != nil {
		t.Fatal(err)
	}
	ann.Get("/admin/routes").Send("/admin/routes").Want(200, "The files are reloaded.").Lacks("are not in use")
}
