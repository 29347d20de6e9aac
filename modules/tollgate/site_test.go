package tollgate

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

func init() {
	Register(Service{Name: homeService, Block: []string{"name"}, Form: `@home path / /_tollgate/*
route @home {
	hello {
		{{range .block}}{{.}}{{else}}name home{{end}}
	}
}
`})
	Register(Service{Name: "words", Form: "route {\n\thello {\n\t\tname words\n\t}\n}\n"})
}

// names returns the names of a configuration's handlers in the order in which requests reach them, each followed by the
// first path that it matches.
func names(config gjson.Result) (found []string) {
	var walk func(routes gjson.Result, path string)
	walk = func(routes gjson.Result, path string) {
		for _, route := range routes.Array() {
			fullPath := path + route.Get("match.0.path.0").String()
			for _, handler := range route.Get("handle").Array() {
				if name := handler.Get("name"); name.Exists() {
					found = append(found, name.String()+fullPath)
				}
				walk(handler.Get("routes"), fullPath)
			}
		}
	}
	for _, server := range config.Get("apps.http.servers").Map() {
		walk(server.Get("routes"), "")
	}
	return found
}

// TestHomeOfSite checks that a site with two services gets a home page before them, that a site with one service gets
// none, and that an explicit line replaces it.
func TestHomeOfSite(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, want string }{
		"one service":              {"tollgate words", "words"},
		"two services":             {"tollgate words\ntollgate hello {\n\tname hello\n}", "home/ words hello"},
		"one service twice":        {"tollgate words\ntollgate /x/* words", "words/x/* words"},
		"a line of its own":        {"tollgate words\ntollgate home {\n\tname ours\n}", "ours/ words"},
		"a line before others":     {"tollgate home {\n\tname ours\n}\ntollgate words\ntollgate hello {\n\tname hello\n}", "ours/ words hello"},
		"a line behind others":     {"tollgate words\ntollgate hello {\n\tname hello\n}\ntollgate home {\n\tname ours\n}", "ours/ words hello"},
		"a line with a matcher":    {"tollgate words\ntollgate hello {\n\tname hello\n}\ntollgate /y/* home {\n\tname ours\n}", "ours/y/* words hello"},
		"each in a block":          {"handle /a/* {\n\ttollgate words\n}\nhandle /b/* {\n\ttollgate hello {\n\t\tname hello\n\t}\n}", "words/a/* hello/b/*"},
		"two services in a block":  {"handle /a/* {\n\ttollgate words\n\ttollgate hello {\n\t\tname hello\n\t}\n}", "home/a/*/ words/a/* hello/a/*"},
		"services of another site": {"tollgate words\n}\nhttp://localhost:1 {\n\ttollgate hello {\n\t\tname hello\n\t}", ""},
	} {
		config, err := adapt(c.body)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := strings.Join(names(gjson.Parse(config)), " ")
		if c.want == "" {
			if strings.Contains(got, homeService) || !strings.Contains(got, "words") || !strings.Contains(got, "hello") {
				t.Errorf("%s: %s", name, got)
			}
			continue
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
