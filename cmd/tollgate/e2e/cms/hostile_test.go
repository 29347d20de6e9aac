package cms

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// attacked is a class that looks harmless, but with methods that do as much work as a client requests.
const attacked = `exports.Attacked = class Attacked {
  static sparse(data) { const a = []; a[Number(data.i)] = 1; return { n: [...a].length } }
  static digits(data) { return String(data.n).replace(/\B(?=(\d{3})+(?!\d))/g, ',') }
  static good(data) { return { id: data.id } }
}`

// TestHostileClients checks that clients whose requests use up time and memory get 504 or 500, that all other clients
// get their answers, and that the gateway can be stopped meanwhile.
func TestHostileClients(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Tool("cms", "install", "--admin", "ann")
	s.write("site/api/Attacked.js", attacked)
	s.write("site/api/Routes.php", `<?php
require 'Attacked.js';
$routes = [
  ['GET', 'sparse', Attacked::class, 'sparse', ['auth' => false, 'timeoutMs' => 2000]],
  ['POST', 'digits', Attacked::class, 'digits', ['auth' => false, 'timeoutMs' => 2000]],
  ['GET', 'good/{id}', Attacked::class, 'good', ['auth' => false]],
];`)
	s.begin()
	s.answers("/api/sparse?i=2", 200, `{"n":3}`)
	s.answers("/api/good/1", 200, `{"id":"1"}`)
	if a := s.do("POST", "/api/digits", `{"n":"1234567"}`); a.Body != `{"message":"1,234,567"}` {
		t.Errorf("digits: %d %s", a.Status, a.Body)
	}
	var stopping atomic.Bool
	var ended atomic.Int64
	var clients sync.WaitGroup
	attack := func(method, path, body string) {
		for !stopping.Load() {
			r, err := http.NewRequestWithContext(t.Context(), method, s.base+path, strings.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			a := e2e.Read(s.client.Do(r)) //nolint:bodyclose // Read does
			switch {
			case stopping.Load():
			case a.Err != nil || a.Status != 500 && a.Status != 503 && a.Status != 504:
				t.Errorf("%s: %d %.100s: %v", path, a.Status, a.Body, a.Err)
				return
			case a.Status != 503:
				ended.Add(1)
			}
		}
	}
	for range 8 {
		clients.Go(func() { attack("GET", "/api/sparse?i=4294967290", "") })
		clients.Go(func() { attack("POST", "/api/digits", `{"n":"`+strings.Repeat("1", 50000)+`"}`) })
	}
	for i := 0; ended.Load() < 16; i++ {
		s.answers(fmt.Sprintf("/api/good/%d", i), 200, fmt.Sprintf(`{"id":"%d"}`, i))
		s.answers("/", 200, "the page of the site")
	}
	gateway := s.Cmd.Process.Pid
	stopping.Store(true)
	s.Stop()
	clients.Wait()
	if left := handlers(gateway); len(left) > 0 {
		t.Errorf("processes %v live on", left)
	}
}

// handlers returns the IDs of the handler processes that a gateway has started.
func handlers(gateway int) (pids []string) {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range lines {
		line, _ := os.ReadFile(name)
		status, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "status"))
		if strings.HasPrefix(string(line), "tollgate-cms-handlers") && strings.Contains(string(status), fmt.Sprintf("\nPPid:\t%d\n", gateway)) {
			pids = append(pids, filepath.Base(filepath.Dir(name)))
		}
	}
	return pids
}
