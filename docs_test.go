package tollgate_test

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	_ "github.com/caddyserver/caddy/v2/modules/standard"
	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/internal/doctest"
)

// pages returns the documents by their paths from the root of the repository.
func pages(t *testing.T) map[string]string {
	t.Helper()
	texts := make(map[string]string)
	read := func(name string) {
		text, err := os.ReadFile(filepath.FromSlash(name))
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(text)
	}
	for _, name := range []string{"README.md", "CONTRIBUTING.md", "SECURITY.md"} {
		read(name)
	}
	err := fs.WalkDir(os.DirFS("."), "docs", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && path.Ext(name) == ".md" {
			read(name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// page returns the text of one document.
func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var (
	heading    = regexp.MustCompile(`(?m)^#{1,6} +(.*?) *$`)
	codeSpan   = regexp.MustCompile("`[^`\n]*`")
	inline     = regexp.MustCompile(`\]\(([^()\s]*(?:\([^()\s]*\)[^()\s]*)*)\)`)
	attribute  = regexp.MustCompile(`(?:src|srcset|href)="([^"]*)"`)
	linkedText = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	unspoken   = regexp.MustCompile(`[^\p{L}\p{N}\p{M} _-]`)
)

// anchors returns the fragments that link to the headings of a page, as the common renderers create them.
func anchors(text string) map[string]bool {
	_, text = doctest.Blocks(text)
	found := make(map[string]bool)
	for _, match := range heading.FindAllStringSubmatch(text, -1) {
		name := linkedText.ReplaceAllString(match[1], "$1")
		name = unspoken.ReplaceAllString(strings.ToLower(name), "")
		name = strings.ReplaceAll(name, " ", "-")
		unique := name
		for n := 1; found[unique]; n++ {
			unique = name + "-" + strconv.Itoa(n)
		}
		found[unique] = true
	}
	return found
}

// links returns the targets of the links of a page.
func links(text string) []string {
	_, text = doctest.Blocks(text)
	text = codeSpan.ReplaceAllString(text, "")
	var found []string
	for _, pattern := range []*regexp.Regexp{inline, attribute} {
		for _, match := range pattern.FindAllStringSubmatch(text, -1) {
			found = append(found, match[1])
		}
	}
	return found
}

// relative returns the path in the repository and the fragment that a link of a page leads to. It reports false for a
// link to somewhere else.
func relative(source, link string) (target, fragment string, ok bool) {
	if strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
		return "", "", false
	}
	target, fragment, _ = strings.Cut(link, "#")
	if target == "" {
		return source, fragment, true
	}
	return path.Join(path.Dir(source), target), fragment, true
}

// TestDocumentLinks checks that the targets of the links in the documents exist, anchors included.
func TestDocumentLinks(t *testing.T) {
	t.Parallel()
	count := 0
	texts := pages(t)
	for name, text := range texts {
		for _, link := range links(text) {
			target, fragment, ok := relative(name, link)
			if !ok {
				continue
			}
			count++
			if _, err := os.Stat(filepath.FromSlash(target)); err != nil || strings.HasPrefix(target, "../") {
				t.Errorf("%s: %s leads nowhere", name, link)
				continue
			}
			if fragment == "" {
				continue
			}
			if targetText, ok := texts[target]; !ok || !anchors(targetText)[fragment] {
				t.Errorf("%s: %s: there is no such heading", name, link)
			}
		}
	}
	if count < 100 {
		t.Errorf("only %d links: they are not found any more", count)
	}
}

// TestDocumentsReached checks that every page is linked from the index of the documents, which the README links. Pages
// of a folder with an index of its own, such as decisions, are linked from that one.
func TestDocumentsReached(t *testing.T) {
	t.Parallel()
	reached := func(source string) map[string]bool {
		found := make(map[string]bool)
		for _, link := range links(page(t, source)) {
			if target, _, ok := relative(source, link); ok {
				found[target] = true
			}
		}
		return found
	}
	index := reached("docs/README.md")
	for name := range maps.Clone(index) {
		if path.Base(name) == "README.md" {
			maps.Copy(index, reached(name))
		}
	}
	if !reached("README.md")["docs/README.md"] {
		t.Error("README.md does not link docs/README.md")
	}
	for name := range pages(t) {
		if strings.HasPrefix(name, "docs/") && name != "docs/README.md" && !index[name] {
			t.Errorf("docs/README.md does not link %s", name)
		}
	}
}

// TestDocumentTasks checks that the first tasks of newcomers are at most two links away from the README.
func TestDocumentTasks(t *testing.T) {
	t.Parallel()
	texts := pages(t)
	reached := map[string]bool{"README.md": true}
	for range 2 {
		for name := range maps.Clone(reached) {
			name, _, _ := strings.Cut(name, "#")
			for _, link := range links(texts[name]) {
				if target, fragment, ok := relative(name, link); ok {
					reached[target] = true
					reached[target+"#"+fragment] = true
				}
			}
		}
	}
	for task, target := range map[string]string{
		"run a Caddyfile of one's own":          "README.md#your-own-caddyfile",
		"connect Python's openai":               "docs/how-to/connect-sdks.md#python",
		"use a coding agent":                    "docs/how-to/coding-agents.md",
		"add a provider key":                    "docs/how-to/provider-keys.md",
		"limit an existing service":             "docs/tutorials/existing-service.md",
		"sign in with an identity provider":     "docs/how-to/single-sign-on.md",
		"move to PostgreSQL and Redis":          "docs/how-to/several-nodes.md#move-one-node-to-postgresql-and-redis",
		"scrape metrics":                        "docs/how-to/monitoring.md",
		"back up":                               "docs/how-to/back-up.md",
		"upgrade":                               "docs/how-to/upgrade.md",
		"trust the certificate of this machine": "docs/how-to/trust-local-certificate.md",
		"find out what went wrong":              "docs/troubleshooting.md",
	} {
		if !reached[target] {
			t.Errorf("%s: %s is further than two links from the README", task, target)
		}
		if name, fragment, ok := strings.Cut(target, "#"); ok && !anchors(texts[name])[fragment] {
			t.Errorf("%s: there is no %s", task, target)
		}
	}
}

// surroundings are what the word behind `caddyfile` in a fence says: where a block
// that is no whole Caddyfile belongs.
var surroundings = map[string][2]string{
	"":         {"", ""},
	"site":     {":80 {\n", "\n}\n"},
	"global":   {"{\n", "\n}\n"},
	"tollgate": {"{\n\ttollgate {\n", "\n\t}\n}\n"},
	"catalog":  {"{\n\ttollgate {\n\t\tcatalog {\n", "\n\t\t}\n\t}\n}\n"},
	"gateway":  {":80 {\n\ttollgate gateway {\n", "\n\t}\n}\n"},
	"board":    {":80 {\n\ttollgate board {\n", "\n\t}\n}\n"},
	"events":   {":80 {\n\ttollgate events {\n", "\n\t}\n}\n"},
}

// TestDocumentCaddyfiles checks that every Caddyfile in the documents adapts.
func TestDocumentCaddyfiles(t *testing.T) {
	t.Parallel()
	count := 0
	for name, text := range pages(t) {
		blocks, _ := doctest.Blocks(text)
		for _, b := range blocks {
			words := strings.Fields(b.Info)
			if len(words) == 0 || words[0] != "caddyfile" {
				continue
			}
			count++
			place := strings.Join(words[1:], " ")
			around, ok := surroundings[place]
			if !ok {
				t.Errorf("%s:%d: there is no surrounding %q", name, b.Line, place)
				continue
			}
			_, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(around[0]+b.Text+around[1]), map[string]any{"filename": "Caddyfile"})
			if err != nil {
				t.Errorf("%s:%d: %v", name, b.Line, err)
			}
		}
	}
	if count < 20 {
		t.Errorf("only %d Caddyfiles: they are not found any more", count)
	}
}

// known returns the words that a parser lists when the configuration has one that it does not know.
func known(t *testing.T, config string) []string {
	t.Helper()
	_, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(config), map[string]any{"filename": "Caddyfile"})
	if err == nil {
		t.Fatalf("takes an option of no sense:\n%s", config)
	}
	var list string
	found := false
	for _, words := range []string{"; there are: ", "; there is: ", "must be one of: "} {
		if !found {
			_, list, found = strings.Cut(err.Error(), words)
		}
	}
	if !found {
		t.Fatalf("does not say what there is: %v\n%s", err, config)
	}
	list, _, _ = strings.Cut(list, ", at Caddyfile:")
	return strings.Split(strings.TrimSpace(list), ", ")
}

// TestDocumentOptions checks that every option that a parser knows is on its page of the reference.
func TestDocumentOptions(t *testing.T) {
	t.Parallel()
	site := func(text string) string { return ":80 {\n" + text + "\n}\n" }
	global := func(text string) string { return "{\n\ttollgate {\n" + text + "\n\t}\n}\n" }
	for place, test := range map[string]struct {
		page, config string
		names        []string // where the parser does not list them
	}{
		"tollgate":             {page: "tollgate-option", config: global("nonsense")},
		"database":             {page: "tollgate-option", config: global("database nonsense")},
		"counters":             {page: "tollgate-option", config: global("counters nonsense")},
		"keyring":              {page: "tollgate-option", config: global("keyring nonsense")},
		"catalog":              {page: "catalog", config: global("catalog {\nnonsense\n}")},
		"provider":             {page: "catalog", config: global("catalog {\nprovider openai {\nnonsense\n}\n}")},
		"first_run":            {page: "tollgate-option", config: global("first_run https://localhost {\nnonsense\n}")},
		"sqlite":               {page: "tollgate-option", config: global("database sqlite x {\nnonsense\n}")},
		"postgres":             {page: "tollgate-option", config: global("database postgres x {\nnonsense\n}")},
		"redis":                {page: "tollgate-option", config: global("counters redis x {\nnonsense\n}")},
		"aes":                  {page: "tollgate-option", config: global("keyring aes {\nnonsense\n}")},
		"transit":              {page: "tollgate-option", config: global("keyring transit {\nnonsense\n}")},
		"otlp":                 {page: "otlp", config: "{\nlog {\ncore otlp http://localhost:4318 {\nnonsense\n}\n}\n}\n"},
		"tollgate <service>":   {page: "tollgate", config: site("tollgate nonsense")},
		"tollgate gateway":     {page: "tollgate", config: site("tollgate gateway {\nnonsense\n}")},
		"tollgate board":       {page: "tollgate", config: site("tollgate board {\nnonsense\n}")},
		"tollgate cms":         {page: "tollgate", config: site("tollgate cms {\nnonsense\n}")},
		"tollgate answer":      {page: "tollgate", config: site("tollgate answer {\nnonsense\n}")},
		"tollgate events":      {page: "tollgate", config: site("tollgate events {\nnonsense\n}")},
		"api_auth":             {page: "api_auth", config: site("api_auth nonsense")},
		"api_auth user_jwt":    {page: "api_auth", config: site("api_auth user_jwt {\nnonsense\n}")},
		"api_auth oauth":       {page: "api_auth", config: site("api_auth oauth {\nnonsense\n}")},
		"oauth introspection":  {page: "api_auth", config: site("api_auth oauth {\nintrospection {\nnonsense\n}\n}")},
		"api_auth board_token": {page: "api_auth", config: site("api_auth board_token {\nnonsense\n}")},
		"api_errors":           {page: "api_errors", config: site("api_errors nonsense")},
		"budget":               {page: "budget", config: site("budget {\nnonsense\n}")},
		"translate":            {page: "translate", config: site("translate messages {\nnonsense\n}")},
		"cascade":              {page: "cascade", config: site("cascade {\nnonsense\n}")},
		"keychain":             {page: "keychain", config: site("keychain {\nnonsense\n}")},
		"keychain console":     {page: "keychain", config: site("keychain {\nconsole {\nnonsense\n}\n}")},
		"keychain new_users":   {page: "keychain", config: site("keychain {\nnew_users allow {\nnonsense\n}\n}")},
		"board":                {page: "board", config: site("board {\nnonsense\n}")},
		"board mail":           {page: "board", config: site("board {\nmail log {\nnonsense\n}\n}")},
		"board mail to":        {page: "board", names: []string{"log", "smtp"}},
		"board oidc":           {page: "board", config: site("board {\noidc https://id.example.com x y {\nnonsense\n}\n}")},
		"cms":                  {page: "cms", config: site("cms {\nnonsense\n}")},
		"cms oidc":             {page: "cms", config: site("cms {\noidc https://id.example.com x y {\nnonsense\n}\n}")},
		"answer":               {page: "answer", config: site("answer {\nnonsense\n}")},
		"answer model":         {page: "answer", config: site("answer {\nmodel x {\nnonsense\n}\n}")},
		"answer dense":         {page: "answer", config: site("answer {\ndense x {\nnonsense\n}\n}")},
		"answer web_search":    {page: "answer", config: site("answer {\nweb_search x {\nnonsense\n}\n}")},
		"run_events":           {page: "run_events", config: site("run_events {\nnonsense\n}")},
		"tollgate home":        {page: "tollgate", config: site("tollgate home {\nnonsense\n}")},
		"home":                 {page: "home", config: site("home {\nnonsense\n}")},
		"home oidc":            {page: "home", config: site("home {\noidc https://id.example.com x y {\nnonsense\n}\n}")},
		"brand":                {page: "tollgate-option", config: global("brand {\nnonsense\n}")},
		"tollgate authserver":  {page: "tollgate", config: site("tollgate authserver {\nnonsense\n}")},
		"authserver":           {page: "authserver", config: site("authserver {\nnonsense\n}")},
		"run_events read":      {page: "run_events", config: site("run_events {\nread nonsense\n}")},
	} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			names := test.names
			if names == nil {
				names = known(t, test.config)
			}
			text := page(t, "docs/reference/"+test.page+".md")
			for _, name := range names {
				if !regexp.MustCompile("`" + regexp.QuoteMeta(name) + "[` :]").MatchString(text) {
					t.Errorf("docs/reference/%s.md does not have the option %s", test.page, name)
				}
			}
		})
	}
}

