package cms_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/cms/settings"
)

// file writes a file of the site.
func (s *site) file(name, text string) {
	s.Helper()
	if err := os.WriteFile(filepath.Join(s.folder, filepath.FromSlash(name)), []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
}

func (s *site) reload() {
	s.Helper()
	if err := s.server.Reload(); err != nil {
		s.Fatal(err)
	}
}

// TestRunaway checks that handlers that loop, nest, grow or throw are answered in time and do not delay other
// requests. It runs before the parallel tests of the package, which would take the processors that the good
// handlers need within their five seconds.
func TestRunaway(t *testing.T) {
	onBoth(t, settings.Settings{}, runaway)
}

func runaway(s *site) {
	s.file("api/Bad.js", `exports.Bad = class Bad {
  static loop() { for (;;); }
  static deep() { const f = () => f() + 1; return f() }
  static huge() { return "x".repeat(2 ** 30) }
  static throws() { throw new Error("no") }
  static good(data) { return {id: data.id} }
}`)
	s.file("api/Routes.php", `<?php
require 'Bad.js';
$routes = [
  ['GET', 'loop', Bad::class, 'loop', ['auth' => false]],
  ['GET', 'short', Bad::class, 'loop', ['auth' => false, 'timeoutMs' => 100]],
  ['GET', 'deep', Bad::class, 'deep', ['auth' => false]],
  ['GET', 'huge', Bad::class, 'huge', ['auth' => false]],
  ['GET', 'throws', Bad::class, 'throws', ['auth' => false]],
  ['GET', 'good/{id}', Bad::class, 'good', ['auth' => false]],
];`)
	s.reload()
	var all sync.WaitGroup
	for path, status := range map[string]int{"loop": 504, "short": 504, "deep": 500, "huge": 500, "throws": 500} {
		for range 2 {
			all.Go(func() {
				begun := time.Now()
				if w := s.do(http.MethodGet, "/api/"+path, ""); w.Code != status || !strings.HasPrefix(w.Body.String(), `{"error":`) || strings.Contains(w.Body.String(), "16 MiB") {
					s.Errorf("%s: %d %s", path, w.Code, w.Body)
				}
				limit := time.Minute
				if path == "short" { // less than all others get
					limit = 4900 * time.Millisecond
				}
				if took := time.Since(begun); took > limit {
					s.Errorf("%s took %s", path, took)
				}
			})
		}
	}
	for i := range 100 {
		all.Go(func() {
			if w := s.do(http.MethodGet, fmt.Sprintf("/api/good/%d", i), ""); w.Code != 200 || w.Body.String() != fmt.Sprintf(`{"id":"%d"}`, i) {
				s.Errorf("%d: %d %s", i, w.Code, w.Body)
			}
		})
	}
	all.Wait()
}

// TestReloadUnderLoad checks that no request fails while classes are reloaded.
func TestReloadUnderLoad(t *testing.T) {
	t.Parallel()
	onBoth(t, settings.Settings{}, reloadUnderLoad)
}

func reloadUnderLoad(s *site) {
	version := func(n int) {
		s.file("api/Example.js", fmt.Sprintf("exports.Example = class { static test() { return {n: %d} } static getAllUsers() {} static getUser() {} }", n))
		s.reload()
	}
	version(0)
	var done atomic.Bool
	var answered atomic.Int64
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for !done.Load() {
				if w := s.do(http.MethodGet, "/api/test", ""); w.Code != 200 || !strings.HasPrefix(w.Body.String(), `{"n":`) {
					s.Errorf("%d %s", w.Code, w.Body)
				}
				answered.Add(1)
			}
		})
	}
	for i := range 10 {
		version(i + 1)
		s.expect(http.MethodGet, "/api/test", "", 200, fmt.Sprintf(`{"n":%d}`, i+1))
	}
	done.Store(true)
	all.Wait()
	if answered.Load() < 10 {
		s.Errorf("%d requests were answered", answered.Load())
	}
}

// TestConcurrentSessionWrites checks that values that concurrent calls store in one session are all kept.
func TestConcurrentSessionWrites(t *testing.T) {
	t.Parallel()
	onBoth(t, settings.Settings{Auth: settings.Session}, func(s *site) {
		s.file("api/Two.js", `exports.Two = class Two {
  static slow() { session.set("a", 1); session.remove("old"); cache.set("begun", true); while (!cache.get("done")); return {} }
  static quick() { while (!cache.get("begun")); session.set("b", 2); return {} }
  static done() { cache.set("done", true); return {} }
  static old() { session.set("old", 3); return {} }
  static all() { return {a: session.get("a"), b: session.get("b"), old: session.get("old") ?? null} }
}`)
		s.file("api/Routes.php", `<?php
require 'Two.js';
$routes = [
  ['GET', 'slow', Two::class, 'slow'], ['GET', 'quick', Two::class, 'quick'], ['GET', 'done', Two::class, 'done', ['auth' => false]],
  ['GET', 'old', Two::class, 'old'], ['GET', 'all', Two::class, 'all'],
];`)
		s.reload()
		s.expect("POST", "/api/auth", s.login(), 200, "*")
		s.expect("GET", "/api/old", "", 200, "{}")
		var slow sync.WaitGroup
		slow.Go(func() { s.expect("GET", "/api/slow", "", 200, "{}") })
		s.expect("GET", "/api/quick", "", 200, "{}")
		s.expect("GET", "/api/done", "", 200, "{}")
		slow.Wait()
		s.expect("GET", "/api/all", "", 200, `{"a":1,"b":2,"old":null}`)
	})
}
