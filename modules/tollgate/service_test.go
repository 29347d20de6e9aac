package tollgate

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/headers"

	_ "github.com/tollgate-gateway/tollgate/modules/apierrors"
	_ "github.com/tollgate-gateway/tollgate/modules/budget"
)

// hello is the complete service of docs/how-to/add-a-service.md.
type hello struct {
	Name string `json:"name,omitempty"`
}

func (hello) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.hello", New: func() caddy.Module { return new(hello) }}
}

func (h *hello) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	if r.URL.Path != "/hello" {
		return caddyhttp.Error(http.StatusNotFound, errors.New("there is nothing at this path"))
	}
	_, err := io.WriteString(w, "Hello, "+h.Name)
	return err
}

func (h *hello) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	for d.Next(); d.NextBlock(0); {
		if d.Val() != "name" || !d.AllArgs(&h.Name) {
			return d.Errf("hello has no option %q; there is: name", d.Val())
		}
	}
	return nil
}

const helloForm = `route {
	api_errors problem
	budget {
		limit {{or .limit "100"}}
		window 1m
{{- range .costs.all}}
		cost {{.}}
{{- end}}
	}
	{{or .header "header X-Served-By hello"}}
	hello {
{{- range .block}}
		{{.}}
{{- end}}
	}
}
`

func init() {
	caddy.RegisterModule(hello{})
	httpcaddyfile.RegisterHandlerDirective("hello", func(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
		handler := new(hello)
		return handler, handler.UnmarshalCaddyfile(h.Dispenser)
	})
	for _, directive := range []string{"hello", "tollgate"} {
		httpcaddyfile.RegisterDirectiveOrder(directive, httpcaddyfile.Before, "respond")
	}
	for _, directive := range []string{"api_errors", "budget"} {
		httpcaddyfile.RegisterDirectiveOrder(directive, httpcaddyfile.Before, "header")
	}
	Register(Service{
		Name: "hello", Form: helloForm, Block: []string{"name"},
		Options: []Option{{Name: "limit", Read: ReadWord}, {Name: "header"}, {Name: "guests", Read: ReadOff}},
		Costs: func() map[string][]Cost {
			return map[string][]Cost{"all": {{Units: 10, Method: "GET", Path: "/hello"}}}
		},
	})
	for _, name := range []string{"board", "events", "gateway"} { // the modules of other tests
		Register(Service{Name: name})
	}
}

func adapt(body string) (string, error) {
	text, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte("{\n\tadmin off\n\tauto_https off\n\tpersist_config off\n\tlog {\n\t\toutput discard\n\t}\n}\nhttp://localhost:0 {\n"+body+"\n}\n"),
		map[string]any{"filename": "Caddyfile"})
	return string(text), err
}

// TestNewService checks that one line mounts a registered service with its error format, costs and options.
func TestNewService(t *testing.T) { // not parallel: Caddy runs one configuration
	config, err := adapt("tollgate hello {\n\tname Ada\n\tlimit 15\n}")
	if err != nil {
		t.Fatal(err)
	}
	if err := caddy.Load([]byte(config), true); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := caddy.Stop(); err != nil {
			t.Error(err)
		}
	})
	web, err := caddy.ActiveContext().App("http")
	if err != nil {
		t.Fatal(err)
	}
	server := web.(*caddyhttp.App).Servers["srv0"]
	for _, c := range []struct {
		path         string
		status       int
		body, header string
	}{
		{"/hello", http.StatusOK, "Hello, Ada", "hello"},
		{"/nothing", http.StatusNotFound, `"status":404`, "hello"},
		{"/hello", http.StatusTooManyRequests, `"status":429`, ""}, // 10 and 1 of 15 are spent
	} {
		r := httptest.NewRequest(http.MethodGet, "http://localhost"+c.path, nil)
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.body) || w.Header().Get("X-Served-By") != c.header {
			t.Errorf("%s: %d %v\n%s", c.path, w.Code, w.Header(), w.Body)
		}
	}
}

// TestForms checks that the line and the long form adapt to the same configuration.
func TestForms(t *testing.T) {
	t.Parallel()
	long := func(options map[string][]string) string {
		text, err := LongForm("hello", options)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for short, want := range map[string]string{
		"tollgate hello":                                      long(nil),
		"tollgate hello {\n}":                                 long(nil),
		"tollgate hello {\nlimit 7\n}":                        long(map[string][]string{"limit": {"7"}}),
		"tollgate hello {\nheader {\nX-A \"1 {\"\n}\n}":       strings.Replace(long(nil), "header X-Served-By hello", "header {\n\t\tX-A \"1 {\"\n\t}", 1),
		"tollgate hello {\nname \"Ada Lovelace\"\nlimit 7\n}": strings.Replace(long(map[string][]string{"limit": {"7"}}), "hello {\n", "hello {\n\t\tname \"Ada Lovelace\"\n", 1),
		"@a path /a*\ntollgate @a hello":                      "@a path /a*\n" + strings.Replace(long(nil), "route {", "route @a {", 1),
		"tollgate /a* hello":                                  strings.Replace(long(nil), "route {", "route /a* {", 1),
	} {
		a, err := adapt(short)
		if err != nil {
			t.Errorf("%s: %v", short, err)
			continue
		}
		b, err := adapt(want)
		if err != nil {
			t.Fatalf("%v\n%s", err, want)
		}
		if a != b {
			t.Errorf("%s\nadapts to\n%s\nand\n%s\nto\n%s", short, a, want, b)
		}
	}
	if text := long(nil); !strings.Contains(text, "\t\tlimit 100\n\t\twindow 1m\n\t\tcost 10 GET /hello\n\t}\n") {
		t.Errorf("the long form is\n%s", text)
	}
}

func TestBadForms(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"tollgate":                               "tollgate needs a service; there are: board, ",
		"tollgate {\ndatabase sqlite x\n}":       "options such as database belong to the global option tollgate, in the block at the top of the file, at Caddyfile:11",
		"tollgate teapot":                        `there is no service "teapot"; there are: board, events, gateway, hello, home, words, at Caddyfile:10`,
		"tollgate hello x":                       "wrong argument count",
		"tollgate hello {\nlunch\n}":             `unknown option "lunch"; there are: limit, header, guests, name, at Caddyfile:11`,
		"tollgate hello {\nlimit 1\nlimit 2\n}":  "limit is given twice, at Caddyfile:12",
		"tollgate hello {\nlimit 1 2\n}":         "wrong argument count",
		"tollgate hello {\nguests on\n}":         "the only argument of guests is off: write guests off, at Caddyfile:11",
		"tollgate hello {\nname\n}":              "hello has no option",
		"tollgate hello {\nlimit x\nname Ada\n}": `"x" is not`,
	} {
		text, err := adapt(body)
		if err == nil {
			var loaded *caddy.Config
			if err = caddy.StrictUnmarshalJSON([]byte(text), &loaded); err == nil {
				err = caddy.Validate(loaded)
			}
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", body, err, want)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a service is registered twice")
		}
	}()
	Register(Service{Name: "hello"})
}
