package script

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
)

// site writes the files of a site into a folder.
func site(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		write(t, dir, name, text)
	}
	return dir
}

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// engine makes an engine that ends with the test.
func engine(t testing.TB, o Options) *Engine {
	t.Helper()
	e := New(o)
	t.Cleanup(e.Close)
	return e
}

// load loads api/A.js, which has one class A.
func load(t testing.TB, o Options, body string) *Program {
	t.Helper()
	o.Site = site(t, map[string]string{"api/A.js": "class A {\n" + body + "\n}\nmodule.exports = { A };\n"})
	p, err := engine(t, o).Load("api/A.js")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// bothWays runs a test of methods with these bodies, in a process of their own and in this one. The names of the
// methods are m and a number, in the order of the bodies.
func bothWays(t *testing.T, bodies []string, test func(t *testing.T, p *Program)) {
	t.Helper()
	var class strings.Builder
	for i, body := range bodies {
		fmt.Fprintf(&class, "static m%d() {\n%s\n}\n", i, body)
	}
	for _, inProcess := range []bool{false, true} {
		t.Run(fmt.Sprintf("in this process %v", inProcess), func(t *testing.T) {
			t.Parallel()
			test(t, load(t, Options{InProcess: inProcess, Timeout: time.Minute}, class.String()))
		})
	}
}

// run calls a method of class A.
func run(t testing.TB, p *Program, name string, c *handler.Call) (any, error) {
	t.Helper()
	class, ok := p.Class("A")
	if !ok {
		t.Fatal("there is no class A")
	}
	method := class.Methods[name]
	if method == nil {
		t.Fatalf("no method %s", name)
	}
	if c == nil {
		c = &handler.Call{}
	}
	return method(t.Context(), c)
}

// resultText returns a result as text: JSON unchanged, and a string in quotes.
func resultText(result any) string {
	switch v := result.(type) {
	case nil:
		return "nothing"
	case string:
		return "'" + v + "'"
	case json.RawMessage:
		return string(v)
	}
	return fmt.Sprintf("%T", result)
}

func TestResults(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		`return "hello"`: "'hello'", `return "ä€😀"`: "'ä€😀'", ``: "nothing", `return null`: "nothing", `return undefined`: "nothing", `return 5`: "5", `return true`: "true", `return -0`: "0",
		`return {a: 1, b: [1.5, "x", null, undefined, true, () => 1], c: undefined, d: () => 1, "e\n\"": "\u2028\u0001"}`: `{"a":1,"b":[1.5,"x",null,null,true,null],"e\n\"":"` + "\u2028" + `\u0001"}`,
		`return []`: "[]", `return {}`: "{}", `return [NaN, Infinity, 1e21, 1e-7, 123456789012]`: "[null,null,1e+21,1e-07,123456789012]",
		`return new Date(0)`: `"1970-01-01T00:00:00.000Z"`, `return {toJSON() { return {x: [1]} }}`: `{"x":[1]}`, `return new String("a")`: `"a"`, `return Object.create({a: 1}, {b: {value: 2, enumerable: true}, c: {value: 3}})`: `{"b":2}`,
		`return {get a() { return 1 }}`: `{"a":1}`, `return new Map([[1, 2]])`: "{}", `class B { x = 1; #y = 2 }; return new B()`: `{"x":1}`,
		`return Promise.resolve({a: 1})`: `{"a":1}`, `return new Promise((done) => done("x"))`: "'x'", `return (async () => { await null; return await Promise.resolve([1]) })()`: "[1]",
		`return Symbol("a").description`: "'a'", `return "\ud800"`: "'\uFFFD'", `return JSON.parse('{"a":[1,{"b":null}]}')`: `{"a":[1,{"b":null}]}`,
		`return [...new Set([1, 1, 2])].map((x) => x ** 2).concat([9])`: "[1,4,9]", `return Array(3).fill(0).join("-")`: "'0-0-0'", `return Array.from({length: 2}, (_, i) => i)`: "[0,1]", `return new Array(1, 2) instanceof Array && Array.isArray([])`: "true",
		`class B extends Array {}; const b = new B(); b.push(1); return b instanceof B && b.length`: "1", `return "ab".repeat(2).padStart(6, "x").concat("y", 1)`: "'xxababy1'", `return "aXbX".replaceAll("X", "yy")`: "'ayybyy'",
		`return typeof process + typeof setTimeout + typeof require("./../api/A.js").A`:                                                                                           "'undefinedundefinedfunction'",
		`class E extends Error { constructor() { super("m"); this.name = "E"; this.toString = () => "own" } }; const e = new E(); return [e.name, String(e), e instanceof Error]`: `["E","own",true]`,
		`const o = {}; o.toString = () => "x"; o.constructor = 1; o.name = 2; return String(o) + o.constructor + Object.keys(o)`:                                                  "'x1toString,constructor,name'",
		`function F() {}; F.prototype.toString = () => "f"; return String(new F())`:                                                                                               "'f'", `return [3, 1, 2].sort().toString()`: "'1,2,3'",
		`function* g() { yield 1; yield 2 }; return [...g()]`: "[1,2]", `return new Uint8Array([1, 2]).length + new ArrayBuffer(3).byteLength`: "5", `return /(?<y>\d+)/.exec("a12").groups.y`: "'12'",
		`const { a = 1, ...rest } = {b: 2, c: 3}; return {a, rest}`: `{"a":1,"rest":{"b":2,"c":3}}`, `return (null ?? "x") + ({}).a?.b`: "'xundefined'",
	}
	bodies := slices.Collect(maps.Keys(cases))
	bothWays(t, bodies, func(t *testing.T, p *Program) {
		for i, body := range bodies {
			got, err := run(t, p, fmt.Sprint("m", i), nil)
			if want := cases[body]; err != nil || resultText(got) != want {
				t.Errorf("%s\n got %s, %v\nwant %s", body, resultText(got), err, want)
			}
		}
	})
}

