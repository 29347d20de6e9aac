package routes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
)

func found(Entry) (handler.Func, error) {
	return func(context.Context, *handler.Call) (any, error) { return nil, nil }, nil
}

// table makes a table of lines of a method and an endpoint.
func table(lines ...string) (*Table, error) {
	entries := make([]Entry, 0, len(lines))
	for i, line := range lines {
		method, endpoint, _ := strings.Cut(line, " ")
		entries = append(entries, Entry{Method: method, Endpoint: strings.Trim(endpoint, "/"), Class: "X", Func: "y", Options: Defaults(), At: Position{"R", i + 1, 1}})
	}
	defaults := []Entry{{Method: "*", Class: "RestApiHelper", Func: "noEndPoint"}, {Method: "POST", Endpoint: "auth", Class: "Auth", Func: "login"}}
	return NewTable(entries, defaults, found)
}

func TestFind(t *testing.T) {
	t.Parallel()
	tab, err := table(
		"GET test", "GET users", `GET users/{id:\d+}`, "POST users", "DELETE users/{id}", "GET users/{name}/posts",
		"GET v1/posts", "GET v2/posts", "GET pages[/{lang:[a-z]{2}}[/{name}]]", "GET files/{path:.+}", "GET list[.json]",
		"GET {any}/special", "* hook/{x}", "HEAD only", "PUT only", "GET range/{from:(a|b)+}-{to}", "GET users/new", "GET both", "HEAD both",
		"GET a-{x}", "PROPFIND dav", `GET opt[/{y:\d*}]`, "GET lang/de", "POST lang/{l}",
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ request, route, params, allow string }{
		{"GET test", "GET test", "", ""},
		{"GET /test/", "GET test", "", ""},
		{"GET tests", "", "", ""},
		{"GET Test", "", "", ""},
		{"GET users/7", `GET users/{id:\d+}`, "id=7", ""},
		{"GET users/abc", "", "", "DELETE"},
		{"DELETE users/abc", "DELETE users/{id}", "id=abc", ""},
		{"PUT users/7", "", "", "DELETE GET HEAD"},
		{"PUT users", "", "", "GET HEAD POST"},
		{"GET users/new", "GET users/new", "", ""},
		{"DELETE users/new", "DELETE users/{id}", "id=new", ""},
		{"GET users/ann/posts", "GET users/{name}/posts", "name=ann", ""},
		{"GET users/ann/posts/7", "", "", ""},
		{"GET users//posts", "", "", ""},
		{"GET v1/posts", "GET v1/posts", "", ""},
		{"GET v2/posts", "GET v2/posts", "", ""},
		{"GET v3/posts", "", "", ""},
		{"GET pages", "GET pages[/{lang:[a-z]{2}}[/{name}]]", "", ""},
		{"GET pages/de", "GET pages[/{lang:[a-z]{2}}[/{name}]]", "lang=de", ""},
		{"GET pages/de/x", "GET pages[/{lang:[a-z]{2}}[/{name}]]", "lang=de name=x", ""},
		{"GET pages/deu", "", "", ""},
		{"GET files/a/b/c.txt", "GET files/{path:.+}", "path=a/b/c.txt", ""},
		{"GET files", "", "", ""},
		{"GET list.json", "GET list[.json]", "", ""},
		{"GET list", "GET list[.json]", "", ""},
		{"GET list.xml", "", "", ""},
		{"GET anything/special", "GET {any}/special", "any=anything", ""},
		{"GET files/special", "GET files/{path:.+}", "path=special", ""},
		{"BREW hook/7", "* hook/{x}", "x=7", ""},
		{"HEAD users", "GET users", "", ""},
		{"HEAD only", "HEAD only", "", ""},
		{"GET only", "", "", "HEAD PUT"},
		{"HEAD both", "HEAD both", "", ""},
		{"HEAD users/7", `GET users/{id:\d+}`, "id=7", ""},
		{"GET range/abba-z", "GET range/{from:(a|b)+}-{to}", "from=abba to=z", ""},
		{"GET a-b", "GET a-{x}", "x=b", ""},
		{"GET a-", "", "", ""},
		{"GET opt", `GET opt[/{y:\d*}]`, "", ""},
		{"GET opt/12", `GET opt[/{y:\d*}]`, "y=12", ""},
		{"POST lang/de", "POST lang/{l}", "l=de", ""},
		{"PUT lang/de", "", "", "GET HEAD POST"},
		{"GET ", "* ", "", ""},
		{"HEAD ", "* ", "", ""},
		{"POST auth", "POST auth", "", ""},
		{"GET auth", "", "", "POST"},
		{"GET " + strings.Repeat("a/", 5000), "", "", ""},
	} {
		method, path, _ := strings.Cut(c.request, " ")
		m := tab.Find(method, path)
		route, params := "", ""
		if m.Route != nil {
			route = m.Route.Method + " " + m.Route.Endpoint
			for _, name := range []string{"id", "lang", "path", "any", "from", "to", "x", "y", "l", "name"} {
				if v, ok := m.Params[name]; ok {
					params += " " + name + "=" + v
				}
			}
		}
		if route != c.route || strings.TrimSpace(params) != c.params || strings.Join(m.Allow, " ") != c.allow {
			t.Errorf("%.40s: %q %q %q, want %q", c.request, route, params, m.Allow, c)
		}
	}
}

