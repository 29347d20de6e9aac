package hub_test

import (
	"net/http"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// TestStreamHeader checks that a handler that changes the header of one response does not change that of another one.
func TestStreamHeader(t *testing.T) {
	t.Parallel()
	first, second := make(http.Header), make(http.Header)
	for format, want := range map[*hub.Facts]string{
		{}:                            "text/event-stream; charset=utf-8",
		{StreamType: "application/x"}: "application/x",
	} {
		format.SetStreamHeader(first)
		for _, values := range first {
			values[0] = "changed"
			_ = append(values, "more")
		}
		format.SetStreamHeader(second)
		if second.Get("Content-Type") != want || second.Get("Cache-Control") != "no-cache, no-transform" ||
			second.Get("X-Accel-Buffering") != "no" || first.Get("Cache-Control") != "changed" {
			t.Errorf("the header is %v, the changed one %v", second, first)
		}
	}
}