func TestErrors(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		`throw {code: 404, message: "user not found"}`: "404 user not found", `const e = new Error("no"); e.code = 418; throw e`: "418 no", `throw Object.assign(new TypeError("x"), {code: 599})`: "599 x",
		`throw new Error("secret")`: "0 secret", `throw "text"`: "0 thrown: text", `throw {code: 200, message: "odd"}`: "0 odd", `throw {code: 404.5}`: "0 [object Object]", `throw null`: "0 thrown: null",
		`return undefinedName`: "0 undefinedName is not defined", `return null.x`: "0 Cannot read property 'x' of", `return Promise.reject({code: 409, message: "taken"})`: "409 taken",
		`return (async () => { throw {code: 400, message: "later"} })()`: "400 later", `return new Promise(() => {})`: "0 the handler's promise is not resolved",
		`const a = {}; a.a = a; return a`: "0 the answer nests deeper than 512, or contains itself", `return {get a() { throw {code: 410, message: "gone"} }}`: "410 gone", `return {toJSON() { throw new Error("inner") }}`: "0 inner",
		`return () => 1`: "0 a function cannot be an answer", `return 10n`: "0 10 cannot be written as JSON", `throw {get message() { throw 1 }, code: 400}`: "0 an error whose message or code cannot be read",
		`x = 1`:         "0 x is not defined",
		`require("fs")`: "0 'fs' is not a file of the site", `require("../../etc/passwd.js")`: "0 '../../etc/passwd.js' is outside", `require("../files/a.js")`: "0 '../files/a.js': the folders files and cache", `require("./none")`: "0 there is no file 'api/none'",
		`pages.find("a=b")`: "0 there are no pages here", `Response(100)`: "0 100 is not a status", `Response(200, "", {"Content-Length": "1"})`: "0 header Content-Length", `http.fetch("https://example.com")`: "0 http.fetch is off", `session.get("a")`: "0 there are no sessions",
	}
	bodies := slices.Collect(maps.Keys(cases))
	bothWays(t, bodies, func(t *testing.T, p *Program) {
		for i, body := range bodies {
			got, err := run(t, p, fmt.Sprint("m", i), nil)
			if err == nil {
				t.Errorf("%s gave %s", body, resultText(got))
				continue
			}
			code := 0
			if e, ok := handler.Of(err); ok {
				code = e.Code
			}
			if message, want := fmt.Sprintf("%d %s", code, err), cases[body]; !strings.HasPrefix(message, want) {
				t.Errorf("%s\n got %s\nwant %s", body, message, want)
			}
		}
	})
}

