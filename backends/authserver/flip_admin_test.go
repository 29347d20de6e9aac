package authserver_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// adminFlips are of the administration API.
func adminFlips() map[string]flip {
	asked := func(f *flipped) int { return f.admin(http.MethodGet, "/clients", "").Code }
	return map[string]flip{
		"admin.api_key": {nil, "0123456789abcdef0123456789abcdef", func(t *testing.T, key keys) string {
			t.Helper()
			return admin(begin(t, keys{"server.issuer": "http://localhost:9000"}, key).server, http.MethodGet, "/admin/clients", "").Result().Status
		}, "200 OK", "401 Unauthorized"},
		"admin.audit_default_lookback": {nil, "1h", func(t *testing.T, key keys) string {
			t.Helper()
			f := begin(t, key)
			f.client(nil)
			f.clock.Pass(2 * time.Hour)
			if strings.Contains(f.admin(http.MethodGet, "/audit", "").Body.String(), `"client.`) {
				return "listed"
			}
			return "too old"
		}, "listed", "too old"},
		"admin.audit_max_lookback": {nil, "48h", func(t *testing.T, key keys) string {
			t.Helper()
			f := begin(t, key)
			return f.admin(http.MethodGet, "/audit?since="+url.QueryEscape(f.clock.Now().Add(-100*time.Hour).UTC().Format(time.RFC3339)), "").status()
		}, "200", "400"},
		"admin.requests_per_second": {nil, 0.001, passed(asked, false, keys{"admin.burst": 2}), "300", "2"},
		"admin.burst":               {nil, 3, passed(asked, false, keys{"admin.requests_per_second": 0.001}), "1", "3"},
	}
}
