package runevents

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// TestAccess checks that a client is allowed by every rule that matches it, and by no other rule.
func TestAccess(t *testing.T) {
	t.Parallel()
	request := func(peer, client, user string, header ...string) *http.Request {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr, r.Host = peer, "localhost:8140"
		for i := 0; i+1 < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		repl := caddy.NewReplacer()
		if user != "" {
			repl.Set("http.auth.user.id", user)
		}
		ctx := context.WithValue(r.Context(), caddy.ReplacerCtxKey, repl)
		return r.WithContext(context.WithValue(ctx, caddyhttp.VarsCtxKey, map[string]any{caddyhttp.ClientIPVarKey: client}))
	}
	named := func(host string) *http.Request {
		r := request("127.0.0.1:1", "127.0.0.1", "")
		r.Host = host
		return r
	}
	certificate := func(name string, verified bool) *http.Request {
		r := request("192.0.2.1:1", "192.0.2.1", "")
		leaf := &x509.Certificate{Subject: pkix.Name{CommonName: name}}
		r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}}
		if verified {
			r.TLS.VerifiedChains = [][]*x509.Certificate{{leaf}}
		}
		return r
	}
	own := func(header, value string) *http.Request {
		return request("127.0.0.1:1", "127.0.0.1", "", header, value)
	}
	var (
		loopback = Access{Loopback: true}
		users    = Access{AnyUser: true}
		ada      = Access{Users: []string{"ada"}}
		puppet   = Access{Certnames: []string{"puppet.example.com"}}
		verified = Access{Certificate: true}
	)
	for name, c := range map[string]struct {
		access  Access
		request *http.Request
		want    bool
	}{
		"nobody":                     {Access{}, request("127.0.0.1:1", "127.0.0.1", "ada"), false},
		"anybody":                    {Access{Any: true}, request("192.0.2.1:1", "192.0.2.1", ""), true},
		"this machine":               {loopback, request("127.0.0.1:1", "127.0.0.1", ""), true},
		"this machine, IPv6":         {loopback, request("[::1]:1", "::1", ""), true},
		"a name of somebody else":    {loopback, named("rebound.example.com:8140"), false},
		"a name like ours":           {loopback, named("localhost.example.com"), false},
		"no name":                    {loopback, named(""), false},
		"an address":                 {loopback, named("127.0.0.1:8140"), true},
		"an address, IPv6":           {loopback, named("[::1]"), true},
		"another machine":            {loopback, request("192.0.2.1:1", "192.0.2.1", ""), false},
		"behind a trusted proxy":     {loopback, request("127.0.0.1:1", "192.0.2.1", ""), false},
		"a client that claims to be": {loopback, request("192.0.2.1:1", "127.0.0.1", ""), false},
		"behind a proxy":             {loopback, request("127.0.0.1:1", "127.0.0.1", "", "X-Forwarded-For", "192.0.2.1"), false},
		"behind a standard proxy":    {loopback, request("127.0.0.1:1", "127.0.0.1", "", "Forwarded", "for=192.0.2.1"), false},
		"a proxy that tells nothing": {loopback, own("X-Forwarded-For", ""), false},
		"a proxy, its scheme":        {loopback, own("X-Forwarded-Proto", "https"), false},
		"a proxy, its host":          {loopback, own("X-Forwarded-Host", ""), false},
		"a proxy, its own way":       {loopback, own("X-Real-Ip", "127.0.0.1"), false},
		"a proxy that is named":      {loopback, own("Via", "1.1 front"), false},
		"a proxy without a name":     {loopback, own("Via", ""), false},
		"a standard proxy, empty":    {loopback, own("Forwarded", ""), false},
		"a header like a proxy's":    {loopback, own("X-Forwarder", "a"), true},
		"a user":                     {users, request("192.0.2.1:1", "192.0.2.1", "bert"), true},
		"no user":                    {users, request("127.0.0.1:1", "127.0.0.1", ""), false},
		"this user":                  {ada, request("192.0.2.1:1", "192.0.2.1", "ada"), true},
		"another user":               {ada, request("192.0.2.1:1", "192.0.2.1", "bert"), false},
		"certificate":                {puppet, certificate("puppet.example.com", true), true},
		"certificate of another":     {puppet, certificate("web01.example.com", true), false},
		"certificate not verified":   {puppet, certificate("puppet.example.com", false), false},
		"any certificate":            {verified, certificate("web01.example.com", true), true},
		"any that is not verified":   {verified, certificate("web01.example.com", false), false},
		"none of any":                {verified, request("127.0.0.1:1", "127.0.0.1", "ada"), false},
		"by default, this machine":   {submitDefault, request("127.0.0.1:1", "127.0.0.1", ""), false},
		"by default, a user":         {submitDefault, request("192.0.2.1:1", "192.0.2.1", "bert"), true},
		"by default, a certificate":  {submitDefault, certificate("puppet.example.com", true), true},
		"no certificate":             {puppet, request("127.0.0.1:1", "127.0.0.1", ""), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := c.access.allows(c.request); got != c.want {
				t.Errorf("let in: %t, want %t", got, c.want)
			}
		})
	}
}

// TestAccessNames checks the warning if read is restricted to certain clients but submit is not.
func TestAccessNames(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		access Access
		want   bool
	}{
		{Access{Users: []string{"ada"}}, true},
		{Access{Loopback: true, Certnames: []string{"ada"}}, true},
		{Access{AnyUser: true, Certificate: true}, false},
		{readDefault, false},
		{Access{Any: true}, false},
	} {
		if got := test.access.restricted(); got != test.want {
			t.Errorf("%+v: %v", test.access, got)
		}
	}
}
