package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync"
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

// load loads api/A.js, which has one class A.
func load(t testing.TB, o Options, body string) *Program {
	t.Helper()
	o.Site = site(t, map[string]string{"api/A.js": "class A {\n" + body + "\n}\nmodule.exports = { A };\n"})
	p, err := New(o).Load("api/A.js")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// run calls a method of class A.
func run(t testing.TB, p *Program, name string, c *handler.Call) (any, error) {
	t.Helper()
	class, ok := p.Class("A")
	if !ok {
		t.Fatalf("there are only %v", p.Classes())
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

// shown is a result as text: JSON as it stands, a string in quotes.
func shown(result any) string {
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
	for body, want := range map[string]string{
		`return "hello"`: "'hello'", `return "ä€😀"`: "'ä€😀'", ``: "nothing", `return null`: "nothing", `return undefined`: "nothing", `return 5`: "5", `return true`: "true", `return -0`: "0",
		`return {a: 1, b: [1.5, "x", null, undefined, true, () => 1], c: undefined, d: () => 1, "e\n\"": "\u2028\u0001"}`: `{"a":1,"b":[1.5,"x",null,null,true,null],"e\n\"":"` + "\u2028" + `\u0001"}`,
		`return []`: "[]", `return {}`: "{}", `return [NaN, Infinity, 1e21, 1e-7, 123456789012]`: "[null,null,1e+21,1e-07,123456789012]",
		`return new Date(0)`: `"1970-01-01T00:00:00.000Z"`, `return {toJSON() { return {x: [1]} }}`: `{"x":[1]}`, `return new String("a")`: `"a"`, `return Object.create({a: 1}, {b: {value: 2, enumerable: true}, c: {value: 3}})`: `{"b":2}`,
		`return {get a() { return 1 }}`: `{"a":1}`, `return new Map([[1, 2]])`: "{}", `class B { x = 1; #y = 2 }; return new B()`: `{"x":1}`,
		`return Promise.resolve({a: 1})`: `{"a":1}`, `return new Promise((done) => done("x"))`: "'x'", `return (async () => { await null; return await Promise.resolve([1]) })()`: "[1]",
		`return Symbol("a").description`: "'a'", `return "\ud800"`: "'\uFFFD'", `return JSON.parse('{"a":[1,{"b":null}]}')`: `{"a":[1,{"b":null}]}`,
		`return [...new Set([1, 1, 2])].map((x) => x ** 2).concat([9])`: "[1,4,9]", `return Array(3).fill(0).join("-")`: "'0-0-0'", `return Array.from({length: 2}, (_, i) => i)`: "[0,1]", `return new Array(1, 2) instanceof Array && Array.isArray([])`: "true",
		`class B extends Array {}; const b = new B(); b.push(1); return b instanceof B && b.length`: "1", `return "ab".repeat(2).padStart(6, "x").concat("y", 1)`: "'xxababy1'", `return "aXbX".replaceAll("X", "yy")`: "'ayybyy'",
		`return typeof eval + typeof process + typeof setTimeout + typeof require("./../api/A.js").A`:                                                                             "'undefinedundefinedundefinedfunction'",
		`class E extends Error { constructor() { super("m"); this.name = "E"; this.toString = () => "own" } }; const e = new E(); return [e.name, String(e), e instanceof Error]`: `["E","own",true]`,
		`const o = {}; o.toString = () => "x"; o.constructor = 1; o.name = 2; return String(o) + o.constructor + Object.keys(o)`:                                                  "'x1toString,constructor,name'",
		`function F() {}; F.prototype.toString = () => "f"; return String(new F())`:                                                                                               "'f'", `return [3, 1, 2].sort().toString()`: "'1,2,3'",
		`function* g() { yield 1; yield 2 }; return [...g()]`: "[1,2]", `return new Uint8Array([1, 2]).length + new ArrayBuffer(3).byteLength`: "5", `return /(?<y>\d+)/.exec("a12").groups.y`: "'12'",
		`const { a = 1, ...rest } = {b: 2, c: 3}; return {a, rest}`: `{"a":1,"rest":{"b":2,"c":3}}`, `return (null ?? "x") + ({}).a?.b`: "'xundefined'",
	} {
		p := load(t, Options{}, "static m() {\n"+body+"\n}")
		got, err := run(t, p, "m", nil)
		if err != nil || shown(got) != want {
			t.Errorf("%s\n got %s, %v\nwant %s", body, shown(got), err, want)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`throw {code: 404, message: "user not found"}`: "404 user not found", `const e = new Error("no"); e.code = 418; throw e`: "418 no", `throw Object.assign(new TypeError("x"), {code: 599})`: "599 x",
		`throw new Error("secret")`: "0 secret", `throw "text"`: "0 thrown: text", `throw {code: 200, message: "odd"}`: "0 odd", `throw {code: 404.5}`: "0 [object Object]", `throw null`: "0 thrown: null",
		`return undefinedName`: "0 undefinedName is not defined", `return null.x`: "0 Cannot read property 'x' of", `return Promise.reject({code: 409, message: "taken"})`: "409 taken",
		`return (async () => { throw {code: 400, message: "later"} })()`: "400 later", `return new Promise(() => {})`: "0 " + errPending.Error(),
		`const a = {}; a.a = a; return a`: "0 " + errCircle.Error(), `return {get a() { throw {code: 410, message: "gone"} }}`: "410 gone", `return {toJSON() { throw new Error("inner") }}`: "0 inner",
		`return () => 1`: "0 " + errFunction.Error(), `return 10n`: "0 10 cannot be written as JSON", `throw {get message() { throw 1 }, code: 400}`: "0 an error that cannot be read",
		`Array.prototype.x = 1`: "0 Cannot add property x, object is not extensible", `globalThis.x = 1`: "0 Cannot add property x, object is not extensible", `x = 1`: "0 x is not defined", `Array.prototype.map = 1`: "0 Cannot assign to read only property 'map'",
		`Object.prototype.toString = 1`: "0 built-in objects cannot be changed", `pages.find = 1`: "0 Cannot assign to read only property 'find'", `return Function("return 1")()`: "0 code is not made of texts here",
		`return (() => {}).constructor("return 1")()`: "0 code is not made of texts here", `return (async () => {}).constructor("return 1")()`: "0 code is not made of texts here",
		`require("fs")`: "0 'fs' is not a file of the site", `require("../../etc/passwd.js")`: "0 '../../etc/passwd.js' is outside", `require("/config.json")`: "0 config.json holds secrets", `require("../files/a.js")`: "0 '../files/a.js': what was uploaded", `require("./none")`: "0 there is no file 'api/none'",
		`pages.find("a=b")`: "0 there are no pages here", `Response(100)`: "0 100 is no status", `Response(200, "", {"Content-Length": "1"})`: "0 header Content-Length", `http.fetch("https://example.com")`: "0 http.fetch is off", `session.get("a")`: "0 there are no sessions",
	} {
		p := load(t, Options{}, "static m() {\n"+body+"\n}")
		got, err := run(t, p, "m", nil)
		if err == nil {
			t.Errorf("%s gave %s", body, shown(got))
			continue
		}
		code := 0
		if e, ok := handler.Of(err); ok {
			code = e.Code
		}
		if have := fmt.Sprintf("%d %s", code, err); !strings.HasPrefix(have, want) {
			t.Errorf("%s\n got %s\nwant %s", body, have, want)
		}
	}
}

// Where an error arose is told as the author wrote it; what he logs has the request.
func TestStack(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.DebugLevel)
	p := load(t, Options{Logger: func() *zap.Logger { return zap.New(core) }}, "static m() { return A.inner() }\n\n  static inner() { console.log('at', {a: 1}, 5); throw new Error('broken') }")
	_, err := run(t, p, "m", &handler.Call{RequestID: "r1"})
	if stack := Stack(err); !strings.HasPrefix(stack, "inner (api/A.js:4:") || !strings.Contains(stack, "\nm (api/A.js:2:") {
		t.Errorf("%q of %v", stack, err)
	}
	said := logs.FilterMessage("script").All()
	if len(said) != 1 || said[0].ContextMap()["text"] != `at {"a":1} 5` || said[0].ContextMap()["request"] != "r1" {
		t.Errorf("logged %v", said)
	}
}

// A rejected promise that nobody waits for is told the log; one that is caught is not.
func TestUnheard(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.DebugLevel)
	p := load(t, Options{Logger: func() *zap.Logger { return zap.New(core) }}, `
static lost() { (async () => { throw new Error("lost") })(); return 1 }
static caught() { Promise.reject(new Error("caught")).catch(() => {}); return 1 }
static async thrown() { throw {code: 404, message: "told"} }`)
	for _, name := range []string{"lost", "caught", "thrown"} {
		_, _ = run(t, p, name, &handler.Call{RequestID: name})
	}
	said := logs.All()
	if len(said) != 1 || said[0].ContextMap()["request"] != "lost" || !strings.Contains(fmt.Sprint(said[0].ContextMap()["error"]), "lost") {
		t.Errorf("logged %v", said)
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
	kept := make(memory)
	for name, want := range map[string]string{
		"data":   `{"a":"x","l":["1",{"b":null}],"n":"7","userId":3,"more":1}`,
		"ctx":    `{"method":"GET","path":"users/7","user":{"id":3,"name":"ann","roles":["editor"]},"requestId":"r","address":"192.0.2.1","headers":"1, 2"}`,
		"answer": "{}", "response": "handler.Response", "bare": "handler.Response", "html": "handler.Response",
		"input": `["x",7,null,"1, 2","GET","users/7",{"q":1},{"p":"v"},{}]`, "session": `[{"a":[1]},null,"ann",true]`, "config": `{"endpoint":"api"}`, "base": "'https://example.com/apino endpoint defined'", "preflight": "nothing",
	} {
		c := &handler.Call{
			Data: map[string]any{"a": "x", "n": "7", "userId": int64(3), "l": []any{"1", map[string]any{"b": nil}}}, Query: map[string]any{"q": 1.0}, Body: map[string]any{}, Params: map[string]string{"p": "v"},
			Method: "GET", Path: "users/7", RequestID: "r", Header: http.Header{"X-A": {"1", "2"}}, Address: "192.0.2.1", BaseURL: "https://example.com/api", User: handler.User{ID: 3, Name: "ann", Roles: []string{"editor"}}, Session: kept,
		}
		got, err := run(t, p, name, c)
		if err != nil || shown(got) != want {
			t.Errorf("%s\n got %s, %v\nwant %s", name, shown(got), err, want)
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

// What a call leaves in static fields, in what files declare and in what it required is
// not there for the next one, whichever runtime it gets.
func TestNothingStays(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"static field":  {"api/A.js": `class A { static n = 0; static m() { return ++A.n } } module.exports = { A }`},
		"this":          {"api/A.js": `class A { static m() { this.n = (this.n || 0) + 1; return this.n } } module.exports = { A }`},
		"private":       {"api/A.js": `class A { static #n = 0; static m() { return ++this.#n } } module.exports = { A }`},
		"variable":      {"api/A.js": `let n = 0; class A { static m() { return ++n } } module.exports = { A }`},
		"map":           {"api/A.js": `const seen = new Map(); class A { static m() { seen.set(seen.size, 1); return seen.size } } module.exports = { A }`},
		"closure":       {"api/A.js": `const next = (() => { let n = 0; return () => ++n })(); class A { static m() { return next() } } module.exports = { A }`},
		"function":      {"api/A.js": `function f() { f.n = (f.n || 0) + 1; return f.n } class A { static m() { return f() } } module.exports = { A }`},
		"required file": {"api/A.js": `const { B } = require("./B"); class A { static m() { return B.next() } } module.exports = { A }`, "api/B.js": `let n = 0; exports.B = { next() { return ++n } }`},
		"late":          {"api/A.js": `class A { static m() { const b = require("./B"); b.n.push(1); return b.n.length } } module.exports = { A }`, "api/B.js": `const n = []; n.length = 0; exports.n = n`},
		"group":         {"api/A.js": `const RE = /a/g; class A { static m() { RE.test("aa"); return RE.lastIndex } } module.exports = { A }`},
		"default":       {"api/A.js": `module.exports = class A { static m() { A.n = (A.n || 0) + 1; return A.n } }`},
		"static block":  {"api/A.js": `class A { static { this.n = 0 } static m() { return ++A.n } } module.exports = { A }`},
		"destructured":  {"api/A.js": `class A { static m() { [A.n] = [(A.n || 0) + 1]; return A.n } } module.exports = { A }`},
		"loop":          {"api/A.js": `class A { static m() { for (A.n of [A.n ? 2 : 1]); return A.n } } module.exports = { A }`},
		"prototype":     {"api/A.js": `class A { static m() { A.prototype.n = (A.prototype.n || 0) + 1; return A.prototype.n } } module.exports = { A }`},
	} {
		p, err := New(Options{Site: site(t, files), Runtimes: 1}).Load("api/A.js")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for range 3 {
			if got, err := run(t, p, "m", nil); err != nil || shown(got) != "1" {
				t.Errorf("%s: %s, %v", name, shown(got), err)
			}
		}
	}
}

// What is not seen to write is frozen: it cannot leave anything either.
func TestFrozen(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"alias":     `class A { static m() { const self = A; self.n = 1; return 0 } } module.exports = { A }`,
		"parameter": `function put(o) { o.n = 1 } class A { static m() { put(A); return 0 } } module.exports = { A }`,
		"method":    `class A { static m() { Object.assign(A.m, {n: 1}); return 0 } } module.exports = { A }`,
		"literal":   `const list = [1]; class A { static m() { list.push(2); return 0 } } module.exports = { A }`,
		"required":  `const b = require("./b.js"); class A { static m() { b.n = 1; return 0 } } module.exports = { A }`,
		"json":      `const b = require("./b.json"); class A { static m() { b.list.push(2); return 0 } } module.exports = { A }`,
	} {
		p, err := New(Options{Site: site(t, map[string]string{"api/A.js": text, "api/b.js": "exports.x = 1", "api/b.json": `{"list":[1]}`}), Runtimes: 1}).Load("api/A.js")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := run(t, p, "m", nil); err == nil || !strings.Contains(err.Error(), "extensible") {
			t.Errorf("%s: %s, %v", name, shown(got), err)
		}
		if p.sources.files["api/A.js"].keeps != (name == "required") {
			t.Errorf("%s: made anew for each call: %v", name, name != "required")
		}
	}
}

// Files that are usual stay loaded: their calls need not load them again.
func TestUsualFilesStay(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"class":    `'use strict'; const { B } = require("./B.js"); const LIMIT = 10, RE = /^a$/i; const names = ["a", "b"]; class A { #x = 1; y = 2; constructor() { this.z = 3 } m() { this.y++; return this } static m(data) { let n = 0; n++; data.x = n; const o = {}; o.a = 1; delete o.a; for (const k of names) o[k] = 1; return o } } module.exports = { A, B };`,
		"function": `function helper(a) { a.push(1); return a } const arrow = (x) => x * 2; exports.A = class A { static m() { return helper([]) } };`,
	} {
		p, err := New(Options{Site: site(t, map[string]string{"api/A.js": text, "api/B.js": "exports.B = class B { static b() {} }"}), Runtimes: 1}).Load("api/A.js")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if p.sources.files["api/A.js"].keeps {
			t.Errorf("%s is made anew for each call", name)
		}
		if _, err := run(t, p, "m", &handler.Call{Data: map[string]any{}}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// No call keeps the others from their answers: not one that loops, nests, grows or
// throws, and all are answered in time.
func TestLimits(t *testing.T) {
	t.Parallel()
	const class = `
static good(data) { return {id: data.id} }
static loop() { for (;;); }
static kept() { try { cache.set("a", {toJSON() { for (;;); }}) } catch (e) { return 1 } }
static text() { throw {toString() { for (;;); }} }
static code() { throw {get code() { for (;;); }} }
static later() { return Promise.resolve().then(() => { for (;;); }) }
static caught() { for (;;) { try { for (;;); } catch (e) {} finally { continue } } }
static jobs() { const again = () => Promise.resolve().then(again); return again() }
static recursion() { const f = () => f() + 1; return f() }
static mapped() { const f = () => [1].map(f); return f() }
static json() { const o = {toJSON: () => JSON.stringify(o)}; return JSON.stringify(o) }
static own() { const o = {toJSON: () => ({o})}; return o }
static deep() { let a = []; for (let i = 0; i < 1e4; i++) a = [a]; return a }
static parsed() { return JSON.parse("[".repeat(1e6)) }
static repeat() { return "x".repeat(2 ** 30) }
static pad() { return "x".padStart(2 ** 30) }
static array() { return Array(2 ** 30).join("x") }
static from() { return Array.from({length: 2 ** 30}) }
static sum() { let s = "x".repeat(1e6); return s.concat(s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s) }
static joined() { return Array(20).fill("x".repeat(1e6)).join("") }
static list() { const a = Array(6e5); return a.concat(a, a, a) }
static spread() { return [].concat({length: 2 ** 31, [Symbol.isConcatSpreadable]: true}) }
static buffer() { return new Uint8Array(2 ** 30).length }
static large() { return "x".repeat(9e6) }
static many() { return Array(2e4).fill("x".repeat(500)) }
static throws() { throw new Error("no") }
static pattern() { for (;;) if (/^(a+)+\1$/.test("a".repeat(60) + "b")) return 1 }
`
	p := load(t, Options{Runtimes: 4, Timeout: time.Second, Wait: time.Minute}, class)
	patient := load(t, Options{Runtimes: 4, Timeout: time.Minute, Wait: time.Minute}, class) // for what ends by another limit, on a busy machine too
	var wrong sync.Map
	var all sync.WaitGroup
	for name, want := range map[string]string{
		"loop": errTime.Error(), "later": errTime.Error(), "kept": errTime.Error(), "text": errTime.Error(), "code": errTime.Error(), "caught": errTime.Error(), "pattern": errTime.Error(), "jobs": errTime.Error(), "recursion": "calls nest deeper than 512", "mapped": "calls nest deeper than 512", "json": "calls nest deeper than 512",
		"own": errCircle.Error(), "deep": errCircle.Error(), "parsed": errTooDeep.Error(), "repeat": "repeat would take more than 16 MiB", "pad": "padStart would take more than 16 MiB", "array": "Array would take", "from": "Array.from would take",
		"sum": "concat would take", "joined": "join would take", "list": "concat would take", "spread": "concat would take", "buffer": "Uint8Array would take", "large": errOutput.Error(), "many": errOutput.Error(), "throws": "no",
	} {
		all.Go(func() {
			in := patient
			if want == errTime.Error() {
				in = p
			}
			got, err := run(t, in, name, nil)
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s: %s, %v", name, shown(got), err)
			}
			if e, ok := handler.Of(err); (ok && e.Code == 504) != (want == errTime.Error()) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	for i := range 100 {
		all.Go(func() {
			got, err := run(t, patient, "good", &handler.Call{Data: map[string]any{"id": i}})
			if err != nil || shown(got) != fmt.Sprintf(`{"id":%d}`, i) {
				wrong.Store(i, fmt.Sprint(shown(got), err))
			}
		})
	}
	all.Wait()
	wrong.Range(func(i, what any) bool { t.Errorf("good %v: %v", i, what); return true })
	if len(p.free) != 4 {
		t.Errorf("%d runtimes are free", len(p.free))
	}
}

// Natives that take what is given to them at its word are bounded: each of these ends by itself, or as soon as its time
// is over.
func TestBoundedNatives(t *testing.T) { // not beside others, which are ended by the memory that it takes
	defer goruntime.GC()
	const like = "const like = {length: 2 ** 53 - 1}, list = [].constructor.prototype; "
	bodies := map[string]string{
		like + "return list.concat.call([], {...like, [Symbol.isConcatSpreadable]: true})":                "concat would",
		"const a = []; a.length = 2 ** 32 - 1; return a.indexOf(1)":                                       "indexOf would",
		"const a = []; a.length = 2 ** 32 - 1; return Array.from(a)":                                      "Array.from would",
		"const a = []; a.length = 2 ** 32 - 1; return String(a)":                                          "join would",
		"const a = []; a.push(a); return a.flat(Infinity)":                                                "calls nest deeper",
		"let o = [1]; for (let i = 0; i < 30; i++) o = [o, o]; return o.flat(Infinity)":                   "flat would",
		"return Math.max.apply(null, {length: 2 ** 31})":                                                  "apply would",
		"return Reflect.apply(Math.max, null, {length: 2 ** 31})":                                         "apply would",
		"return Reflect.construct(Date, {length: 2 ** 31})":                                               "construct would",
		"return String.fromCharCode.apply(null, {length: 2 ** 31})":                                       "apply would",
		"return String.raw({raw: {length: 2 ** 53 - 1}})":                                                 "raw would",
		"return 'x'.repeat('2147483648')":                                                                 "repeat would",
		"return 'x'.padEnd('2147483648')":                                                                 "padEnd would",
		"let n = 0; return 'x'.padEnd({valueOf() { return n++ ? 2 ** 31 : 1 }})":                          "",
		"return 'x'.repeat(2 ** 24).split('')":                                                            "split would",
		"return 'x'.repeat(2 ** 24).split(/x/).length":                                                    "split would",
		"return 'x'.repeat(2 ** 24).match(/x/g).length":                                                   "match would",
		"return 'x'.repeat(2 ** 24).matchAll(/x/g)":                                                       "matchAll would",
		"return 'x'.repeat(2 ** 24).replace(/x/g, 'yyyy').length":                                         "replace would",
		"return 'x'.repeat(2 ** 24).replaceAll(/x/g, () => 'yyyy').length":                                "replaceAll would",
		"return 'x'.repeat(2 ** 22).replace(/x/g, '$`').length":                                           "replace would",
		"return 'x'.repeat(2 ** 22).replaceAll('x', '$`').length":                                         "replaceAll would",
		"return 'x'.repeat(2 ** 24).normalize('NFKD').length":                                             "normalize would",
		"return new ArrayBuffer('1099511627776').byteLength":                                              "ArrayBuffer would",
		"return new ArrayBuffer({valueOf: () => 2 ** 40}).byteLength":                                     "ArrayBuffer would",
		"return new Uint8Array({length: 2 ** 24}).length":                                                 "Uint8Array would",
		"return new Uint8Array(2 ** 24).toString().length":                                                "join would",
		"return BigInt('9'.repeat(1e7)) > 1n":                                                             "BigInt would",
		"return BigInt.asUintN(2 ** 34, -1n) > 1n":                                                        "asUintN would",
		"return Object.keys('x'.repeat(2 ** 24)).length":                                                  "keys would",
		"return Object.assign({}, new Uint8Array(2 ** 24))":                                               "assign would",
		"const a = []; a.length = 2 ** 32 - 1; return JSON.stringify(a)":                                  "stringify would",
		"return JSON.stringify(new Proxy([], {get: (t, k) => k === 'length' ? 2 ** 31 : 1}))":             "stringify would",
		"let o = {a: 1}; for (let i = 0; i < 30; i++) o = {l: o, r: o}; return JSON.stringify(o)":         "stringify would",
		"return JSON.stringify(Array(2e6).fill('x'.repeat(1e3)))":                                         "stringify would",
		"return JSON.stringify({a: 'x'.repeat(2 ** 24)}, (k, v) => v)":                                    "stringify would",
		"const a = Array(5e5); for (let i = 0; i < 5e5; i++) a[i] = 'x'.repeat(9) + i; for (;;) a.sort()": errTime.Error(),
	}
	for name := range strings.FieldsSeq("copyWithin every fill filter find findIndex findLast findLastIndex flat flatMap forEach includes indexOf join lastIndexOf map reduce reduceRight reverse shift slice some sort splice toLocaleString toReversed toSorted toSpliced unshift with") {
		bodies[like+"return list."+name+".call(like, Boolean, 1)"] = name + " would"
	}
	for body, want := range bodies {
		p := load(t, Options{Runtimes: 1, Timeout: time.Second, Wait: time.Minute}, "static m() { "+body+" }")
		begun := time.Now()
		got, err := run(t, p, "m", nil)
		ended := errors.Is(err, errTime) || errors.Is(err, errMemory) || err != nil && err.Error() == errTime.Error() // on a machine that is busy
		if want == "" && err != nil || want != "" && !ended && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s: %s, %v", body, shown(got), err)
		}
		if took := time.Since(begun); took > time.Minute {
			t.Errorf("%s took %s", body, took)
		}
	}
}

// What is bounded does what the engine does.
func TestBoundedAsBefore(t *testing.T) { // not beside others, which are ended by the memory that it takes
	defer goruntime.GC()
	p := load(t, Options{Timeout: time.Minute}, `static m() {
  const same = (a, b, what) => { if (JSON.stringify(a) !== JSON.stringify(b)) throw new Error(what + ": " + JSON.stringify(a).slice(0, 200) + " is not " + JSON.stringify(b).slice(0, 200)) };
  const part = "ab1 \u{1f600}x22,", times = 100, text = part.repeat(times);
  const wide = "ab1 x22,", long = wide.repeat(9000);
  const each = (made) => Array(times).fill(made);
  same(text.match(/\d+/g), each(0).flatMap(() => ["1", "22"]), "match");
  same(text.match(/(?:)/gu).length, Array.from(text).length + 1, "match of nothing");
  same(text.match(/none/g), null, "no match");
  same(text.split(/,/), [...each(part.slice(0, -1)), ""], "split");
  same(text.split(/(\d+),/).slice(0, 4), ["ab1 \u{1f600}x", "22", "ab1 \u{1f600}x", "22"], "split with groups");
  same(text.split(/,/, 2), each(part.slice(0, -1)).slice(0, 2), "split to a limit");
  same(text.split(/(?:)/u).length, Array.from(text).length, "split at nothing");
  same(text.split(/x*/).slice(0, 7).join("|"), part.split(/x*/).slice(0, 7).join("|"), "split at what may be nothing");
  same(text.replace(/\d+/g, "#"), part.replace(/\d+/g, "#").repeat(times), "replace");
  same(text.replace(/(?<n>\d)(\d)/g, (all, a, b, at, whole, groups) => b + groups.n + (whole.length === text.length)), part.replace(/22/, "22true").repeat(times), "replace by a function");
  same(text.replace(/(\d)(\d)/g, "$2-$1"), part.replace(/(\d)(\d)/g, "$2-$1").repeat(times), "replace by groups");
  same(text.replace(/(?:)/gu, "-").length, text.length + Array.from(text).length + 1, "replace nothing");
  same(text.replace(/a/, "b"), "b" + text.slice(1), "replace the first");
  same(long.replace(/\d+/g, "#") === "ab# x#,".repeat(9000), true, "replace in a long text");
  same(long.replaceAll(/b/gi, "y") === "ay1 x22,".repeat(9000), true, "replaceAll in a long text");
  same(text.replaceAll(",", ";"), part.replaceAll(",", ";").repeat(times), "replaceAll");
  same(text.replaceAll(/b/gi, () => "$1"), part.replaceAll(/b/g, "$$1").repeat(times), "replaceAll by a function");
  same("aXbX".replace("X", undefined) + "a".replace("a", 5), "aundefinedbX5", "replace by no text");
  const many = Array.from({length: 66000}, (_, i) => i * 7919 % 66000);
  same(many.toSorted(), many.map(String).toSorted((a, b) => a < b ? -1 : 1).map(Number), "sort");
  same([3, , undefined, 1].sort(), [1, 3, undefined, ,], "sort with gaps");
  same([1, [2, [3, [4]]], , 5].flat(), [1, 2, [3, [4]], 5], "flat");
  same([1, [2, [3, [4]]]].flat(Infinity), [1, 2, 3, 4], "flat of all");
  same([1, [2]].flat(0), [1, [2]], "flat of nothing");
  same(Math.max.apply(null, [1, 3, 2]) + Reflect.apply(Math.max, null, [4]) + ((...a) => a.length).apply(), 7, "apply");
  same(Reflect.construct(Array, [3]).length, 3, "construct");
  same(String.raw`+"`a\\n${1}b`"+`, "a\\n1b", "raw");
  same([1, 2].map((v, i, all) => v + i + all.length), [3, 5], "map");
  same([].reduce((a, b) => a + b, 1), 1, "reduce");
  let none = 0; try { [].reduce((a, b) => a) } catch (e) { none = e instanceof TypeError }
  same(none, true, "reduce of nothing");
  same([..."abc"].lastIndexOf("c"), 2, "lastIndexOf");
  same(JSON.parse(JSON.stringify({a: [1, undefined, () => 1], b: undefined, c: new Date(0), d: {toJSON: (key) => key}})), {a: [1, null, null], c: "1970-01-01T00:00:00.000Z", d: "d"}, "stringify");
  same(JSON.stringify({a: 1, b: {a: 2}}, ["a"]), '{"a":1}', "stringify of names");
  same(JSON.stringify({a: 1, b: 2}, function (key, v) { return key === "b" ? this.a : v }, 1), '{\n "a": 1,\n "b": 1\n}', "stringify by a function");
  same([JSON.stringify(undefined), JSON.stringify("a"), JSON.stringify(null)], [undefined, '"a"', "null"], "stringify of values");
  same([BigInt(5) === 5n, BigInt("7") === 7n, BigInt.asIntN(8, 255n) === -1n, (5n).constructor === BigInt], [true, true, true, true], "BigInt");
  same([new Uint8Array([1, 2]).length, new Uint8Array("3").length, new Uint8Array(new ArrayBuffer(8), 2, 3).length, new Uint8Array().length, new ArrayBuffer(4).byteLength, new Uint8Array(new Set([1, 2])).length, new Uint8Array([1, 2]).join("-")], [2, 3, 3, 0, 4, 2, "1-2"], "buffers");
  same([Object.keys("ab"), Object.entries({a: 1}), Object.assign({}, {a: 1}, null, "x")], [["0", "1"], [["a", 1]], {0: "x", a: 1}], "keys");
  same("\u0041\u030a".normalize() + "a".padEnd(3, "b") + "a".padStart(2), "\u00c5abb a", "texts");
  return 1;
}`)
	if got, err := run(t, p, "m", nil); err != nil || shown(got) != "1" {
		t.Errorf("%s, %v", shown(got), err)
	}
}

// A text that doubles does not fill the memory.
func TestHugeString(t *testing.T) {
	p := load(t, Options{}, `static m() { let s = "xxxxxxxxxxxxxxxx"; for (;;) s += s }`)
	if _, err := run(t, p, "m", nil); !errors.Is(err, errMemory) { // and not the error of its time, which is over later
		t.Errorf("error %v", err)
	}
}

// What grows is ended also behind a question that was refused, and a list of parameters with a
// gap is no fault.
func TestAfterRefusal(t *testing.T) {
	goruntime.GC() // the next look of the collector comes when there is twice as much as at the last one
	p := load(t, Options{Timeout: time.Minute}, `static m() { try { pages.add(1) } catch (e) {} try { users.find() } catch (e) {} for (const all = [];;) { all.push("x".repeat(1e6)); if (all.length > 2000) return "all of it" } }
static gap(data) { return RestApiHelper.checkAndSanitizeRequiredParameters(data, [, "a|int"]) }`)
	if _, err := run(t, p, "m", nil); !errors.Is(err, errMemory) {
		t.Error(err)
	}
	_, err := run(t, p, "gap", &handler.Call{Data: map[string]any{"a": "1"}})
	if e, ok := handler.Of(err); !ok || e.Code != 400 {
		t.Error(err)
	}
}

func TestBusy(t *testing.T) {
	t.Parallel()
	p := load(t, Options{Runtimes: 1, Timeout: time.Minute, Wait: 20 * time.Millisecond}, `static m() { return 1 } static wait() { pages.get("x"); }`)
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

// The store is told when the time of a call is over, and a call ends with its request.
func TestStoreEnds(t *testing.T) {
	t.Parallel()
	p := load(t, Options{Timeout: 50 * time.Millisecond}, `static m() { try { pages.get("x") } catch (e) { for (;;); } }`)
	p.engine.Pages = &fakePages{get: func(ctx context.Context) (Object, error) { <-ctx.Done(); return nil, ctx.Err() }}
	_, err := run(t, p, "m", nil)
	if e, ok := handler.Of(err); !ok || e.Code != 504 {
		t.Errorf("error %v", err)
	}
}

const trivial = `static test() { return "test successful" } static getUser(data) { return {id: data.id, name: "ann"} } static list() { return {users: Array.from({length: 100}, (_, i) => ({id: i, name: "user" + i}))} }`

func BenchmarkCall(b *testing.B) {
	for name, body := range map[string]string{"stays": trivial, "anew": "static n = 0;" + trivial} {
		p := load(b, Options{}, body)
		class, _ := p.Class("A")
		for _, method := range []string{"test", "getUser", "list"} {
			b.Run(name+"/"+method, func(b *testing.B) {
				b.ReportAllocs()
				fn := class.Methods[method]
				c := &handler.Call{Data: map[string]any{"id": "7", "userId": int64(1)}}
				for b.Loop() {
					if _, err := fn(b.Context(), c); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkRuntime(b *testing.B) {
	p := load(b, Options{}, trivial)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := newRuntime(p); err != nil {
			b.Fatal(err)
		}
	}
}
