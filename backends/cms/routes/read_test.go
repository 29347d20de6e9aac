package routes

import (
	"errors"
	"strings"
	"testing"
	"time"
)

const example = `<?php
namespace Site\Api; // a namespace is of PHP
use Tollgate\RestApiHelper;
require_once __DIR__ . '/Example.js';
require "../lib/Posts.js"; # beside api
/* the
   table */
$routes = [
  ['OPTIONS', 'test', RestApiHelper::class, 'preflight', ['auth' => false]],
  ['get', 'test', \Site\Api\Example::class, "test"],
  'users' => [
    ['GET', '', Example::class, 'getAllUsers', ['auth' => false, 'timeoutMs' => 250, 'bodyLimit' => 10]],
    ['GET', '{id:\d+}', Example::class, 'getUser', array("auth" => TRUE, 'roles' => ['editor', "admin\x21"])],
    'deep/er/' => array(
      ['*', '/x/', Example::class, 'test', ['cors' => false,],],
    ),
  ],
  'v1' => [ ['GET', 'posts', Posts::class, 'list'] ],
  7 => ['GET', 'posts', Posts::class, 'list'],
];
`

func TestRead(t *testing.T) {
	t.Parallel()
	f, err := Read("api/Routes.php", []byte(example))
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Requires) != 2 || f.Requires[0].Path != "api/Example.js" || f.Requires[1].Path != "lib/Posts.js" || f.Requires[1].At.Line != 5 {
		t.Errorf("requires %v", f.Requires)
	}
	entries, err := Entries(f.Routes)
	if err != nil {
		t.Fatal(err)
	}
	want := []struct{ method, endpoint, class, name, at string }{
		{"OPTIONS", "test", "RestApiHelper", "preflight", "api/Routes.php:9:3"},
		{"GET", "test", "Example", "test", "api/Routes.php:10:3"},
		{"GET", "users", "Example", "getAllUsers", "api/Routes.php:12:5"},
		{"GET", `users/{id:\d+}`, "Example", "getUser", "api/Routes.php:13:5"},
		{"*", "users/deep/er/x", "Example", "test", "api/Routes.php:15:7"},
		{"GET", "v1/posts", "Posts", "list", "api/Routes.php:18:13"},
		{"GET", "posts", "Posts", "list", "api/Routes.php:19:8"},
	}
	if len(entries) != len(want) {
		t.Fatalf("%d entries", len(entries))
	}
	for i, w := range want {
		if e := entries[i]; e.Method != w.method || e.Endpoint != w.endpoint || e.Class != w.class || e.Func != w.name || e.At.String() != w.at {
			t.Errorf("entry %d: %+v", i, e)
		}
	}
	if o := entries[1].Options; !o.Auth || !o.CORS || o.BodyLimit != 1<<20 || o.Timeout != 5*time.Second || o.Roles != nil {
		t.Errorf("defaults %+v", o)
	}
	if o := entries[2].Options; o.Auth || o.Timeout != 250*time.Millisecond || o.BodyLimit != 10 {
		t.Errorf("options %+v", o)
	}
	if o := entries[3].Options; !o.Auth || strings.Join(o.Roles, ",") != "editor,admin!" {
		t.Errorf("options %+v", o)
	}
	if entries[4].Options.CORS {
		t.Error("cors")
	}
}

func TestReadStrings(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		`'{id:\d+}'`:            `{id:\d+}`,
		`'it\'s \\ \n'`:         `it's \ \n`,
		`"{id:\d+}"`:            `{id:\d+}`,
		`"a\n\t\r\v\e\f\\\$\""`: "a\n\t\r\v\x1b\f\\$\"",
		`"\x41\101\u{e4}ü"`:     "AAäü",
		`"5 $ and $5"`:          "5 $ and $5",
		`"\"`[:2] + `q"`:        `\q`,
		`'$x {$y}'`:             "$x {$y}",
	} {
		f, err := Read("r", []byte("<?php $routes=[["+src+"]];"))
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		if got := f.Routes.Items[0].Value.Items[0].Value.Text; got != want {
			t.Errorf("%s is %q, not %q", src, got, want)
		}
	}
}