// TestStack checks that the positions of errors are those that the author sees, and that log lines of a script have
// the request's ID.
func TestStack(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.DebugLevel)
	p := load(t, Options{Logger: func() *zap.Logger { return zap.New(core) }}, "static m() { return A.inner() }\n\n  static inner() { console.log('at', {a: 1}, 5); throw new Error('broken') }")
	_, err := run(t, p, "m", &handler.Call{RequestID: "r1"})
	if stack := Stack(err); !strings.HasPrefix(stack, "inner (api/A.js:4:") || !strings.Contains(stack, "\nm (api/A.js:2:") {
		t.Errorf("%q of %v", stack, err)
	}
	entries := logs.FilterMessage("script").All()
	if len(entries) != 1 || entries[0].ContextMap()["text"] != `at {"a":1} 5` || entries[0].ContextMap()["request"] != "r1" {
		t.Errorf("logged %v", entries)
	}
}

// TestUnhandledRejectionIsLogged checks that an unhandled rejected promise is logged, and that a handled one is not.
func TestUnhandledRejectionIsLogged(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.DebugLevel)
	p := load(t, Options{Logger: func() *zap.Logger { return zap.New(core) }}, `
static lost() { (async () => { throw new Error("lost") })(); return 1 }
static caught() { Promise.reject(new Error("caught")).catch(() => {}); return 1 }
static async thrown() { throw {code: 404, message: "told"} }`)
	for _, name := range []string{"lost", "caught", "thrown"} {
		_, _ = run(t, p, name, &handler.Call{RequestID: name})
	}
	entries := logs.All()
	if len(entries) != 1 || entries[0].ContextMap()["request"] != "lost" || !strings.Contains(fmt.Sprint(entries[0].ContextMap()["error"]), "lost") {
		t.Errorf("logged %v", entries)
	}
}