// TestDocumentModules checks that the id of every module is on a page of the reference, and that every directive has a
// page.
func TestDocumentModules(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for name, text := range pages(t) {
		if strings.HasPrefix(name, "docs/reference/") {
			all.WriteString(text)
		}
	}
	for _, id := range registeredModules(t) {
		if directive, ok := strings.CutPrefix(id, "http.handlers."); ok && !strings.HasPrefix(page(t, "docs/reference/"+directive+".md"), "# `"+directive+"`\n") {
			t.Errorf("docs/reference/%s.md does not begin with the directive", directive)
		}
		if !strings.Contains(all.String(), "`"+id+"`") {
			t.Errorf("no page in docs/reference has the module `%s`", id)
		}
	}
}

// TestDocumentFields checks that every field of a module's JSON is named in the reference.
func TestDocumentFields(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for name, text := range pages(t) {
		if strings.HasPrefix(name, "docs/reference/") {
			all.WriteString(text)
		}
	}
	text := all.String()
	count := 0
	seen := make(map[reflect.Type]bool)
	var walk func(id string, typ reflect.Type)
	walk = func(id string, typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] || !strings.HasPrefix(typ.PkgPath(), modulePath+"/") {
			return
		}
		seen[typ] = true
		for field := range typ.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if !field.IsExported() || name == "-" || name == "" && !field.Anonymous {
				continue
			}
			if name != "" {
				count++
				if !regexp.MustCompile("[`\".]" + regexp.QuoteMeta(name) + "[`\"]").MatchString(text) {
					t.Errorf("docs/reference does not have the JSON field %s of %s", name, id)
				}
			}
			walk(id, field.Type)
		}
	}
	for _, id := range registeredModules(t) {
		info, err := caddy.GetModule(id)
		if err != nil {
			t.Fatal(err)
		}
		walk(id, reflect.TypeOf(info.New()))
	}
	if count < 60 {
		t.Errorf("only %d fields: they are not found any more", count)
	}
}