// TestReadErrors checks the message and the position (file, line and column in characters) of every error.
func TestReadErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ src, at, text string }{
		{"", "1:1", "does not begin with <?php"},
		{" <?php $routes=[];", "1:1", "does not begin with <?php"},
		{"<?phpx", "1:6", "must follow <?php"},
		{"<?php\n", "2:1", "$routes is not set"},
		{"<?php $routes = [];\n$routes = [];", "2:1", "set twice"},
		{"<?php $route = [];", "1:7", "only $routes"},
		{"<?php $routesx = [];", "1:7", "only $routes"},
		{"<?php $routes = 'x';", "1:17", "a string, not an array"},
		{"<?php $routes = []", "1:19", `the file ends, expected ";"`},
		{"<?php\n\n  echo 'x';", "3:3", "unexpected 'e'"},
		{"<?php $routes = [ foo() ];", "1:19", "nothing in it is executed"},
		{"<?php $routes = [ getenv ( 'X' ) ];", "1:19", "nothing in it is executed"},
		{"<?php $routes = [ FOO ];", "1:19", "neither true"},
		{"<?php $routes = [ Foo::BAR ];", "1:19", "only ::class"},
		{"<?php $routes = [ 'ä', 'b' . 'c' ];", "1:28", "unexpected '.'"},
		{"<?php $routes = [ \"a $x\" ];", "1:22", "must not contain a variable"},
		{"<?php $routes = [ \"{$x}\" ];", "1:20", "must not contain a variable"},
		{"<?php $routes = [ \"${x}\" ];", "1:20", "must not contain a variable"},
		{"<?php $routes = [ \"\\xff\" ];", "1:20", "not a valid character"},
		{"<?php $routes = [ \"\\u{}\" ];", "1:20", "hexadecimal"},
		{"<?php $routes = [ \"\\u{d800}\" ];", "1:20", "not a valid character"},
		{"<?php $routes = [ 'abc", "1:19", "the string does not end"},
		{"<?php $routes = [ '\xff' ];", "1:20", "not UTF-8"},
		{"<?php $routes = [ 1.5 ];", "1:19", "not an integer"},
		{"<?php $routes = [ 010 ];", "1:19", "not an integer"},
		{"<?php $routes = [ 99999999999999999999 ];", "1:19", "not an integer"},
		{"<?php $routes = [ - ];", "1:19", "not an integer"},
		{"<?php $routes = [ true => 1 ];", "1:19", "a key must be a string or an integer"},
		{"<?php $routes = [ 1 2 ];", "1:21", "expected a comma"},
		{"<?php $routes = [ ,1 ];", "1:19", "unexpected ','"},
		{"<?php $routes = array[];", "1:22", `expected "("`},
		{"<?php $routes = array(1];", "1:24", "expected a comma"},
		{"<?php /* x", "1:7", "the comment does not end"},
		{"<?php $routes = []; // x ?> y", "1:26", "unexpected ?>"},
		{"<?php $routes = []; ?>", "1:21", "unexpected '?'"},
		{"<?php #[Attribute]\n$routes = [];", "1:7", "unexpected '#'"},
		{"<?php require 'x.php';", "1:15", "PHP is not executed here"},
		{"<?php require 'x.json';", "1:15", "only .js"},
		{"<?php require '../../x.js';", "1:15", "leaves the site's folder"},
		{"<?php require '/etc/x.js';", "1:15", "below the site's folder"},
		{"<?php require 'a\\\\b.js';", "1:15", "backslash"},
		{"<?php require $x;", "1:15", "expected a string"},
		{"<?php require __DIR__ 'x.js';", "1:23", `expected "."`},
		{"<?php require __DIR__ . '/x.js' . 'y';", "1:33", `expected ";"`},
		{"<?php namespace 7;", "1:17", "expected a name"},
		{"<?php use A\\;", "1:13", "expected a name"},
		{"<?php $routes = " + strings.Repeat("[", 33), "1:50", "nested deeper"},
	} {
		_, err := Read("R", []byte(c.src))
		if err == nil {
			t.Errorf("%q: no error, want %s %s", c.src, c.at, c.text)
			continue
		}
		if !strings.HasPrefix(err.Error(), "R:"+c.at+": ") || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%q: %v, want %s %s", c.src, err, c.at, c.text)
		}
	}
	if _, err := Read("R", make([]byte, maxFile+1)); err == nil {
		t.Error("no error for a file that is longer than maxFile")
	}
}

func TestEntriesErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ item, at, text string }{
		{`'x'`, "2:1", "a route must be a list"},
		{`[]`, "2:1", "four or five positions"},
		{`['GET', 'x', X::class]`, "2:1", "not 3"},
		{`['GET', 'x', X::class, 'y', [], 1]`, "2:1", "not 6"},
		{`[5, 'x', X::class, 'y']`, "2:2", "the method must be a string, not an integer"},
		{`['GET', null, X::class, 'y']`, "2:9", "the endpoint must be a string, not null"},
		{`['GET', 'x', 'X', 'y']`, "2:14", "the class must be a class, not a string"},
		{`['GET', 'x', X::class, true]`, "2:24", "the method name must be a string"},
		{`['GE T', 'x', X::class, 'y']`, "2:2", "not an HTTP method"},
		{`['', 'x', X::class, 'y']`, "2:2", "not an HTTP method"},
		{`['GET', "a\nb", X::class, 'y']`, "2:9", "control characters"},
		{`['GET', 'x', X::class, 'a b']`, "2:24", "not a valid method name"},
		{`['GET', 'k' => 'x', X::class, 'y']`, "2:9", "a route must not have keys"},
		{`['GET', 'x', X::class, 'y', 'auth']`, "2:29", "the options must be a map"},
		{`['GET', 'x', X::class, 'y', ['auth']]`, "2:30", "an option must have a name"},
		{`['GET', 'x', X::class, 'y', ['auht' => false]]`, "2:30", `unknown option "auht"`},
		{`['GET', 'x', X::class, 'y', ['auth' => 0]]`, "2:40", "must be a boolean, not an integer"},
		{`['GET', 'x', X::class, 'y', ['auth' => true, 'auth' => false]]`, "2:46", "is set twice"},
		{`['GET', 'x', X::class, 'y', ['bodyLimit' => -1]]`, "2:45", "must be from 0"},
		{`['GET', 'x', X::class, 'y', ['timeoutMs' => 0]]`, "2:45", "must be from 1"},
		{`['GET', 'x', X::class, 'y', ['roles' => 'a']]`, "2:41", "must be a list"},
		{`['GET', 'x', X::class, 'y', ['roles' => []]]`, "2:41", "is empty"},
		{`['GET', 'x', X::class, 'y', ['roles' => [1]]]`, "2:42", "a list of role names"},
		{`['GET', 'x', X::class, 'y', ['auth' => false, 'roles' => ['a']]]`, "2:29", "needs authorization"},
		{`'g' => 'x'`, "2:8", "must be a list of routes"},
		{`'g' => ['GET', 'x', X::class, 'y']`, "2:8", "each in its own brackets"},
		{`'/' => []`, "2:1", "no name"},
		{`'{a}' => []`, "2:1", "must not contain a pattern"},
		{`'g' => [], 'g' => []`, "2:12", "is defined twice"},
		{`['g' => [], ['GET', 'x', X::class, 'y']]`, "2:13", "a map of groups contains a route"},
	} {
		f, err := Read("R", []byte("<?php $routes = [\n"+c.item+"\n];"))
		if err != nil {
			t.Errorf("%s: %v", c.item, err)
			continue
		}
		_, err = Entries(f.Routes)
		if err == nil {
			t.Errorf("%s is an entry", c.item)
			continue
		}
		if !strings.HasPrefix(err.Error(), "R:"+c.at+": ") || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want %s %s", c.item, err, c.at, c.text)
		}
	}
}

// FuzzRead checks that no text makes the reader panic, and that every error has a position in the file.
func FuzzRead(f *testing.F) {
	f.Add(example)
	f.Add("<?php $routes = [\"\\u{e4}\\101\", -7, array('a'=>1,),];")
	f.Add("<?php require __DIR__ . '/../../x.js'; $routes = [['GET','a[/{b:\\d{2}}[/c]]',A\\B::class,'m']];")
	f.Fuzz(func(t *testing.T, src string) {
		file, err := Read("R", []byte(src))
		var table *Table
		if err == nil {
			var entries []Entry
			if entries, err = Entries(file.Routes); err == nil {
				table, err = NewTable(entries, nil, found)
			}
		}
		if err != nil {
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("%v is no *Error", err)
			}
			lines := strings.Split(src, "\n")
			if e.At.Line < 1 || e.At.Line > len(lines) || e.At.Column < 1 || e.At.Column > len([]rune(lines[e.At.Line-1]))+1 {
				t.Fatalf("%v is not in the file", e)
			}
			return
		}
		for _, r := range table.Routes() {
			table.Find(r.Method, r.Endpoint)
		}
		table.Find("GET", src)
	})
}
