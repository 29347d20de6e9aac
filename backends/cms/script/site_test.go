package script

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
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

func TestLoadSite(t *testing.T) {
	t.Parallel()
	handler.Register(handler.Class{Name: "ScriptSiteTest", Methods: map[string]handler.Func{"go": func(context.Context, *handler.Call) (any, error) { return "go", nil }}})
	tables := map[string]map[string]string{
		"php": {"api/Example.js": example, "api/Routes.php": `<?php
require_once __DIR__ . '/Example.js';
$routes = [
  ['OPTIONS', 'test', RestApiHelper::class, 'preflight', ['auth' => false]],
  ['GET', 'test', Example::class, 'test'],
  'users' => [ ['GET', '{id:\d+}', Example::class, 'getUser', ['auth' => false]] ],
  ['GET', 'go', ScriptSiteTest::class, 'go', ['roles' => ['editor']]],
];`},
		"js": {"api/Example.js": example, "api/Routes.js": `const { Example } = require('./Example.js');
module.exports = [
  ['OPTIONS', 'test', RestApiHelper, 'preflight', { auth: false }],
  ['GET', 'test', Example, 'test'],
  { users: [ ['GET', '{id:\\d+}', Example, 'getUser', { auth: false }] ] },
  ['GET', 'go', 'ScriptSiteTest', 'go', { roles: ['editor'] }],
];`},
	}
	var said []string
	for name, files := range tables {
		s, err := New(Options{Site: site(t, files)}).LoadSite()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var all []string
		for _, e := range s.Entries {
			if _, err := s.Resolve(e); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if e.At.Line == 0 || e.At.Column == 0 {
				t.Errorf("%s: no place: %+v", name, e)
			}
			e.At = routes.Position{}
			all = append(all, fmt.Sprintf("%+v", e))
		}
		said = append(said, strings.Join(all, "\n"))
	}
	if said[0] != said[1] || strings.Count(said[0], "\n") != 3 {
		t.Errorf("%s\n%s", said[0], said[1])
	}
}

