package tollgate

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/rewrite"
	_ "github.com/caddyserver/caddy/v2/modules/caddytls"
)

// place is a handler that is listed as a service but serves nothing. Its line is: place <title> <path> [hidden].
type place struct {
	Title  string `json:"title,omitempty"`
	Path   string `json:"path,omitempty"`
	Hidden bool   `json:"hidden,omitempty"`
}

func (place) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.place", New: func() caddy.Module { return new(place) }}
}

func (*place) ServeHTTP(http.ResponseWriter, *http.Request, caddyhttp.Handler) error { return nil }

func (p *place) Presence() Presence {
	found := Presence{Service: strings.ToLower(p.Title), Title: p.Title, Path: p.Path}
	if p.Hidden {
		found.Visible = func(r *http.Request) bool { return r.Header.Get("X-Sees") != "" }
	}
	return found
}

func (p *place) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next()
	args := d.RemainingArgs()
	p.Title, p.Path, p.Hidden = args[0], args[1], len(args) > 2
	return nil
}

func init() {
	caddy.RegisterModule(place{})
	httpcaddyfile.RegisterHandlerDirective("place", func(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
		handler := new(place)
		return handler, handler.UnmarshalCaddyfile(h.Dispenser)
	})
	httpcaddyfile.RegisterDirectiveOrder("place", httpcaddyfile.Before, "respond")
}

const places = `{
	admin off
	persist_config off
	http_port 8080
	auto_https off
}
&(shared) {
	place Named /named/
}
https://example.com, https://www.example.com:8443 {
	place Home /_tollgate/
	place Forum /
	handle_path /llm/* {
		place Gateway /console/
	}
	place /only/* Lost /elsewhere/
	invoke shared
}
http://*.wild.example, http://{env.TOLLGATE_TEST_HOST}, http://{http.request.header.x} {
	place Wild /w/
}
:9090 {
	place Any /any/ hidden
}
http://localhost:9001 {
	bind 127.0.0.1
	place Forum /
	place Admin /admin/
}
`

// found provisions a Caddyfile and returns its app after it has looked for the services.
func found(t *testing.T, text string) *App {
	t.Helper()
	t.Chdir(t.TempDir())
	config, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(text), map[string]any{"filename": "Caddyfile"})
	if err != nil {
		t.Fatal(err)
	}
	var parsed caddy.Config
	if err := json.Unmarshal(config, &parsed); err != nil {
		t.Fatal(err)
	}
	parsed.Logging = &caddy.Logging{Logs: map[string]*caddy.CustomLog{"default": {BaseLog: caddy.BaseLog{Level: "PANIC"}}}}
	base, err := caddy.ProvisionContext(&parsed)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := caddy.NewContext(base)
	t.Cleanup(cancel)
	app, err := From(ctx)
	if err != nil {
		t.Fatal(err)
	}
	app.findServices()
	return app
}

// asked returns a request for a URL from a client address.
func asked(url, clientIP string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, url, http.NoBody)
	r.RemoteAddr = clientIP + ":1234"
	if r.URL.Scheme == "https" {
		r.TLS = new(tls.ConnectionState)
	}
	return r.WithContext(context.WithValue(r.Context(), caddyhttp.VarsCtxKey, map[string]any{caddyhttp.ClientIPVarKey: clientIP}))
}

// TestServices checks where services are found, and to which of their addresses a visitor is directed.
func TestServices(t *testing.T) {
	t.Setenv("TOLLGATE_TEST_HOST", "env.example")
	app := found(t, places)
	addresses := make(map[string]string)
	for _, m := range app.AllServices() {
		for _, a := range m.Addresses {
			addresses[m.Title] += " " + a.String()
		}
	}
	for title, want := range map[string]string{
		"Home":    " https://example.com https://www.example.com:8443",
		"Forum":   " http://localhost:9001 https://example.com https://www.example.com:8443",
		"Gateway": " https://example.com/llm https://www.example.com:8443/llm",
		"Lost":    " https://example.com https://www.example.com:8443",
		"Wild":    " http://*.wild.example:8080 http://env.example:8080",
		"Any":     " http://*:9090",
		"Admin":   " http://localhost:9001",
		"Named":   " https://example.com https://www.example.com:8443",
	} {
		if addresses[title] != want {
			t.Errorf("%s:%s, want%s", title, addresses[title], want)
		}
	}

	for name, c := range map[string]struct {
		r    *http.Request
		want string
	}{
		"on the same site":       {asked("https://example.com/", "192.0.2.1"), "Home=/_tollgate/ Forum=/ Gateway=/llm/console/ Named=/named/ Wild=http://env.example:8080/w/"},
		"on the other port":      {asked("https://www.example.com:8443/", "192.0.2.1"), "Home=/_tollgate/ Forum=/ Gateway=/llm/console/ Named=/named/ Wild=http://env.example:8080/w/"},
		"on a name of many":      {asked("http://a.wild.example:8080/", "192.0.2.1"), "Home=https://example.com/_tollgate/ Forum=https://example.com/ Gateway=https://example.com/llm/console/ Named=https://example.com/named/ Wild=/w/"},
		"on this machine":        {asked("http://localhost:9001/", "127.0.0.1"), "Home=https://example.com/_tollgate/ Admin=/admin/ Forum=/ Gateway=https://example.com/llm/console/ Named=https://example.com/named/ Wild=http://env.example:8080/w/"},
		"here, on another site":  {asked("http://127.0.0.1:9090/", "127.0.0.1"), "Home=https://example.com/_tollgate/ Admin=http://localhost:9001/admin/ Forum=https://example.com/ Gateway=https://example.com/llm/console/ Named=https://example.com/named/ Wild=http://env.example:8080/w/"},
		"who may see the hidden": {sees(asked("https://example.com/", "192.0.2.1")), "Home=/_tollgate/ Any=http://example.com:9090/any/ Forum=/ Gateway=/llm/console/ Named=/named/ Wild=http://env.example:8080/w/"},
	} {
		services := app.Bar("forum")(c.r).Services
		got := make([]string, 0, len(services))
		for _, s := range services {
			got = append(got, s.Title+"="+s.URL)
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s:\n%s, want\n%s", name, text, c.want)
		}
	}
}

func sees(r *http.Request) *http.Request {
	r.Header.Set("X-Sees", "yes")
	return r
}

// TestServicesWithoutServers checks that an app without servers has no services.
func TestServicesWithoutServers(t *testing.T) { // not parallel: see app_test.go
	t.Chdir(t.TempDir())
	app := provision(t, "{}")
	app.findServices()
	if all := app.AllServices(); len(all) != 0 {
		t.Errorf("found %v", all)
	}
}