// Where error codes are given, and where metrics are made: one by one, and those of a
// service's jobs.
var (
	errorCode  = regexp.MustCompile(`(?:apierror\.New|refuse)\((?:http\.Status\w+|\d{3}), "([a-z_]+)"|Status: [^,\n]+,\s*Code: +"([a-z_]+)"`)
	metricName = regexp.MustCompile(
		`(?:Namespace:\s*"tollgate",\s*Subsystem:\s*|New(?:CounterVec|HistogramVec|GaugeFunc)\()"(\w+)",\s*(?:Name:\s*)?"(\w+)"`)
	jobMetrics = regexp.MustCompile(`NewJobMetrics\("(\w+)"`)
)

// TestDocumentErrors checks that the page of error codes has the codes that handlers return.
func TestDocumentErrors(t *testing.T) {
	t.Parallel()
	text := page(t, "docs/reference/errors.md")
	codes := make(map[string]bool)
	for _, dir := range []string{"backends", "internal", "modules"} {
		err := fs.WalkDir(os.DirFS("."), dir, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
				return err
			}
			for _, match := range errorCode.FindAllStringSubmatch(page(t, name), -1) {
				if code := match[1] + match[2]; !codes[code] && code != "error" { // of an upstream's error without one
					codes[code] = true
					if !strings.Contains(text, "`"+code+"`") {
						t.Errorf("docs/reference/errors.md does not have %s of %s", code, name)
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(codes) < 40 {
		t.Errorf("only %d codes: they are not found any more", len(codes))
	}
}

// TestDocumentProviders checks that the pages have the providers of the built-in catalog.
func TestDocumentProviders(t *testing.T) {
	t.Parallel()
	var catalog struct {
		Providers []struct {
			Code string
			Env  []string
		}
	}
	if err := json.Unmarshal([]byte(page(t, "backends/gateway/catalog/catalog.json")), &catalog); err != nil {
		t.Fatal(err)
	}
	if len(catalog.Providers) == 0 {
		t.Fatal("the catalog has no providers")
	}
	codes, variables := page(t, "docs/reference/catalog.md"), page(t, "docs/reference/environment.md")
	for _, p := range catalog.Providers {
		if !strings.Contains(codes, "| `"+p.Code+"` |") {
			t.Errorf("docs/reference/catalog.md does not have the provider %s", p.Code)
		}
		for _, name := range p.Env {
			if !strings.Contains(codes, "`"+name+"`") || !strings.Contains(variables, "`"+name+"`") {
				t.Errorf("docs/reference/catalog.md or environment.md does not have the variable %s", name)
			}
		}
	}
}

// TestDocumentLoopback checks that every text about the right of programs on this machine to use run events says which
// proxies pass for them.
func TestDocumentLoopback(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"docs/reference/run_events.md", "docs/concepts/security.md", "caddyfiles/events/Caddyfile"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "proxy on this machine that adds no") {
			t.Errorf("%s does not say that a proxy without headers passes for a client", name)
		}
	}
}

// TestDocumentMetrics checks that the page of metrics has exactly the metrics that exist.
func TestDocumentMetrics(t *testing.T) {
	t.Parallel()
	var names []string
	err := fs.WalkDir(os.DirFS("."), "modules", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".go" {
			return err
		}
		text := page(t, name)
		for _, match := range metricName.FindAllStringSubmatch(text, -1) {
			names = append(names, "tollgate_"+match[1]+"_"+match[2])
		}
		for _, match := range jobMetrics.FindAllStringSubmatch(text, -1) {
			names = append(names, "tollgate_"+match[1]+"_job_runs_total", "tollgate_"+match[1]+"_job_done_total")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(names) < 15 {
		t.Fatalf("only %q: they are not found any more", names)
	}
	text := page(t, "docs/reference/metrics.md")
	for _, name := range names {
		if !regexp.MustCompile("`" + name + "[`{]").MatchString(text) {
			t.Errorf("docs/reference/metrics.md does not have %s", name)
		}
	}
	for _, file := range []string{"docs/reference/metrics.md", "docs/how-to/monitoring/dashboard.json", "docs/how-to/monitoring/alerts.yml"} {
		for _, name := range regexp.MustCompile(`tollgate_[a-z_]+[a-z]`).FindAllString(page(t, file), -1) {
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				name = strings.TrimSuffix(name, suffix)
			}
			if !slices.Contains(names, name) {
				t.Errorf("%s: there is no metric %s", file, name)
			}
		}
	}
}

// building is held while a command is built, since the package of commands keeps the one that was built last. The
// binary builds all of them on one goroutine.
var building sync.Mutex

// command returns a command of the binary with its subcommands, or nil if there is no such command.
func command(name string) *cobra.Command {
	building.Lock()
	defer building.Unlock()
	registered, ok := caddycmd.Commands()[name]
	if !ok {
		return nil
	}
	c := &cobra.Command{
		Use: strings.TrimSpace(name + " " + registered.Usage), Short: registered.Short, Long: registered.Long,
	}
	if registered.Flags != nil {
		c.Flags().AddGoFlagSet(registered.Flags)
	}
	if registered.CobraFunc != nil {
		registered.CobraFunc(c)
	}
	return c
}

// TestDocumentShell checks that the shell commands in the documents parse, and that the commands and flags of tollgate
// in them exist. Go, Python and JSON texts must parse too.
func TestDocumentShell(t *testing.T) {
	t.Parallel()
	count := 0
	for name, text := range pages(t) {
		blocks, _ := doctest.Blocks(text)
		for _, b := range blocks {
			position := name + ":" + strconv.Itoa(b.Line)
			switch b.Language() {
			case "go":
				if _, err := parser.ParseFile(token.NewFileSet(), position, b.Text, 0); err != nil && strings.HasPrefix(b.Text, "package ") {
					t.Error(err)
				}
			case "python":
				reads(t, position, b.Text, "python3", "-c", "import ast, sys; ast.parse(sys.stdin.read())")
			case "json":
				if !json.Valid([]byte(b.Text)) && !strings.Contains(b.Text, "…") {
					t.Errorf("%s: no JSON", position)
				}
			}
			for _, step := range b.Steps() {
				reads(t, position, step.Command, "bash", "-n")
				for line := range strings.Lines(strings.ReplaceAll(step.Command, "\\\n", " ")) {
					count += asks(t, position, line)
				}
			}
		}
	}
	if count < 40 {
		t.Errorf("only %d commands: they are not found any more", count)
	}
}

// reads passes a text to a program on stdin and fails the test if the program fails.
func reads(t *testing.T, position, text, program string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s%s", position, err, text, out)
	}
}

// asks checks the tollgate commands in a line of a shell, and returns their number.
func asks(t *testing.T, position, line string) (count int) {
	t.Helper()
	words := strings.Fields(line)
	for i, word := range words {
		if path.Base(word) != "tollgate" || i+1 == len(words) || !regexp.MustCompile(`^[a-z][a-z-]*$`).MatchString(words[i+1]) || words[i+1] == "tollgate" {
			continue
		}
		c := command(words[i+1])
		if c == nil {
			t.Errorf("%s: there is no command %q", position, words[i+1])
			continue
		}
		count++
		for _, word := range words[i+2:] {
			if strings.ContainsAny(word, "|;<>&)") || word == "#" {
				break
			}
			if flag, ok := strings.CutPrefix(word, "--"); ok && flag != "" {
				flag, _, _ = strings.Cut(flag, "=")
				if c.Flag(flag) == nil && c.InheritedFlags().Lookup(flag) == nil {
					t.Errorf("%s: %s has no flag --%s", position, c.CommandPath(), flag)
				}
				continue
			}
			below, _, err := c.Find([]string{word})
			switch {
			case err == nil && below != c:
				c = below
			case c.HasSubCommands():
				t.Errorf("%s: %s has no command %q", position, c.CommandPath(), word)
			}
		}
	}
	return count
}
