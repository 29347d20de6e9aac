package authserver_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
)

// flipsOfAdmin are of the administration.
var flipsOfAdmin = map[string]flip{
	"admin.api_key": {other: "0123456789abcdef0123456789abcdef", want: [2]string{"200", "401"}, see: func(t *testing.T, s settings) string {
		return newLab(t, s).status(http.MethodGet, "/admin/stats", "", "Authorization", "")
	}},
	"admin.audit_default_lookback": {other: "72h", want: [2]string{"false", "true"}, see: func(t *testing.T, s settings) string {
		l := newLab(t, s)
		l.registers()
		l.ask(http.MethodGet, "/admin/audit", "") // what was told is stored
		l.clock.Pass(48 * time.Hour)
		return strconv.FormatBool(strings.Contains(l.ask(http.MethodGet, "/admin/audit", "").Body.String(), "client."))
	}},
	"admin.audit_max_lookback": {other: "2000h", want: [2]string{"400", "200"}, see: func(t *testing.T, s settings) string {
		l := newLab(t, s)
		since := l.clock.Now().Add(-1000 * time.Hour).UTC().Format(time.RFC3339)
		return l.status(http.MethodGet, "/admin/audit?"+url.Values{"since": {since}}.Encode(), "")
	}},
	"admin.requests_per_second": {other: "1", with: settings{"admin.burst": "3"}, want: [2]string{"all", "3"}, see: func(t *testing.T, s settings) string {
		l := newLab(t, s)
		return until(20, http.StatusOK, func() int { return l.ask(http.MethodGet, "/admin/stats", "").Code })
	}},
	"admin.burst": {other: "5", with: settings{"admin.requests_per_second": "1"}, want: [2]string{"1", "5"}, see: func(t *testing.T, s settings) string {
		l := newLab(t, s)
		return until(20, http.StatusOK, func() int { return l.ask(http.MethodGet, "/admin/stats", "").Code })
	}},
}