func TestCall(t *testing.T) {
	t.Parallel()
	p := load(t, Options{Config: func() map[string]any { return map[string]any{"endpoint": "api"} }}, `
static data(data, ctx) { data.more = 1; return data }
static ctx(data, ctx) { return {...ctx, setStatus: undefined, headers: ctx.headers["x-a"]} }
static answer(data, ctx) { ctx.setStatus(201); ctx.setHeader("X-B", "c"); return {} }
static response() { return new Response(418, {a: 1}, {"X-C": "d"}) }
static bare() { return Response(204) }
static html() { return Response(200, "<p>", {"Content-Type": "text/html"}) }
static input() { return [input.get("a"), input.get("n", "int"), input.get("none"), input.header("x-a"), input.method, input.path, input.query, input.params, input.body] }
static session() { session.set("n", {a: [1]}); return [session.get("n"), session.get("none"), session.user.name, session.loggedIn] }
static config() { return config }
static base() { return RestApiHelper.baseUrl() + RestApiHelper.noEndPoint() }
static preflight() { return RestApiHelper.preflight() }
`)
	session := make(memory)
	for name, want := range map[string]string{
		"data":   `{"a":"x","l":["1",{"b":null}],"n":"7","userId":3,"more":1}`,
		"ctx":    `{"method":"GET","path":"users/7","user":{"id":3,"name":"ann","roles":["editor"]},"requestId":"r","address":"192.0.2.1","headers":"1, 2"}`,
		"answer": "{}", "response": "handler.Response", "bare": "handler.Response", "html": "handler.Response",
		"input": `["x",7,null,"1, 2","GET","users/7",{"q":1},{"p":"v"},{}]`, "session": `[{"a":[1]},null,"ann",true]`, "config": `{"endpoint":"api"}`, "base": "'https://example.com/apino endpoint defined'", "preflight": "nothing",
	} {
		c := &handler.Call{
			Data: map[string]any{"a": "x", "n": "7", "userId": int64(3), "l": []any{"1", map[string]any{"b": nil}}}, Query: map[string]any{"q": 1.0}, Body: map[string]any{}, Params: map[string]string{"p": "v"},
			Method: "GET", Path: "users/7", RequestID: "r", Header: http.Header{"X-A": {"1", "2"}}, Address: "192.0.2.1", BaseURL: "https://example.com/api", User: handler.User{ID: 3, Name: "ann", Roles: []string{"editor"}}, Session: session,
		}
		got, err := run(t, p, name, c)
		if err != nil || resultText(got) != want {
			t.Errorf("%s\n got %s, %v\nwant %s", name, resultText(got), err, want)
		}
		status, header := c.Answered()
		r, _ := got.(handler.Response)
		switch name {
		case "answer":
			if status != 201 || header.Get("X-B") != "c" {
				t.Errorf("answered %d %v", status, header)
			}
		case "preflight":
			if status != 204 {
				t.Errorf("answered %d", status)
			}
		case "response":
			if r.Status != 418 || string(r.Body.(json.RawMessage)) != `{"a":1}` || r.Header.Get("X-C") != "d" {
				t.Errorf("%+v", r)
			}
		case "bare":
			if r.Status != 204 || r.Body != nil {
				t.Errorf("%+v", r)
			}
		case "html":
			if r.Body != "<p>" || r.Header.Get("Content-Type") != "text/html" {
				t.Errorf("%+v", r)
			}
		}
	}
}

type memory map[string]any

func (m memory) Get(name string) (any, bool) { v, ok := m[name]; return v, ok }

func (m memory) Set(name string, value any) error { m[name] = value; return nil }

func (m memory) Remove(name string) { delete(m, name) }

func TestBusy(t *testing.T) {
	t.Parallel()
	p := load(t, Options{Runners: 1, Timeout: time.Minute, Wait: 20 * time.Millisecond}, `static m() { return 1 } static wait() { pages.get("x"); }`)
	held, release := make(chan struct{}), make(chan struct{})
	p.engine.Pages = &fakePages{get: func(ctx context.Context) (Object, error) { close(held); <-release; return nil, nil }}
	done := make(chan error, 1)
	go func() { _, err := run(t, p, "wait", nil); done <- err }()
	<-held
	_, err := run(t, p, "m", nil)
	if e, ok := handler.Of(err); !ok || e.Code != 503 || e.Header.Get("Retry-After") != "1" {
		t.Errorf("error %v", err)
	}
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := run(t, p, "m", nil); err != nil {
		t.Error(err)
	}
}

// TestOperationsEndWithCall checks that the context of operations ends when the time of the call is over, and that a
// call ends with its request.
func TestOperationsEndWithCall(t *testing.T) {
	t.Parallel()
	p := load(t, Options{Timeout: 500 * time.Millisecond}, `static m() { try { pages.get("x") } catch (e) { for (;;); } }`)
	p.engine.Pages = &fakePages{get: func(ctx context.Context) (Object, error) { <-ctx.Done(); return nil, ctx.Err() }}
	_, err := run(t, p, "m", nil)
	if e, ok := handler.Of(err); !ok || e.Code != 504 {
		t.Errorf("error %v", err)
	}
}
