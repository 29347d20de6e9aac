package script

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

func callWith(data map[string]any) *handler.Call { return &handler.Call{Data: data} }

// fakePages is a Pages whose results are fixed, except that of Get.
type fakePages struct {
	get func(ctx context.Context) (Object, error)
}

func (f *fakePages) Find(_ context.Context, _ handler.User, selector string) ([]Object, string, error) {
	return []Object{{"id": int64(1), "selector": selector}, {"id": int64(2)}}, "next", nil
}

func (f *fakePages) Get(ctx context.Context, _ handler.User, _ string) (Object, error) {
	return f.get(ctx)
}

func (f *fakePages) Count(context.Context, handler.User, string) (int64, error) { return 2, nil }

func (f *fakePages) Add(_ context.Context, _ handler.User, page Object) (Object, error) {
	return page, nil
}

func (f *fakePages) Save(_ context.Context, _ handler.User, id int64, changes Object) (Object, error) {
	return Object{"id": id, "changes": changes}, nil
}

func (f *fakePages) Trash(context.Context, handler.User, int64) error { return nil }

func TestStore(t *testing.T) {
	t.Parallel()
	broken := errors.New("the disk is gone")
	fail := func(context.Context) (Object, error) { return nil, broken }
	fake := &fakePages{get: fail}
	p := load(t, Options{Pages: fake}, `
static find() { const l = pages.find("a=b"); return [l.after, JSON.stringify(l)] }
static count() { return pages.count() }
static add() { return pages.add({title: "a", fields: {n: [1]}}) }
static save() { return [pages.save(7, {a: 1}), pages.save({id: 8, b: 2})] }
static none() { return [pages.get("x")] }
static get() { try { return pages.get("x") } catch (e) { if (e.code) return ["caught", e.code, e.message]; throw e } }
static many() { for (let i = 0; i < 1000; i++) pages.count("x"); try { pages.count("x") } catch (e) { return [e.message] } }
`)
	for name, want := range map[string]string{
		"find": `["next","[{\"id\":1,\"selector\":\"a=b\"},{\"id\":2}]"]`, "count": "2", "add": `{"fields":{"n":[1]},"title":"a"}`, "save": `[{"changes":{"a":1},"id":7},{"changes":{"b":2,"id":8},"id":8}]`,
		"many": `["more than 1000 operations on the content in one request"]`,
	} {
		if got, err := run(t, p, name, nil); err != nil || resultText(got) != want {
			t.Errorf("%s\n got %s, %v\nwant %s", name, resultText(got), err, want)
		}
	}
	if got, err := run(t, p, "get", nil); !errors.Is(err, broken) {
		t.Errorf("%s, error %v", resultText(got), err)
	} else if _, visible := handler.Of(err); visible {
		t.Error("the error is visible to clients")
	}
	fake.get = func(context.Context) (Object, error) {
		return nil, apierror.New(http.StatusBadRequest, "bad_selector", "no such field")
	}
	if got, err := run(t, p, "get", nil); err != nil || resultText(got) != `["caught",400,"no such field"]` {
		t.Errorf("%s, %v", resultText(got), err)
	}
	if got, err := run(t, p, "none", nil); fmt.Sprint(err) != "no such field" {
		t.Errorf("%s, %v", resultText(got), err)
	}
	fake.get = func(context.Context) (Object, error) { return nil, nil }
	if got, err := run(t, p, "none", nil); err != nil || resultText(got) != "[null]" {
		t.Errorf("%s, %v", resultText(got), err)
	}
}

func TestHelper(t *testing.T) {
	t.Parallel()
	p := load(t, Options{}, `
static m(data) { const specs = data.specs; delete data.specs; return RestApiHelper.checkAndSanitizeRequiredParameters(data, specs) }
static s(data) { return [sanitizer.text(" a\n"), sanitizer.text20, sanitizer.range(9, 1, 5), sanitizer.option("b", ["a", "b"]), sanitizer.apply("<b>&", "text_entities"), sanitizer.valid("a", "text"), sanitizer.date(0, "Y-m-d"), sanitizer.names().length > 60] }
static unknown() { return sanitizer.apply("a", "nope") }
`)
	for _, c := range []struct {
		data map[string]any
		want string
	}{
		{map[string]any{"name": " a <b>x</b>\n", "age": "7", "other": " y ", "specs": []any{"name", "age|int"}}, `{"age":7,"name":"a x","other":" y "}`},
		{map[string]any{"a": "", "b": 0.0, "c": false, "specs": []any{"a", "b|int", "c|bool"}}, `{"a":"","b":0,"c":false}`},
		{map[string]any{"a": nil, "specs": []any{"a"}}, "400 Required parameter 'a' is missing"},
		{map[string]any{"specs": []any{"name|nope"}}, "400 Required parameter 'name' is missing"},
		{map[string]any{"name": 1.0, "specs": []any{"name|nope"}}, "400 'nope' is not a sanitizer"},
		{map[string]any{"name": 1.0, "specs": []any{"name|"}}, "400 '' is not a sanitizer"},
		{map[string]any{"x": []any{1.0, " a "}, "specs": []any{"x|intArray"}}, `{"x":[1,0]}`},
		{map[string]any{"x": "abcdef", "specs": []any{"x|text3_entities"}}, `{"x":"abc"}`},
	} {
		got, err := run(t, p, "m", callWith(c.data))
		gotText := resultText(got)
		if e, ok := handler.Of(err); ok {
			gotText = fmt.Sprintf("%d %s", e.Code, e.Message)
		}
		if gotText != c.want {
			t.Errorf("%v\n got %s, %v\nwant %s", c.data, gotText, err, c.want)
		}
	}
	if got, err := run(t, p, "s", nil); err != nil || resultText(got) != `["a",null,5,"b","&amp;",true,"1970-01-01",true]` {
		t.Errorf("%s, %v", resultText(got), err)
	}
	_, err := run(t, p, "unknown", nil)
	if e, ok := handler.Of(err); !ok || e.Code != 400 || e.Message != "'nope' is not a sanitizer" {
		t.Errorf("error %v", err)
	}
}

