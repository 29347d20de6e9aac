package cms

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestReloadUnderLoad checks that no request of 100 clients is dropped while files are reloaded, and that each answer
// comes from one consistent version of the site.
func TestReloadUnderLoad(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Tool("cms", "install", "--admin", "ann")
	s.begin()
	s.answers("/api/test", 200, "test successful")
	var done atomic.Bool
	var answered atomic.Int64
	var clients sync.WaitGroup
	for range 100 {
		clients.Go(func() {
			for !done.Load() {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.base+"/api/test", nil)
				if err != nil {
					t.Error(err)
					return
				}
				a := e2e.Read(s.client.Do(r)) //nolint:bodyclose // Read does
				if a.Err != nil || a.Status != 200 || !strings.HasPrefix(a.Body, `{"message":"test`) {
					t.Errorf("%d %s: %v", a.Status, a.Body, a.Err)
					return
				}
				answered.Add(1)
			}
		})
	}
	previous := "test successful"
	for i := range 3 {
		now := fmt.Sprintf("test of day %d", i)
		s.edit("site/api/Example.js", previous, now)
		s.answers("/api/test", 200, now)
		previous = now
		before := answered.Load()
		e2e.Eventually(t, e2e.WaitLimit, "requests go on", func() error {
			if answered.Load() < before+200 {
				return fmt.Errorf("%d were answered", answered.Load()-before)
			}
			return nil
		})
	}
	done.Store(true)
	clients.Wait()
	s.Stop()
}
