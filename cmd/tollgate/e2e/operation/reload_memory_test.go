package operation

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

const (
	firstReloads = 60 // until caches and database pages are filled; 10 reloads are too few
	moreReloads  = 50
	// keptAReload is how much the heap may grow by each reload. A configuration that stays in memory takes at least 100
	// KB.
	keptAReload = 10 << 10
	// forgottenAfter is how long an old configuration may stay in memory after its last request.
	forgottenAfter = 6 * time.Second
)

// TestReloadMemory reloads every example and all services together fifty times, and
// checks that no old configuration stays in memory: neither the heap nor the number of
// goroutines grows.
func TestReloadMemory(t *testing.T) {
	t.Parallel()
	examples, err := filepath.Glob(e2e.Repo("caddyfiles", "*", "Caddyfile"))
	if err != nil || len(examples) == 0 {
		t.Fatal("there are no examples", err)
	}
	for _, file := range examples {
		name := filepath.Base(filepath.Dir(file))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reloaded(t, example(t, name))
		})
	}
	t.Run("together", func(t *testing.T) {
		t.Parallel()
		s := newServices(t, "", "")
		s.begin()
		reloaded(t, s.Node)
	})
}

// example starts a node with an example on free ports.
func example(t *testing.T, name string) *e2e.Node {
	t.Helper()
	var config string
	if name == "quickstart" {
		config = e2e.Shipped(t, name)
	} else {
		config = e2e.Shipped(t, name, "skip_install_trust", "skip_install_trust\n\tauto_https disable_redirects")
	}
	ports := make(map[string]string)
	config = regexp.MustCompile(`\b(8443|9099|9001)\b`).ReplaceAllStringFunc(config, func(port string) string {
		if ports[port] == "" {
			ports[port] = e2e.FreePort(t)
		}
		return ports[port]
	})
	n := e2e.NewNode(t, config, "TOLLGATE_DOMAIN=localhost:"+e2e.FreePort(t))
	if keys, err := os.ReadFile(e2e.Repo("caddyfiles", name, "config.yaml")); err == nil {
		n.WriteKeys(string(keys))
	}
	return n.Start()
}

// reloaded reloads the configuration of a node and fails the test if its memory is not released.
func reloaded(t *testing.T, n *e2e.Node) {
	t.Helper()
	reload := func(times int) {
		for range times {
			text, err := os.ReadFile(n.Path("Caddyfile"))
			if err == nil {
				_, err = n.Admin(http.MethodPost, "/load", "text/caddyfile", string(text))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	// grown reloads the configuration and reports whether the heap has grown.
	grown := func(before holding) (after holding, grown bool) {
		reload(moreReloads)
		time.Sleep(forgottenAfter)
		after = held(t, n)
		t.Logf("%d reloads: %s before, %s after, %d bytes a reload", moreReloads, before, after, (after.heap-before.heap)/moreReloads)
		if after.goroutines > before.goroutines+10 {
			t.Errorf("%d goroutines become %d", before.goroutines, after.goroutines)
		}
		return after, after.heap-before.heap > keptAReload*moreReloads
	}
	reload(firstReloads)
	time.Sleep(forgottenAfter)
	after, more := grown(held(t, n))
	if more { // a slow machine may fill a cache late; a leak grows again
		_, more = grown(after)
	}
	if more {
		t.Error("the heap grows with each reload")
	}
}

// holding is the memory use of a process.
type holding struct{ heap, objects, goroutines int }

func (h holding) String() string {
	return fmt.Sprintf("%d KB in %d objects and %d goroutines", h.heap>>10, h.objects, h.goroutines)
}

// held runs the garbage collector of a node and returns its memory use after that.
func held(t *testing.T, n *e2e.Node) holding {
	t.Helper()
	number := func(path, pattern string) int {
		text, err := n.Admin(http.MethodGet, path, "", "")
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(pattern).FindStringSubmatch(text)
		if found == nil {
			t.Fatalf("%s has no %s", path, pattern)
		}
		value, err := strconv.Atoi(found[1])
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	const heap = "/debug/pprof/heap?gc=1&debug=1"
	_ = number(heap, `# HeapAlloc = (\d+)`) // the first collection runs finalizers, the next frees their objects
	return holding{
		heap:       number(heap, `# HeapAlloc = (\d+)`),
		objects:    number(heap, `# HeapObjects = (\d+)`),
		goroutines: number("/debug/pprof/goroutine?debug=1", `goroutine profile: total (\d+)`),
	}
}