// TestDefaults checks that the routes of a site take precedence over the default routes, unless they are patterns.
func TestDefaults(t *testing.T) {
	t.Parallel()
	tab, err := table("POST auth", "* ", "DELETE {x}")
	if err != nil {
		t.Fatal(err)
	}
	if m := tab.Find("POST", "auth"); m.Route == nil || m.Route.Default {
		t.Error("a default route takes precedence over a route of the site")
	}
	if len(tab.Routes()) != 3 {
		t.Errorf("%d routes: a default that the site has is one no more", len(tab.Routes()))
	}
	if tab, err = table("POST {x}"); err != nil {
		t.Fatal(err)
	}
	if m := tab.Find("POST", "auth"); m.Route == nil || !m.Route.Default {
		t.Error("a pattern takes precedence over the default route for the login")
	}
}

func TestTableErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ lines, text string }{
		{"GET a\nGET a", "R:2:1: GET /a is defined twice, first at R:1:1"},
		{"GET a/{x}\nGET a/b", "R:2:1: GET /a/b is hidden by the earlier pattern /a/{x} at R:1:1"},
		{"GET a[/b]\nGET a/b", "is defined twice"},
		{"GET a/{x", "has a { without }"},
		{"GET a/x}", "has a } without {"},
		{"GET a/{x}[/b", "has a [ without ]"},
		{"GET a/b]", "has a ]"},
		{"GET a[b]c", "has a ] that is not at its end"},
		{"GET a[b[c]d]", "has a ] that is not at its end"},
		{"GET a[]", "an empty optional suffix"},
		{"GET a//b", "an empty segment"},
		{"GET a/../b", "a segment .."},
		{"GET {}", "whose name"},
		{"GET {a b}", "whose name"},
		{"GET {x}/{x}", "twice"},
		{"GET {userId}", "the server sets"},
		{"GET {x:}", "an empty pattern"},
		{"GET {x:(}", "invalid pattern"},
		{"GET {x:a)|(b}", "invalid pattern"},
		{`GET {x:(a)\1}`, "invalid pattern"},
		{"GET {x:(?=a)}", "invalid pattern"},
		{"GET {x:a{2000}}", "invalid pattern"},
		{"GET a" + strings.Repeat("[b", 9) + strings.Repeat("]", 9), "more than 8 optional"},
	} {
		_, err := table(strings.Split(c.lines, "\n")...)
		if err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%q: %v, want %s", c.lines, err, c.text)
		}
	}
	for _, fine := range []string{"GET a/b\nGET a/{x}", "POST a/{x}\nGET a/b", "GET a\nPOST a", "* a\nGET a", `GET a/{x:\d+}` + "\nGET a/b"} {
		if _, err := table(strings.Split(fine, "\n")...); err != nil {
			t.Errorf("%q: %v", fine, err)
		}
	}
	_, err := NewTable([]Entry{{Method: "GET", Class: "X", At: Position{"R", 3, 7}}}, nil, func(e Entry) (handler.Func, error) {
		return nil, fmt.Errorf("handler class %s is not loaded", e.Class)
	})
	if err == nil || err.Error() != "R:3:7: handler class X is not loaded" {
		t.Error(err)
	}
	if routeErr, ok := errors.AsType[*Error](err); !ok || routeErr.At.Line != 3 {
		t.Errorf("got %v, want an *Error in line 3", err)
	}
}

