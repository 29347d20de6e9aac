package intake_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/answertest"
	"github.com/tollgate-gateway/tollgate/backends/answer/intake"
	"github.com/tollgate-gateway/tollgate/internal/outbound"
)

func TestList(t *testing.T) {
	t.Parallel()
	answertest.OnBoth(t, func(t *testing.T, k answertest.Kernel) {
		r := newRoom(t, k)
		var version, requests, unchanged atomic.Int64
		var down atomic.Bool
		version.Store(1)
		mux := http.NewServeMux()
		mux.HandleFunc("/report", func(w http.ResponseWriter, r *http.Request) {
			requests.Add(1)
			etag := fmt.Sprintf(`"v%d"`, version.Load())
			switch {
			case down.Load():
				w.WriteHeader(http.StatusBadGateway)
				return
			case r.Header.Get("If-None-Match") == etag:
				unchanged.Add(1)
				w.WriteHeader(http.StatusNotModified)
				return
			}
			w.Header().Set("ETag", etag)
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = fmt.Fprintf(w, "<title>Report</title><p>Revenue was $%d million.</p>", version.Load())
		})
		mux.Handle("/moved", http.RedirectHandler("/notes.md", http.StatusFound))
		mux.Handle("/inside", http.RedirectHandler("http://169.254.169.254/latest", http.StatusFound))
		mux.HandleFunc("/notes.md", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = w.Write([]byte("# Notes\n\nA text."))
		})
		mux.HandleFunc("/picture", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "image/png")
			_, _ = w.Write([]byte("PNG"))
		})
		server := httptest.NewServer(mux)
		defer server.Close()

		file := filepath.Join(t.TempDir(), "urls.txt")
		r.write(file, "# reports\n"+server.URL+"/report\n"+server.URL+"/moved\n", 1)
		client := outbound.NewClient([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, time.Minute)
		l := &intake.List{Options: r.options(), Path: file, Every: time.Hour, Client: client}
		run := func(want int) {
			t.Helper()
			if n, err := l.Run(t.Context()); err != nil || n != want {
				t.Errorf("%d, %v, want %d", n, err, want)
			}
		}
		run(2)
		r.counted(map[string]int{"added": 2})
		if d, err := r.corpus.Document(t.Context(), server.URL+"/moved"); err != nil || d.Title != "Notes" {
			t.Errorf("%+v %v", d, err)
		}
		run(0)
		k.Clock.Move(time.Hour + time.Minute)
		l = &intake.List{Options: r.options(), Path: file, Every: time.Hour, Client: client} // as of another process
		run(2)
		r.counted(map[string]int{"skipped": 2})
		if unchanged.Load() != 1 {
			t.Errorf("%d conditional requests", unchanged.Load())
		}
		version.Add(1)
		k.Clock.Move(time.Hour + time.Minute)
		run(2)
		r.counted(map[string]int{"replaced": 1, "skipped": 1})

		// A failure is logged once, and retried with increasing pauses.
		down.Store(true)
		k.Clock.Move(time.Hour + time.Minute)
		before := requests.Load()
		run(2)
		run(0)
		k.Clock.Move(time.Minute + time.Second)
		run(1)
		k.Clock.Move(time.Minute + time.Second)
		run(0)
		k.Clock.Move(time.Minute)
		run(1)
		r.counted(map[string]int{"skipped": 1, intake.OutcomeFailed: 3})
		if n := requests.Load() - before; n != 3 {
			t.Errorf("got %d requests while the server is down, want 3", n)
		}
		if n := r.logs.FilterMessage("address not fetched").Len(); n != 1 {
			t.Errorf("the failure was logged %d times, want once", n)
		}
		r.has(server.URL+"/report", true)
		down.Store(false)

		// Others are not fetched, and an address that is taken off the list leaves its document.
		r.write(file, server.URL+"/picture\n"+server.URL+"/inside\nno address\n", 2)
		run(2)
		r.counted(map[string]int{intake.OutcomeFailed: 3})
		r.has(server.URL+"/report", true)
		r.has(server.URL+"/inside", false)

		// Without the network being allowed nothing is connected to.
		r.write(file, server.URL+"/report\n", 3)
		l.Client = outbound.NewClient(nil, time.Minute)
		before = requests.Load()
		run(1)
		r.counted(map[string]int{intake.OutcomeFailed: 1})
		if requests.Load() != before {
			t.Error("a private address was connected to")
		}
	})
}
