package authserver_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
)

// flipsOfAdmin are the tests of the configuration keys of the administration API.
var flipsOfAdmin = map[string]flip{
	"admin.api_key": {Other: "0123456789abcdef0123456789abcdef", Want: [2]string{"200", "401"}, See: func(t *testing.T, s settings) string {
		return newLab(t, s).status(http.MethodGet, "/admin/stats", "", "Authorization", "")
	}},
	"admin.audit_default_lookback": {Other: "72h", Want: [2]string{"false", "true"}, See: func(t *testing.T, s settings) string {
		l := newLab(t, s)
		l.registers()
		l.ask(http.MethodGet, "/admin/audit", "") // the request stores the pending events
		l.clock.Pass(48 * time.Hour)
		return strconv.FormatBool(strings.Contains(l.ask(http.MethodGet, "/admin/audit", "").Body.String(), "client."))
	}},
	"admin.audit_max_lookback": {Other: "2000h", Want: [2]string{"400", "200"}, See: func(t *testing.T, s settings) string {
		l := newLab(t, s)
		since := l.clock.Now().Add(-1000 * time.Hour).UTC().Format(time.RFC3339)
		return l.status(http.MethodGet, "/admin/audit?"+url.Values{"since": {since}}.Encode(), "")
	}},
	"admin.requests_per_second": {Other: "1", With: settings{"admin.burst": "3"}, Want: [2]string{"all", "3"}, See: func(t *testing.T, s settings) string {
		l := newLab(t, s)
		return until(20, http.StatusOK, func() int { return l.ask(http.MethodGet, "/admin/stats", "").Code })
	}},
	"admin.burst": {Other: "5", With: settings{"admin.requests_per_second": "1"}, Want: [2]string{"1", "5"}, See: func(t *testing.T, s settings) string {
		l := newLab(t, s)
		return until(20, http.StatusOK, func() int { return l.ask(http.MethodGet, "/admin/stats", "").Code })
	}},
}