// large returns a file with 10,000 routes: static ones, parameters, patterns and groups.
func large() []byte {
	var b strings.Builder
	b.WriteString("<?php\n$routes = [\n")
	for g := range 100 {
		fmt.Fprintf(&b, "'group%d' => [\n", g)
		for i := range 100 {
			endpoint := fmt.Sprintf("item%d", i)
			switch i % 4 {
			case 1:
				endpoint += `/{id:\d+}`
			case 2:
				endpoint = "{name}/" + endpoint
			case 3:
				endpoint += "[/{id}]"
			}
			fmt.Fprintf(&b, "  ['GET', '%s', X::class, 'y', ['auth' => false]],\n", endpoint)
		}
		b.WriteString("],\n")
	}
	b.WriteString("];\n")
	return []byte(b.String())
}

func load(t testing.TB, src []byte) *Table {
	f, err := Read("R", src)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := Entries(f.Routes)
	if err != nil {
		t.Fatal(err)
	}
	tab, err := NewTable(entries, nil, found)
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

var largePaths = []string{"group99/item0", "group50/item41/77", "group70/ann/item98", "group3/item99", "group3/item99/x", "group7/none", "none"}

// TestLarge checks that Find does not allocate memory in a large table. BenchmarkLoad and BenchmarkFind measure the
// time.
func TestLarge(t *testing.T) {
	tab := load(t, large())
	for _, path := range largePaths {
		if hit := tab.Find("GET", path).Route != nil; hit == strings.Contains(path, "none") {
			t.Errorf("%s: %v", path, hit)
		}
		if n := testing.AllocsPerRun(100, func() { tab.Find("GET", path) }); n > 6 {
			t.Errorf("%s: %g allocations", path, n)
		}
	}
}

func BenchmarkFind(b *testing.B) {
	tab := load(b, large())
	for _, path := range largePaths {
		b.Run(path, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				tab.Find("GET", path)
			}
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	src := large()
	b.ReportAllocs()
	for b.Loop() {
		load(b, src)
	}
}

// FuzzFind compares a table with a simple implementation that tries one pattern after another.
func FuzzFind(f *testing.F) {
	f.Add("GET a/{b}\nGET a/{c:.*}x\nPOST a[/b[/{d}]]", "a/b")
	f.Fuzz(func(t *testing.T, lines, path string) {
		tab, err := table(strings.Split(lines, "\n")...)
		if err != nil {
			return
		}
		path = strings.Trim(path, "/")
		m := tab.Find("GET", path)
		for _, r := range tab.Routes() {
			variants, _ := parse(r.Endpoint)
			for _, pieces := range variants {
				segments, tail, _ := make(compiler).variant(pieces)
				v := variant{r, 0, segments, tail}
				if len(path) > maxPath || !whole(segments, tail, path) {
					continue
				}
				values, ok := v.match(path, nil)
				if !ok {
					continue
				}
				if m.Route == nil && m.Allow == nil {
					t.Fatalf("%q is not found by %q", path, r.Endpoint)
				}
				if m.Route == r && len(m.Params) > 0 && len(variants) == 1 && !maps.Equal(m.Params, v.params(values)) {
					t.Fatalf("%q by %q: %v", path, r.Endpoint, m.Params)
				}
			}
		}
	})
}

// whole reports whether the literal segments of a variant match the path, which the tree checks.
func whole(segments []segment, tail bool, path string) bool {
	words := strings.Split(path, "/")
	if len(words) != len(segments) && (!tail || len(words) < len(segments)) {
		return len(segments) == 0 && path == ""
	}
	for i, s := range segments {
		if len(s.params) == 0 && s.literal != words[i] {
			return false
		}
	}
	return true
}
