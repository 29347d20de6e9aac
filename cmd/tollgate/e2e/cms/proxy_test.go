package cms

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestBehindProxy checks that the CMS and the board trust a proxy that terminates TLS only if trusted_proxies names it.
func TestBehindProxy(t *testing.T) {
	t.Parallel()
	trusting, wary := e2e.FreePort(t), e2e.FreePort(t)
	n := e2e.NewNode(t, fmt.Sprintf(`{
	admin unix/data/admin.sock
	servers :%s {
		trusted_proxies static 127.0.0.1/8
	}
}
http://localhost:%s, http://localhost:%s {
	@board path /board*
	handle_path /board* {
		tollgate board
	}
	tollgate cms
}
`, trusting, trusting, wary))
	n.Start()
	for port, scheme := range map[string]string{trusting: "https", wary: "http"} {
		base := "http://localhost:" + port
		ask := func(path string, header ...string) *e2e.Answer {
			return e2e.Do(t, http.DefaultClient, "GET", base+path, "", "", append(header, "X-Forwarded-Host", "evil.example")...)
		}
		e2e.Eventually(t, e2e.WaitLimit, "the site answers", func() error {
			if a := ask("/admin/login"); a.Status != http.StatusOK {
				return fmt.Errorf("%d %s", a.Status, a.Body)
			}
			return nil
		})
		for _, path := range []string{"/admin/login", "/board/login"} {
			for proto, secure := range map[string]bool{"https": scheme == "https", "http": false} {
				a := ask(path, "X-Forwarded-Proto", proto)
				if set := strings.Join(a.Header.Values("Set-Cookie"), "\n"); set == "" || strings.Contains(set, "; Secure") != secure {
					t.Errorf("%s of %s behind %s: %d %q", path, scheme, proto, a.Status, set)
				}
			}
		}
	}
	n.Stop()
}
