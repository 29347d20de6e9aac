package load

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestLoad checks that a load counts failures and ends by itself.
func TestLoad(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/good" {
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	site := Site{strings.TrimPrefix(server.URL, "http://"), ""}
	found := func(got Reply) error {
		if got.Status != http.StatusOK {
			return fmt.Errorf("status %d", got.Status)
		}
		return nil
	}
	good := Load{Site: site, Request: site.Get("/good"), Check: found, Conns: 2}
	if o := good.Run(t.Context(), 20*time.Millisecond); o.Failure != nil || o.Requests == 0 || len(o.Latency) != o.Requests {
		t.Errorf("good requests: %d, latencies: %d, error: %v", o.Requests, len(o.Latency), o.Failure)
	}
	bad := Load{Site: site, Request: site.Get("/bad"), Check: found, Conns: 2}
	if o := bad.Run(t.Context(), time.Hour); o.Failure == nil || o.Requests != 0 || o.Failed != 2*maxFailures {
		t.Errorf("bad requests: %d answered, %d failed, error: %v", o.Requests, o.Failed, o.Failure)
	}
	endedCtx, end := context.WithCancel(t.Context())
	end()
	if o := good.Run(endedCtx, time.Hour); o.Failed != 0 {
		t.Errorf("a load that is over: %v", o.Failure)
	}
}
