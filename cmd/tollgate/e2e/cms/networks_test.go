package cms

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestNetworks checks that a change of allow_networks applies after a reload, to scripts too.
func TestNetworks(t *testing.T) {
	t.Parallel()
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "from inside") }))
	t.Cleanup(inside.Close)
	port := e2e.FreePort(t)
	config := func(networks string) string {
		return fmt.Sprintf(`{
	admin unix/data/admin.sock
	tollgate {
		allow_networks %s
	}
}
http://localhost:%s {
	tollgate cms
}
`, networks, port)
	}
	s := &site{Node: e2e.NewNode(t, config("127.0.0.0/8")), base: "http://localhost:" + port, client: http.DefaultClient}
	s.Start()
	s.answers("/api/test", 200, "test successful")
	s.write("site/config.json", `{"fetchHosts":["`+inside.Listener.Addr().String()+`"]}`)
	s.edit("site/api/Example.js", "static test() {", `static test() { return http.fetch("`+inside.URL+`").text();`)
	s.answers("/api/test", 200, "from inside")
	for networks, status := range map[string]int{"10.0.0.0/8": 500, "127.0.0.1/32": 200} {
		s.Load(config(networks))
		if a := s.do("GET", "/api/test", ""); a.Status != status {
			t.Errorf("with %s: %d %s", networks, a.Status, a.Body)
		}
	}
	s.Stop()
}
