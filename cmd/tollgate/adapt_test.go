package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

// divider separates the Caddyfile of a case from its result.
const divider = "\n----------\n"

// TestAdapt checks every option and every error of the directives. In testdata/adapt/*.caddytest, the Caddyfile before
// the line of dashes must adapt to the JSON after that line, or be refused with the error after it. The JSON must also
// be a valid configuration: its modules are provisioned and validated.
func TestAdapt(t *testing.T) {
	files, err := filepath.Glob("testdata/adapt/*.caddytest")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 80 {
		t.Fatalf("only %d cases, some are missing", len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".caddytest"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			input, want, ok := strings.Cut(string(text), divider)
			if !ok && !*update {
				t.Fatal("no line of dashes")
			}
			input = strings.TrimRight(input, "\n") + "\n"
			got := adapted(input)
			if *update {
				if err := os.WriteFile(file, []byte(strings.TrimRight(input, "\n")+divider+got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != want {
				t.Errorf("adapts to\n%s\nwant\n%s", got, want)
			}
			// A case must be an error exactly when the name of its file contains _bad_.
			if isError := !strings.HasPrefix(got, "{"); isError != strings.Contains(filepath.Base(file), "_bad_") {
				t.Errorf("an error: %t, against the name of the file", isError)
			}
		})
	}
}

// adapted returns the JSON of a Caddyfile, or the error of adapting or validating it.
func adapted(input string) string {
	config, warnings, err := adapt(input)
	if err != nil {
		return err.Error() + "\n"
	}
	if len(warnings) > 0 {
		return warnings[0].String() + "\n"
	}
	var parsed caddy.Config
	if err := json.Unmarshal(config, &parsed); err != nil {
		return err.Error() + "\n"
	}
	if err := caddy.Validate(&parsed); err != nil {
		return "validate: " + err.Error() + "\n"
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, config, "", "\t"); err != nil {
		return err.Error() + "\n"
	}
	return pretty.String() + "\n"
}

func adapt(input string) ([]byte, []caddyconfig.Warning, error) {
	return caddyconfig.GetAdapter("caddyfile").Adapt([]byte(input), map[string]any{"filename": "Caddyfile"})
}

func mustAdapt(t *testing.T, input string) []byte {
	t.Helper()
	config, _, err := adapt(input)
	if err != nil {
		t.Fatalf("%v\n%s", err, input)
	}
	return config
}

// longForms has the files in docs/reference/services, with the options that they have.
var longForms = map[string]struct {
	service string
	options map[string][]string
}{
	"answer":        {"answer", nil},
	"authserver":    {"authserver", nil},
	"board":         {"board", nil},
	"cms":           {"cms", nil},
	"events":        {"events", nil},
	"events.budget": {"events", map[string][]string{"budget": {"600"}}},
	"gateway":       {"gateway", nil},
	"home":          {"home", nil},
}

// TestLongForms checks that the files in docs/reference/services adapt to the same JSON as the short forms of the
// services.
func TestLongForms(t *testing.T) {
	t.Parallel()
	services := make(map[string]bool)
	for name, f := range longForms {
		services[f.service] = true
		text, err := tollgate.LongForm(f.service, f.options)
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile("../../docs/reference/services/"+name+".caddyfile", []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := e2e.LongForm(t, name); got != text {
			t.Errorf("docs/reference/services/%s.caddyfile: run the test with -update; it is not\n%s", name, text)
		}
		line := f.service
		if budget := f.options["budget"]; budget != nil {
			line += " {\n\tbudget " + strings.Join(budget, " ") + "\n}"
		}
		site := func(body string) string { return "http://a.test {\n" + body + "\n}\n" }
		if short, long := mustAdapt(t, site("tollgate "+line)), mustAdapt(t, site(text)); !bytes.Equal(short, long) {
			t.Errorf("%s: the short form adapts to\n%s\nthe long one to\n%s", name, short, long)
		}
	}
	for _, service := range tollgate.Services() {
		if !services[service] {
			t.Errorf("docs/reference/services has no long form of %s", service)
		}
	}
}

// TestServiceForms checks that the short form of a service adapts to the same JSON as the text of the service's file,
// also with options.
func TestServiceForms(t *testing.T) {
	t.Parallel()
	long := e2e.LongForm(t, "gateway")
	site := func(body string) string { return "http://gateway.test {\n" + body + "\n}\n" }
	for name, test := range map[string]struct{ short, long string }{
		"plain":       {"tollgate gateway", long},
		"empty block": {"tollgate gateway {\n}", long},
		"max_body":    {"tollgate gateway {\n\tmax_body 1MB\n}", e2e.Swap(t, long, "\n\t@inference", "\trequest_body {\n\t\tmax_size 1MB\n\t}\n\n\t@inference")},
		"cascade": {
			"tollgate gateway {\n\tcascade {\n\t\tidle 5s\n\t\tfirst_content low 1s\n\t\tentry_fallback\n\t}\n}",
			e2e.Swap(t, long, "\tcascade\n", "\tcascade {\n\t\tidle 5s\n\t\tfirst_content low 1s\n\t\tentry_fallback\n\t}\n"),
		},
		"console": {
			"tollgate gateway {\n\tconsole {\n\t\toidc https://id.example.com console\n\t\ttoken id\n\t}\n}",
			e2e.Swap(t, long, "\tkeychain {\n", "\tkeychain {\n\t\tconsole {\n\t\t\toidc https://id.example.com console\n\t\t\ttoken id\n\t\t}\n"),
		},
		"request_log": {
			"tollgate gateway {\n\trequest_log 30d\n\tconsole off\n}",
			e2e.Swap(t, long, "\tkeychain {\n", "\tkeychain {\n\t\trequest_log 30d\n\t\tconsole off\n"),
		},
		"matcher": {
			"@ours host a.test\ntollgate @ours gateway", "@ours host a.test\n" + e2e.Swap(t, long, "route {", "route @ours {"),
		},
		"path": {"tollgate /llm/* gateway", e2e.Swap(t, long, "route {", "route /llm/* {")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			short, long := mustAdapt(t, site(test.short)), mustAdapt(t, site(test.long))
			if !bytes.Equal(short, long) {
				t.Errorf("the short form adapts to\n%s\nthe long one to\n%s", short, long)
			}
			if !bytes.Contains(short, []byte(`"handler":"cascade"`)) {
				t.Errorf("no cascade in %s", short)
			}
		})
	}
}

// TestDirectiveOrder checks that, whatever the order of a site's lines, errors are outermost, followed by
// authentication, costs and the answer.
func TestDirectiveOrder(t *testing.T) {
	t.Parallel()
	lines := []string{
		"api_errors problem", "request_body {\n\t\tmax_size 1MB\n\t}", "api_auth gateway_key", "budget {\n\t\tlimit 10\n\t}",
	}
	for responder, handler := range map[string]string{
		"cascade": "cascade", "keychain": "keychain", "scripted_model": "scripted_model", "reverse_proxy 127.0.0.1:1": "reverse_proxy",
	} {
		want := []string{"api_errors", "request_body", "api_auth", "budget", handler}
		forEachOrder(append(slices.Clone(lines), responder), func(order []string) {
			config := mustAdapt(t, "http://a.test {\n\t"+strings.Join(order, "\n\t")+"\n}\n")
			if got := handlers(t, config); !slices.Equal(got, want) {
				t.Errorf("%q: order %q, want %q", order, got, want)
			}
		})
	}
}

// forEachOrder calls fn with every permutation of list (Heap's algorithm).
func forEachOrder(list []string, fn func([]string)) {
	var permute func(n int)
	permute = func(n int) {
		if n <= 1 {
			fn(list)
			return
		}
		for i := range n {
			permute(n - 1)
			j := 0
			if n%2 == 0 {
				j = i
			}
			list[j], list[n-1] = list[n-1], list[j]
		}
	}
	permute(len(list))
}

// handlers returns the names of the handlers of the only site in their order of execution.
func handlers(t *testing.T, config []byte) []string {
	t.Helper()
	type route struct {
		Handle []struct {
			Handler string
			Routes  json.RawMessage
		}
	}
	var parsed struct {
		Apps struct {
			HTTP struct {
				Servers map[string]struct{ Routes []route }
			}
		}
	}
	if err := json.Unmarshal(config, &parsed); err != nil {
		t.Fatal(err)
	}
	var names []string
	var walk func(routes []route)
	walk = func(routes []route) {
		for _, r := range routes {
			for _, h := range r.Handle {
				if h.Handler == "subroute" {
					var inner []route
					if err := json.Unmarshal(h.Routes, &inner); err != nil {
						t.Fatal(err)
					}
					walk(inner)
					continue
				}
				names = append(names, h.Handler)
			}
		}
	}
	for _, server := range parsed.Apps.HTTP.Servers {
		walk(server.Routes)
	}
	return names
}

// TestShippedCaddyfiles checks that every file in caddyfiles is formatted, and that the binary accepts it unchanged in
// an empty folder. Only the variables of the cluster, which have no defaults, are set.
func TestShippedCaddyfiles(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../../caddyfiles")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, "*", "Caddyfile"))
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob(filepath.Join(root, "*", "*.caddyfile"))
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, more...)
	if len(files) < 3 {
		t.Fatalf("found %q", files)
	}
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file))+"/"+filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			tool := func(args ...string) string {
				cmd := exec.CommandContext(t.Context(), e2e.Binary, args...)
				cmd.Dir, cmd.Env = dir, e2e.Environment(dir)
				if filepath.Base(filepath.Dir(file)) == "cluster" {
					cmd.Env = append(cmd.Env, "TOLLGATE_DSN=postgres://127.0.0.1:1/x", "TOLLGATE_REDIS_URL=redis://127.0.0.1:1",
						"TOLLGATE_MASTER_KEY="+base64.StdEncoding.EncodeToString(make([]byte, 32)))
				}
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Errorf("tollgate %s: %v\n%s", strings.Join(args, " "), err, out)
				}
				return string(out)
			}
			tool("fmt", "--diff", file)
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			copied := filepath.Join(dir, "Caddyfile")
			if err := os.WriteFile(copied, text, 0o600); err != nil {
				t.Fatal(err)
			}
			tool("fmt", "--overwrite", copied)
			if formatted, err := os.ReadFile(copied); err != nil || !bytes.Equal(formatted, text) {
				t.Errorf("caddy fmt would change it (%v) to\n%s", err, formatted)
			}
			if config := tool("adapt", "--config", file); !strings.Contains(config, `"apps"`) {
				t.Errorf("adapts to %s", config)
			}
			tool("validate", "--config", file)
			// Validating creates no database, key or socket.
			for _, name := range []string{"data/tollgate.db", "data/tollgate.key", "data/admin.sock"} {
				if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
					t.Errorf("validate made %s", name)
				}
			}
		})
	}
}