// TestCacheGlobal checks that runtimes and programs share the cache, and that its values are copies and expire.
func TestCacheGlobal(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	o := Options{Runners: 1, Now: func() time.Time { return time.Unix(ahead.Load(), 0) }, Site: site(t, map[string]string{"api/A.js": `exports.A = class A {
  static set() { const v = {n: [1]}; cache.set("k", v, 10); v.n.push(2); cache.set("keep", 1); cache.set("never", 1, 0); return cache.get("k") }
  static get() { const v = cache.get("k"); if (v) v.x = 1; return [v, cache.get("keep"), cache.get("never")] }
  static remember() { return cache.remember("r", 10, () => ({made: Math.random()})) }
  static remove() { return [cache.delete("k"), cache.delete("k")] }
}`})}
	e := engine(t, o)
	var programs [2]*Program
	for i := range programs {
		var err error
		if programs[i], err = e.Load("api/A.js"); err != nil {
			t.Fatal(err)
		}
	}
	want := func(p *Program, name, want string) {
		t.Helper()
		if got, err := run(t, p, name, nil); err != nil || resultText(got) != want {
			t.Errorf("%s: %s, %v, want %s", name, resultText(got), err, want)
		}
	}
	want(programs[0], "set", `{"n":[1]}`)
	want(programs[1], "get", `[{"n":[1],"x":1},1,null]`)
	want(programs[1], "get", `[{"n":[1],"x":1},1,null]`)
	first, _ := run(t, programs[0], "remember", nil)
	want(programs[1], "remember", resultText(first))
	ahead.Store(10)
	want(programs[0], "get", `[null,1,null]`)
	want(programs[0], "set", `{"n":[1]}`)
	want(programs[1], "remove", `[true,false]`)
}

func TestCacheSize(t *testing.T) {
	t.Parallel()
	c := newCache(10*(entryCost+10), time.Now)
	for i := range 30 {
		c.set(fmt.Sprintf("key%02d", i), "value", 0)
		c.get("key00")
	}
	if _, ok := c.get("key00"); !ok || len(c.entries) != 10 || c.size != 10*(entryCost+10) {
		t.Errorf("%d entries of %d bytes", len(c.entries), c.size)
	}
	if _, ok := c.get("key05"); ok {
		t.Error("what was used long ago is there")
	}
	if c.set("large", strings.Repeat("x", 10_000), 0) || len(c.entries) != 10 {
		t.Error("a value larger than the cache")
	}
}

func TestFetch(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, "http://elsewhere.test/", http.StatusFound)
		case "/large":
			_, _ = w.Write(make([]byte, maxFetch+1))
		default:
			w.Header().Set("X-Said", r.Method+" "+r.Header.Get("X-A")+" "+r.Header.Get("Content-Type"))
			w.WriteHeader(http.StatusTeapot)
			_, _ = w.Write([]byte(`{"a":[1]}`))
		}
	}))
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	body := `static m(data) { const r = http.fetch(data.url, {method: "post", headers: {"X-A": "b"}, body: {c: 1}}); return [r.status, r.ok, r.headers["x-said"], r.json().a, r.text()] }
static get(data) { return http.fetch(data.url).status }`
	local := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	p := load(t, Options{Hosts: func() []string { return []string{u.Host, "*.example.com"} }, Networks: local}, body)
	got, err := run(t, p, "m", callWith(map[string]any{"url": server.URL}))
	if want := `[418,false,"POST b application/json",[1],"{\"a\":[1]}"]`; err != nil || resultText(got) != want {
		t.Errorf("%s, %v", resultText(got), err)
	}
	for address, want := range map[string]string{
		server.URL + "/away": "the host 'elsewhere.test' is not among", server.URL + "/large": "larger than 4 MiB", "http://127.0.0.1:1/": "is not among the hosts", "https://example.com/": "is not among the hosts",
		"ftp://a.example.com/": "is not an http or https URL", "http://a.example.com:8080/": "is not among the hosts", "http://[::1": "is not a URL", "": "is not an http or https URL",
	} {
		if got, err := run(t, p, "get", callWith(map[string]any{"url": address})); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %s, %v", address, resultText(got), err)
		}
	}
	guarded := load(t, Options{Hosts: func() []string { return []string{u.Host} }}, body)
	if _, err := run(t, guarded, "get", callWith(map[string]any{"url": server.URL})); err == nil || !strings.Contains(err.Error(), "not public") {
		t.Errorf("an address of the own network: %v", err)
	}
}
