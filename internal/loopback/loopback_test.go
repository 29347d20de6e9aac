package loopback

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestDirect(t *testing.T) {
	t.Parallel()
	const local, remote = "127.0.0.1:1", "192.0.2.1:1"
	for name, c := range map[string]struct {
		peer, client, host, header string
		want                       bool
	}{
		"this machine":            {local, "127.0.0.1", "localhost:80", "", true},
		"this machine, IPv6":      {"[::1]:1", "::1", "[::1]:80", "", true},
		"this machine, mapped":    {"[::ffff:127.0.0.1]:1", "::ffff:127.0.0.1", "127.0.0.1", "", true},
		"a Unix socket":           {"@", "", "localhost", "", true},
		"a named Unix socket":     {"/run/a.sock", "@", "localhost", "", true},
		"a name below localhost":  {local, "127.0.0.1", "Auth.Localhost", "", true},
		"another machine":         {remote, "192.0.2.1", "localhost", "", false},
		"a client behind a proxy": {local, "192.0.2.1", "localhost", "", false},
		"a proxy that tells lies": {remote, "127.0.0.1", "localhost", "", false},
		"no address":              {"somewhere", "127.0.0.1", "localhost", "", false},
		"a name of somebody else": {local, "127.0.0.1", "rebound.example.com", "", false},
		"a name like ours":        {local, "127.0.0.1", "localhost.example.com", "", false},
		"a name without a domain": {local, "127.0.0.1", "intranet", "", false},
		"no name":                 {local, "127.0.0.1", "", "", false},
		"X-Forwarded-For":         {local, "127.0.0.1", "localhost", "X-Forwarded-For", false},
		"X-Forwarded-Proto":       {local, "127.0.0.1", "localhost", "X-Forwarded-Proto", false},
		"X-Real-IP":               {local, "127.0.0.1", "localhost", "X-Real-IP", false},
		"Via":                     {local, "127.0.0.1", "localhost", "Via", false},
		"Forwarded":               {local, "127.0.0.1", "localhost", "Forwarded", false},
		"a header like a proxy's": {local, "127.0.0.1", "localhost", "X-Forwarder", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.RemoteAddr, r.Host = c.peer, c.host
			if c.header != "" {
				r.Header.Set(c.header, "")
			}
			if got := Direct(r, c.client); got != c.want {
				t.Errorf("direct: %t, want %t", got, c.want)
			}
		})
	}
}
