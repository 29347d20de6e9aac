package binding_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/cms/accounts"
	"github.com/tollgate-gateway/tollgate/backends/cms/binding"
	"github.com/tollgate-gateway/tollgate/backends/cms/content"
	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/backends/cms/migrations"
	"github.com/tollgate-gateway/tollgate/backends/cms/script"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

var databases = storetest.Fixture{Schemas: migrations.Schemas()}

// TestScripts checks that scripts access the content and the accounts with the rights of their user.
func TestScripts(t *testing.T) {
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		key := []byte(strings.Repeat("k", 32))
		k := &kernel.Server{DB: db, Logger: zap.NewNop, Now: time.Now, Key: func() []byte { return key }}
		pages, people := content.New(k), accounts.New(k)
		t.Cleanup(pages.Close)
		t.Cleanup(people.Close)
		if _, err := pages.Install(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := people.Install(t.Context(), "root"); err != nil {
			t.Fatal(err)
		}
		if _, err := pages.SaveField(t.Context(), kernel.Site(), content.Field{Name: "body", Type: content.TypeTextarea}); err != nil {
			t.Fatal(err)
		}
		if _, err := pages.SaveTemplate(t.Context(), kernel.Site(), content.Template{Name: "post", Fields: []string{"body"}, View: []string{"guest"}}); err != nil {
			t.Fatal(err)
		}
		site := t.TempDir()
		if err := os.Mkdir(filepath.Join(site, "api"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(site, "api", "A.js"), []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := script.New(script.Options{
			Site: site, Pages: binding.Pages(pages), Users: binding.Users(people), Templates: binding.Templates(pages), Fields: binding.Fields(pages),
		}).Load("api/A.js")
		if err != nil {
			t.Fatal(err)
		}
		class, _ := p.Class("A")
		guest := handler.User{Name: "guest", Roles: []string{"guest"}}
		for _, c := range []struct {
			method string
			user   handler.User
			want   string
		}{
			{"add", *kernel.Site(), `["post","hello-there","/hello-there","Hello there","published","text"]`},
			{"add", guest, "403 "},
			{"find", guest, `[1,["Hello there"],1,"Hello there","Hello there"]`},
			{"save", guest, "403 "},
			{"save", *kernel.Site(), `["New","text"]`},
			{"old", *kernel.Site(), "412 "},
			{"none", guest, `[null,null,null,null,null]`},
			{"bad", guest, "400 "},
			{"odd", *kernel.Site(), "400 the title of a page must be a string"},
			{"people", guest, `[true,null,"root",true,["guest","superuser"],true]`},
			{"shapes", *kernel.Site(), `[["body"],"textarea",true,true]`},
			{"trash", guest, "403 "},
			{"trash", *kernel.Site(), "0"},
		} {
			value, err := class.Methods[c.method](t.Context(), &handler.Call{User: c.user})
			text, _ := value.(json.RawMessage)
			got := string(text)
			if e, ok := handler.Of(err); ok {
				got = strings.TrimSpace(map[int]string{400: "400 ", 403: "403 ", 412: "412 "}[e.Code] + e.Message)
			} else if err != nil {
				got = err.Error()
			}
			if got != c.want && (!strings.HasSuffix(c.want, " ") || !strings.HasPrefix(got, c.want)) {
				t.Errorf("%s by %s\n got %s\nwant %s", c.method, c.user.Name, got, c.want)
			}
		}
	})
}

const source = `
class A {
  static add() {
    const p = pages.add({template: "post", parent: "/", title: "Hello there", status: "published", body: "text"});
    return [p.template, p.name, p.path, p.title, p.status, p.body];
  }
  static find() {
    const list = pages.find("template=post, sort=title");
    return [list.length, list.map((p) => p.title), pages.count("template=post"), pages.get("/hello-there").title, pages.get(list[0].id).title];
  }
  static save() {
    const p = pages.get("template=post");
    p.title = "New";
    const saved = pages.save(p);
    return [saved.title, saved.body];
  }
  static old() { const p = pages.get("template=post"); return pages.save(p.id, {version: 1, title: "Old"}) }
  static none() { return [pages.get("template=post, title=none"), pages.get("/none"), pages.get(999999), users.get("none"), users.get(999999)] }
  static bad() { return pages.find("nothing=1") }
  static odd() { return pages.add({template: "post", parent: "/", title: 5}) }
  static people() {
    const [root, none] = users.find();
    return [none === undefined, users.get("guest"), root.name, users.get(root.id).name === users.get("root").name, root.roles, root.email === undefined];
  }
  static shapes() { return [templates.get("post").fields, fields.get("body").type, templates.all().length > 1, fields.get("none") === null] }
  static trash() { pages.trash(pages.get("template=post")); return pages.count("template=post") }
}
module.exports = { A };
`