func TestClassesOfOneName(t *testing.T) {
	t.Parallel()
	s, err := New(Options{Site: site(t, map[string]string{
		"api/v1/Posts.js": `exports.Posts = class { static list() { return 1 } }`, "api/v2/Posts.js": `module.exports = class Posts { static list() { return 2 } }`,
		"api/plain.js":  `exports.list = () => 3`,
		"api/Routes.js": `const { Posts } = require("./v1/Posts"), New = require("./v2/Posts"); module.exports = [{ v1: [["GET", "posts", Posts, "list"]], v2: [["GET", "posts", New, "list"]], v3: [["GET", "posts", require("./plain"), "list"]] }]`,
	})}).LoadSite()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"1", "2", "3"} {
		method, err := s.Resolve(s.Entries[i])
		if err != nil {
			t.Fatal(err)
		}
		if got, err := method(t.Context(), &handler.Call{}); err != nil || shown(got) != want {
			t.Errorf("%s: %s, %v", s.Entries[i].Endpoint, shown(got), err)
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
		{map[string]string{"api/x": ""}, "api/Routes.php: there is neither Routes.php nor Routes.js"},
		{map[string]string{"api/Routes.js": "", "api/Routes.php": "<?php $routes = [];"}, "api/Routes.js: there is Routes.php too"},
		{php("['GET', 'a', Posts::class, 'list']"), "api/Routes.php:3:12: handler class Posts is not loaded"},
		{php("['GET', 'a', Example::class, 'none']"), "api/Routes.php:3:12: class Example has no method none"},
		{map[string]string{"api/Routes.php": "<?php\nrequire 'None.js';\n$routes = [];"}, "api/Routes.php:2:9: there is no file 'api/None.js'"},
		{bad("class Example {\n  static test( { }\n}"), "api/Example.js:3:1: Unexpected token }"},
		{bad("return ) 1"), "api/Example.js:1:8: "},
		{bad("import x from 'y'"), "api/Example.js:1:"},
		{bad("\nnot.there = 1"), "api/Example.js:2:1: not is not defined"},
		{bad("x(); function x() { throw new Error('broken') }"), "api/Example.js:1:27: broken"},
		{bad("for (;;);"), "api/Example.js:1:"},
		{bad("const a = require('./none')"), "api/Example.js:1:18: there is no file 'api/none'"},
		{js("module.exports = 5"), "api/Routes.js: module.exports is not a list"},
		{js("module.exports = [\n  ['GET', 'a', undefined, 'x'],\n]"), "api/Routes.js:2:16: the handler class is undefined"},
		{js("module.exports = [['GET', 'a', class {}, 'x']]"), "api/Routes.js:1:32: this handler class is not exported"},
		{js("module.exports = [\n['GET', 'a', 'Example', 'x']]"), "api/Routes.js:2:1: handler class Example is not loaded"},
		{js("const { Example } = require('./Example');\nmodule.exports = [{ v1: [\n ['GET', 'a', Example, 'none']] }]"), "api/Routes.js:3:2: class Example has no method none"},
		{js("const { Example } = require('./Example');\nmodule.exports = [['GET', 'a', Example, 'test',\n { other: 1 }]]"), "api/Routes.js:3:4: "},
		{js("let a = []; for (let i = 0; i < 40; i++) a = [a]; module.exports = a"), "api/Routes.js:1:68: the routes nest deeper than 32"},
		{js("const a = []; a.push(a); module.exports = a"), "api/Routes.js:1:43: the routes nest deeper than 32"},
		{js("module.exports = [['GET', 'a', 'X', 'y', {get auth() { throw new Error('no') }}]]"), "api/Routes.js:1:"},
	} {
		l := NewLive(New(Options{Site: site(t, c.files), Timeout: 300 * time.Millisecond}), nil, nil)
		err := l.Reload()
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v\n got %v\nwant %s", c.files, err, c.want)
			continue
		}
		if _, ok := errors.AsType[*routes.Error](err); !ok || !errors.Is(l.Err(), err) || l.Current() != nil {
			t.Errorf("%T, %v", err, l.Err())
		}
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	l := NewLive(New(Options{Site: site(t, map[string]string{"api/Routes.php": "<?php\nrequire 'A.js';\n$routes = [];", "api/A.js": `class A {
  static a(data) {
    RestApiHelper.checkAndSanitizeRequiredParameters(data, ["name|text", "age|nope", "plain", "x|text20_entities"]);
    return sanitizer.unknown(data.a) + sanitizer.text(1) + sanitizer.apply(1, "odd") + sanitizer.valid(1, "int");
  }
}
exports.A = A`})}), nil, nil)
	if err := l.Reload(); err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, w := range l.Current().Warnings {
		said = append(said, w.Error())
	}
	want := "api/A.js:3:74: 'nope' is not a sanitizer\napi/A.js:4:22: 'unknown' is not a sanitizer\napi/A.js:4:79: 'odd' is not a sanitizer"
	if got := strings.Join(said, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func version(n int) string {
	return fmt.Sprintf("class Example { static version() { return %d } }\nmodule.exports = { Example };", n)
}

func find(t testing.TB, l *Live) (any, error) {
	t.Helper()
	m := l.Current().Table.Find(http.MethodGet, "version")
	if m.Route == nil {
		return nil, errors.New("no route")
	}
	return m.Route.Call(t.Context(), &handler.Call{})
}

// Files are reloaded when they have been left alone; bad ones leave the old in use.
func TestRun(t *testing.T) {
	t.Parallel()
	const table = "<?php require 'Example.js'; $routes = [['GET', 'version', Example::class, 'version']];"
	dir := site(t, map[string]string{"api/Routes.php": table, "api/Example.js": version(1)})
	synctest.Test(t, func(t *testing.T) {
		l := NewLive(New(Options{Site: dir}), nil, nil)
		if err := l.Reload(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		told := make(chan error, 10)
		var ended sync.WaitGroup
		ended.Go(func() { l.Run(ctx, func(err error) { told <- err }) })
		wait := func(name, text, want string, good bool) {
			t.Helper()
			synctest.Wait()
			write(t, dir, name, text)
			begun := time.Now()
			err := <-told
			if took := time.Since(begun); took < quiet || took > 2*time.Second {
				t.Errorf("%s: after %s", text, took)
			}
			if (err == nil) != good || (l.Err() == nil) != good {
				t.Errorf("%s: %v, %v", text, err, l.Err())
			}
			if got, err := find(t, l); err != nil || shown(got) != want {
				t.Errorf("%s: %s, %v", text, shown(got), err)
			}
		}
		wait("api/Example.js", version(22), "22", true)
		wait("api/Example.js", "class {", "22", false)
		wait("api/Example.js", version(3), "3", true)
		wait("api/Routes.php", "<?php", "3", false)
		wait("api/Routes.php", table+"\n", "3", true)
		cancel()
		ended.Wait()
		if len(told) != 0 {
			t.Errorf("told %d times more", len(told))
		}
	})
}

// No request is dropped while files are reloaded, and each is of one version.
func TestReloadUnderLoad(t *testing.T) {
	t.Parallel()
	dir := site(t, map[string]string{"api/Routes.js": "const { Example } = require('./Example'); module.exports = [['GET', 'version', Example, 'version']]", "api/Example.js": version(0)})
	l := NewLive(New(Options{Site: dir, Wait: 30 * time.Second}), nil, nil)
	if err := l.Reload(); err != nil {
		t.Fatal(err)
	}
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
				answered.Store(shown(got), true)
			}
		})
	}
	for i := range 10 {
		write(t, dir, "api/Example.js", version(i+1))
		if err := l.Reload(); err != nil {
			t.Error(err)
		}
		if got, err := find(t, l); err != nil || shown(got) != fmt.Sprint(i+1) {
			t.Errorf("%d: %s, %v", i+1, shown(got), err)
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
