package script

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestCallsShareNoState checks that changes of static fields, module variables, required modules, prototypes and
// built-in objects and functions do not affect the next call, in any runner.
func TestCallsShareNoState(t *testing.T) {
	t.Parallel()
	cases := map[string]map[string]string{
		"static field":  {"A.js": `class A { static n = 0; static m() { return ++A.n } } module.exports = { A }`},
		"this":          {"A.js": `class A { static m() { this.n = (this.n || 0) + 1; return this.n } } module.exports = { A }`},
		"private":       {"A.js": `class A { static #n = 0; static m() { return ++this.#n } } module.exports = { A }`},
		"variable":      {"A.js": `let n = 0; class A { static m() { return ++n } } module.exports = { A }`},
		"map":           {"A.js": `const seen = new Map(); class A { static m() { seen.set(seen.size, 1); return seen.size } } module.exports = { A }`},
		"closure":       {"A.js": `const next = (() => { let n = 0; return () => ++n })(); class A { static m() { return next() } } module.exports = { A }`},
		"function":      {"A.js": `function f() { f.n = (f.n || 0) + 1; return f.n } class A { static m() { return f() } } module.exports = { A }`},
		"literal":       {"A.js": `const list = []; class A { static m() { list.push(2); return list.length } } module.exports = { A }`},
		"required file": {"A.js": `const { B } = require("./B"); class A { static m() { return B.next() } } module.exports = { A }`, "B.js": `let n = 0; exports.B = { next() { return ++n } }`},
		"JSON":          {"A.js": `const b = require("./b.json"); class A { static m() { b.list.push(2); return b.list.length } } module.exports = { A }`, "b.json": `{"list":[]}`},
		"late":          {"A.js": `class A { static m() { const b = require("./B"); b.n.push(1); return b.n.length } } module.exports = { A }`, "B.js": `const n = []; n.length = 0; exports.n = n`},
		"group":         {"A.js": `const RE = /a/g; class A { static m() { RE.test("aa"); return RE.lastIndex } } module.exports = { A }`},
		"default":       {"A.js": `module.exports = class A { static m() { A.n = (A.n || 0) + 1; return A.n } }`},
		"static block":  {"A.js": `class A { static { this.n = 0 } static m() { return ++A.n } } module.exports = { A }`},
		"destructured":  {"A.js": `class A { static m() { [A.n] = [(A.n || 0) + 1]; return A.n } } module.exports = { A }`},
		"loop":          {"A.js": `class A { static m() { for (A.n of [A.n ? 2 : 1]); return A.n } } module.exports = { A }`},
	}
	for _, expr := range []string{
		"A.prototype", "Array", "Array.isArray", "Array.prototype", "Array.prototype.map", "Object.prototype", "Object.keys", "String.prototype.replace", "RegExp.prototype.exec", "JSON", "JSON.parse",
		"Math", "Math.max", "Promise", "Promise.resolve", "Promise.prototype.then", "Map.prototype", "Function.prototype", "Function.prototype.call", "Reflect.apply", "Proxy", "Symbol", "BigInt", "Date.now",
		"globalThis", "Uint8Array.prototype", "Error.prototype", "encodeURIComponent", "parseInt", "Object.getPrototypeOf(function* () {})", "Object.getPrototypeOf(async () => {})", "Object.getPrototypeOf([][Symbol.iterator]())",
		"pages", "pages.find", "users", "templates", "fields", "cache", "cache.get", "http", "http.fetch", "log", "console.log", "RestApiHelper", "RestApiHelper.baseUrl", "sanitizer", "sanitizer.text", "input", "input.get",
		"session", "session.get", "Response", "Response.prototype", "config", "ctx", "ctx.setStatus", "ctx.user", "ctx.headers", "data", "require", "module", "exports",
	} {
		cases[expr] = map[string]string{"A.js": "class A { static m(data, ctx) { const o = " + expr + "; o.leak = (o.leak || 0) + 1; return o.leak } } module.exports = { A }"}
	}
	for _, inProcess := range []bool{false, true} {
		files, names, load := make(map[string]string), make([]string, 0, len(cases)), make([]string, 0, len(cases))
		for name, texts := range cases {
			folder := fmt.Sprintf("api/f%d/", len(names))
			for file, text := range texts {
				files[folder+file] = strings.ReplaceAll(text, "class A ", fmt.Sprintf("class A%d ", len(names)))
			}
			// Each class has a name of its own, by which it is exported.
			files[folder+"A.js"] = "const made = {exports: {}}; (function (module, exports) {\n" + texts["A.js"] + "\n})(made, made.exports);\n" +
				fmt.Sprintf("exports.A%d = made.exports.A || made.exports;", len(names))
			names, load = append(names, name), append(load, folder+"A.js")
		}
		p, err := engine(t, Options{Site: site(t, files), Runners: 1, InProcess: inProcess, Timeout: time.Minute, Wait: time.Minute}).Load(load...)
		if err != nil {
			t.Fatal(err)
		}
		for i, name := range names {
			class, _ := p.Class(fmt.Sprint("A", i))
			for range 3 {
				if got, err := class.Methods["m"](t.Context(), callWith(map[string]any{})); err != nil || resultText(got) != "1" {
					t.Errorf("%s, in this process %v: %s, %v", name, inProcess, resultText(got), err)
				}
			}
		}
	}
}

