package script

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
	"github.com/tollgate-gateway/tollgate/backends/cms/routes"
)

const example = `class Example {
  static test() { return "test successful" }
  static getUser(data) { return {id: data.id} }
}
module.exports = { Example };
`

// loaded is a site as requests see it.
type loaded struct {
	entries []routes.Entry
	program *Program
	table   *routes.Table
}

// loadSite reads the routes of either file and loads what they require.
func loadSite(e *Engine) (*loaded, error) {
	l := new(loaded)
	var value routes.Value
	php, err := os.ReadFile(filepath.Join(e.Site, "api", "Routes.php"))
	if err != nil {
		value, l.program, err = e.LoadTable()
	} else {
		var read routes.File
		if read, err = routes.Read("api/Routes.php", php); err != nil {
			return nil, err
		}
		value = read.Routes
		files := make([]string, len(read.Requires))
		for i, require := range read.Requires {
			files[i] = require.Path
		}
		l.program, err = e.Load(files...)
	}
	if err == nil {
		l.entries, err = routes.Entries(value)
	}
	if err != nil {
		return nil, err
	}
	l.table, err = routes.NewTable(l.entries, nil, func(e routes.Entry) (handler.Func, error) {
		class, _ := l.program.Class(e.Class)
		if method := class.Methods[e.Func]; method != nil || e.Class == "RestApiHelper" || e.Class == "Go" {
			return method, nil
		}
		return nil, fmt.Errorf("no %s.%s", e.Class, e.Func)
	})
	return l, err
}

func TestTable(t *testing.T) {
	t.Parallel()
	tables := map[string]map[string]string{
		"php": {"api/Example.js": example, "api/Routes.php": `<?php
require_once __DIR__ . '/Example.js';
$routes = [
  ['OPTIONS', 'test', RestApiHelper::class, 'preflight', ['auth' => false]],
  ['GET', 'test', Example::class, 'test'],
  'users' => [ ['GET', '{id:\d+}', Example::class, 'getUser', ['auth' => false]] ],
  ['GET', 'go', Go::class, 'go', ['roles' => ['editor']]],
];`},
		"js": {"api/Example.js": example, "api/Routes.js": `const { Example } = require('./Example.js');
module.exports = [
  ['OPTIONS', 'test', RestApiHelper, 'preflight', { auth: false }],
  ['GET', 'test', Example, 'test'],
  { users: [ ['GET', '{id:\\d+}', Example, 'getUser', { auth: false }] ] },
  ['GET', 'go', 'Go', 'go', { roles: ['editor'] }],
];`},
	}
	texts := make([]string, 0, len(tables))
	for name, files := range tables {
		s, err := loadSite(engine(t, Options{Site: site(t, files)}))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all := make([]string, 0, len(s.entries))
		for _, e := range s.entries {
			if e.At.Line == 0 || e.At.Column == 0 {
				t.Errorf("%s: an entry without a position: %+v", name, e)
			}
			e.At = routes.Position{}
			all = append(all, fmt.Sprintf("%+v", e))
		}
		texts = append(texts, strings.Join(all, "\n"))
	}
	if texts[0] != texts[1] || strings.Count(texts[0], "\n") != 3 {
		t.Errorf("the tables differ, or do not have 4 entries:\n%s\n\n%s", texts[0], texts[1])
	}
}

func TestClassesWithSameName(t *testing.T) {
	t.Parallel()
	s, err := loadSite(engine(t, Options{Site: site(t, map[string]string{
		"api/v1/Posts.js": `exports.Posts = class { static list() { return 1 } }`, "api/v2/Posts.js": `module.exports = class Posts { static list() { return 2 } }`,
		"api/plain.js":  `exports.list = () => 3`,
		"api/Routes.js": `const { Posts } = require("./v1/Posts"), New = require("./v2/Posts"); module.exports = [{ v1: [["GET", "posts", Posts, "list"]], v2: [["GET", "posts", New, "list"]], v3: [["GET", "posts", require("./plain"), "list"]] }]`,
	})}))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"1", "2", "3"} {
		m := s.table.Find(http.MethodGet, fmt.Sprintf("v%d/posts", i+1))
		if got, err := m.Route.Call(t.Context(), &handler.Call{}); err != nil || resultText(got) != want {
			t.Errorf("%s: %s, %v", m.Route.Endpoint, resultText(got), err)
		}
	}
}

