package authserver_test

import (
	"net/http"
	"strconv"
	"testing"
	"time"
)

// registers is what a client is told that registers itself.
func (f *flipped) registers() answer {
	return f.public(http.MethodPost, "/oauth/register", `{"client_name":"App","redirect_uris":["https://app.example/cb"],"token_endpoint_auth_method":"none"}`)
}

// registrationFlips are of clients that register themselves, and of their tokens.
func registrationFlips() map[string]flip {
	registered := func(base keys) func(t *testing.T, key keys) string {
		return func(t *testing.T, key keys) string {
			t.Helper()
			return begin(t, base, key).registers().status()
		}
	}
	return map[string]flip{
		"dcr.mode":               {nil, "admin_only", registered(nil), "201", "403"},
		"dcr.approved_redirects": {nil, []string{"https://app.example/cb"}, registered(keys{"dcr.mode": "approved_redirects"}), "400", "201"},
		"dcr.default_token_expiry": {nil, "5m", func(t *testing.T, key keys) string {
			t.Helper()
			_, tokens := begin(t, key).signedIn()
			return tokens.seconds()
		}, "15m0s", "5m0s"},
		"dcr.default_refresh_expiry": {nil, "1h", func(t *testing.T, key keys) string {
			t.Helper()
			f := begin(t, key)
			c, tokens := f.signedIn()
			f.clock.Pass(2 * time.Hour)
			return f.renew(c, tokens).says()
		}, "200", "invalid_grant"},
		"dcr.rate_limit": {nil, 0.001, func(t *testing.T, key keys) string {
			t.Helper()
			f := begin(t, keys{"dcr.rate_limit_burst": 1}, key)
			f.registers()
			f.clock.Pass(time.Second)
			return f.registers().status()
		}, "201", "429"},
		"dcr.rate_limit_burst": {nil, 2, func(t *testing.T, key keys) string {
			t.Helper()
			f, n := begin(t, key), 0
			for n < 100 && f.registers().Code == http.StatusCreated {
				n++
			}
			return strconv.Itoa(n)
		}, "20", "2"},
	}
}