// TestOnlyCodeCanBeRequired checks that files of a site that are not code cannot be required under any name.
func TestOnlyCodeCanBeRequired(t *testing.T) {
	t.Parallel()
	dir := site(t, map[string]string{
		"config.json": `{"jwtSecret":"s3cret"}`, "files/1/a.js": "exports.a = 's3cret'", "cache/a.json": `"s3cret"`, "api/.env.json": `"s3cret"`, ".git/a.json": `"s3cret"`, "lib/a.js": "exports.a = 'lib'",
		"api/data.json": `{"a":"data"}`, "api/note.txt": "s3cret", "api/v1/index.js": "exports.a = require('../data').a + 1", "api/folder.js/x.js": "", "api/A.js": `exports.A = class A { static m(data) { return require(data.name).a ?? "s3cret" } }`,
	})
	outside := filepath.Join(t.TempDir(), "outside.json")
	if err := os.WriteFile(outside, []byte(`"s3cret"`), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"api/linked.json": "../config.json", "api/away.json": outside, "api/up": ".."} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(dir, "config.json"), filepath.Join(dir, "api", "second.json")); err != nil {
		t.Fatal(err)
	}
	p, err := engine(t, Options{Site: dir, InProcess: true}).Load("api/A.js")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"../config": "config.json holds secrets", "../config.json": "config.json holds secrets", "/config": "config.json holds secrets", "/config.json": "config.json holds secrets", "./../api/../config": "config.json holds secrets",
		"./second": "config.json holds secrets", "../CONFIG.JSON": "config.json holds secrets", "../Config.json": "config.json holds secrets", "./linked": "is a link", "./linked.json": "is a link", "./away": "is a link", "./up/config": "is a link",
		"./up/api/data": "is a link", "../files/1/a": "contain no code", "../cache/a": "contain no code", "../FILES/1/a.js": "contain no code", "./.env": "hidden files", "../.git/a": "hidden files", "./note.txt": "there is no file",
		"./folder": "there is no file", "../../outside": "is outside", "/../outside": "there is no file", "fs": "is not a file of the site", "./data/x": "there is no file", "": "is not a file of the site",
	} {
		got, err := run(t, p, "m", callWith(map[string]any{"name": name}))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %s, %v", name, resultText(got), err)
		}
	}
	for name, want := range map[string]string{"./data": "'data'", "./data.json": "'data'", "./v1": "'data1'", "../lib/a": "'lib'", "/lib/a.js": "'lib'", "/api/data": "'data'"} {
		if got, err := run(t, p, "m", callWith(map[string]any{"name": name})); err != nil || resultText(got) != want {
			t.Errorf("%s: %s, %v", name, resultText(got), err)
		}
	}
	for _, file := range []string{"config.json", "api/linked.json", "files/1/a.js"} {
		if _, err := p.engine.Load(file); err == nil {
			t.Errorf("%s is loaded", file)
		}
	}
}