func TestLoadErrors(t *testing.T) {
	t.Parallel()
	js := func(text string) map[string]string {
		return map[string]string{"api/Routes.js": text, "api/Example.js": example}
	}
	php := func(text string) map[string]string {
		return map[string]string{"api/Routes.php": "<?php\nrequire 'Example.js';\n$routes = [" + text + "];", "api/Example.js": example}
	}
	bad := func(text string) map[string]string {
		return map[string]string{"api/Routes.php": "<?php\nrequire 'Example.js';\n$routes = [];", "api/Example.js": text}
	}
	for _, c := range []struct {
		files map[string]string
		want  string
	}{
		{map[string]string{"api/x": ""}, "api/Routes.js: there is no file 'api/Routes.js'"},
		{php("['GET', 'a', Posts::class, 'list']"), "api/Routes.php:3:12: no Posts.list"},
		{map[string]string{"api/Routes.php": "<?php\nrequire 'None.js';\n$routes = [];"}, "api/None.js: there is no file 'api/None.js'"},
		{bad("class Example {\n  static test( { }\n}"), "api/Example.js:3:1: Unexpected token }"},
		{bad("return ) 1"), "api/Example.js:1:8: "},
		{bad("import x from 'y'"), "api/Example.js:1:"},
		{bad("\nnot.there = 1"), "api/Example.js:2:1: not is not defined"},
		{bad("x(); function x() { throw new Error('broken') }"), "api/Example.js:1:27: broken"},
		{bad("for (;;);"), "api/Example.js:1:"},
		{bad("module.exports = {get Example() { throw new Error('broken') }}"), "api/Example.js:1:41: broken"},
		{bad("module.exports = {get Example() { for (;;); }}"), "api/Example.js:1:"},
		{bad("module.exports = {Example: {get test() { throw new Error('broken') }}}"), "api/Example.js:1:48: broken"},
		{bad("module.exports = class { static get name() { throw new Error('broken') } }"), "api/Example.js:1:52: broken"},
		{bad("module.exports = new Proxy({}, {ownKeys() { throw new Error('broken') }})"), "api/Example.js:1:51: broken"},
		{bad("Object.defineProperty(module, 'exports', {get() { throw new Error('broken') }})"), "api/Example.js:1:57: broken"},
		{bad("throw {toString() { throw new Error('broken') }}"), "api/Example.js: an error whose message or code cannot be read"},
		{bad("throw {toString() { for (;;); }}"), "api/Example.js:1:"},
		{bad("cache.set('a', {get b() { for (;;); }})"), "api/Example.js"},
		{bad("const a = require('./none')"), "api/Example.js:1:18: there is no file 'api/none'"},
		{js("module.exports = 5"), "api/Routes.js: module.exports is not a list"},
		{js("module.exports = [\n  ['GET', 'a', undefined, 'x'],\n]"), "api/Routes.js:2:16: the handler class is undefined"},
		{js("module.exports = [['GET', 'a', class {}, 'x']]"), "api/Routes.js:1:32: this handler class is not exported"},
		{js("module.exports = [\n['GET', 'a', 'Example', 'x']]"), "api/Routes.js:2:1: no Example.x"},
		{js("const { Example } = require('./Example');\nmodule.exports = [{ v1: [\n ['GET', 'a', Example, 'none']] }]"), "api/Routes.js:3:2: no Example.none"},
		{js("const { Example } = require('./Example');\nmodule.exports = [['GET', 'a', Example, 'test',\n { other: 1 }]]"), "api/Routes.js:3:4: "},
		{js("let a = []; for (let i = 0; i < 40; i++) a = [a]; module.exports = a"), "api/Routes.js:1:68: the routes nest deeper than 32"},
		{js("const a = []; a.push(a); module.exports = a"), "api/Routes.js:1:43: the routes nest deeper than 32"},
		{js("module.exports = [['GET', 'a', 'X', 'y', {get auth() { throw new Error('no') }}]]"), "api/Routes.js:1:"},
	} {
		_, err := loadSite(engine(t, Options{Site: site(t, c.files), Timeout: 300 * time.Millisecond}))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v\n got %v\nwant %s", c.files, err, c.want)
			continue
		}
		if _, ok := errors.AsType[*routes.Error](err); !ok {
			t.Errorf("%T of %v", err, c.files)
		}
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	p, err := engine(t, Options{Site: site(t, map[string]string{"api/A.js": `class A {
  static a(data) {
    RestApiHelper.checkAndSanitizeRequiredParameters(data, ["name|text", "age|nope", "plain", "x|text20_entities"]);
    return sanitizer.unknown(data.a) + sanitizer.text(1) + sanitizer.apply(1, "odd") + sanitizer.valid(1, "int");
  }
}
exports.A = A`})}).Load("api/A.js")
	if err != nil {
		t.Fatal(err)
	}
	messages := make([]string, 0, 3)
	for _, w := range p.Warnings() {
		messages = append(messages, w.Error())
	}
	want := "api/A.js:3:74: 'nope' is not a sanitizer\napi/A.js:4:22: 'unknown' is not a sanitizer\napi/A.js:4:79: 'odd' is not a sanitizer"
	if got := strings.Join(messages, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func version(n int) string {
	return fmt.Sprintf("class Example { static version() { return %d } }\nmodule.exports = { Example };", n)
}

func find(t testing.TB, l *atomic.Pointer[loaded]) (any, error) {
	t.Helper()
	return l.Load().table.Find(http.MethodGet, "version").Route.Call(t.Context(), &handler.Call{})
}

// TestReloadUnderLoad checks that no request fails while files are reloaded, and that each one uses a single
// version.
func TestReloadUnderLoad(t *testing.T) {
	t.Parallel()
	dir := site(t, map[string]string{"api/Routes.js": "const { Example } = require('./Example'); module.exports = [['GET', 'version', Example, 'version']]", "api/Example.js": version(0)})
	e, l := engine(t, Options{Site: dir, Wait: 30 * time.Second}), new(atomic.Pointer[loaded])
	reload := func() {
		next, err := loadSite(e)
		if err != nil {
			t.Fatal(err)
		}
		l.Store(next)
	}
	reload()
	var done atomic.Bool
	var answered, all sync.Map
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			for !done.Load() {
				got, err := find(t, l)
				if err != nil {
					all.Store(err.Error(), true)
				}
				answered.Store(resultText(got), true)
			}
		})
	}
	for i := range 10 {
		write(t, dir, "api/Example.js", version(i+1))
		reload()
		if got, err := find(t, l); err != nil || resultText(got) != fmt.Sprint(i+1) {
			t.Errorf("%d: %s, %v", i+1, resultText(got), err)
		}
	}
	done.Store(true)
	clients.Wait()
	all.Range(func(err, _ any) bool { t.Errorf("dropped: %v", err); return true })
	versions := 0
	answered.Range(func(any, any) bool { versions++; return true })
	if versions < 2 {
		t.Errorf("%d versions were answered", versions)
	}
}
