package main

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/scriptedmodel"
	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// quickstart returns a node with the shipped quickstart Caddyfile. It replaces the ports 8443 and 9099 by free ports,
// and the addresses of possible model servers by an address at which no server listens. global goes into the option
// tollgate.
func quickstart(t *testing.T, global string, env ...string) *e2e.Node {
	t.Helper()
	site, scripted, nobody := e2e.FreePort(t), e2e.FreePort(t), e2e.FreePort(t)
	config := e2e.Shipped(t, "quickstart",
		"http://127.0.0.1:11434/v1 http://127.0.0.1:8000/v1 http://127.0.0.1:1234/v1", "http://127.0.0.1:"+nobody+"/v1",
		"\t\tallow_networks 127.0.0.0/8\n", "\t\tallow_networks 127.0.0.0/8\n"+global)
	config = strings.NewReplacer("8443", site, "9099", scripted, "8440", e2e.FreePort(t)).Replace(config)
	return e2e.NewNode(t, config, env...)
}

var (
	bannerKey  = regexp.MustCompile(`ak-[0-9A-Za-z]{40}`)
	bannerCurl = regexp.MustCompile(`(?s)curl -N .*?\}'\n`)
)

// readBanner waits until the first start has printed the banner, and returns it.
func readBanner(n *e2e.Node) string {
	n.T.Helper()
	var text string
	e2e.Eventually(n.T, e2e.WaitLimit, "the banner is printed", func() error {
		text = n.Out.String()
		if !bannerCurl.MatchString(text) {
			return errors.New("it is not")
		}
		return nil
	})
	// The banner may be printed a moment before the site has its certificate.
	base, c := regexp.MustCompile(`https://localhost:\d+`).FindString(text), n.Trusting()
	e2e.Eventually(n.T, e2e.WaitLimit, base+" answers", func() error {
		resp, err := c.Get(base + "/") //nolint:noctx // a loopback probe
		if err != nil {
			return err
		}
		return resp.Body.Close()
	})
	return text
}

// runLine runs a command of the banner in the folder in which Tollgate was started, like a person.
func runLine(n *e2e.Node, line string) string {
	n.T.Helper()
	ctx, cancel := context.WithTimeout(n.T.Context(), e2e.WaitLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", strings.Replace(line, "curl ", "curl -sS ", 1))
	cmd.Dir, cmd.Env = n.Dir, n.Env
	out, err := cmd.CombinedOutput()
	if err != nil {
		n.T.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

// TestQuickstart checks that the command in the banner of the first start returns a streamed answer from the scripted
// model, which explains that it is not a language model, and that the banner is not printed again.
func TestQuickstart(t *testing.T) {
	t.Parallel()
	n := quickstart(t, "").Start()
	banner := readBanner(n)
	key := bannerKey.FindString(banner)
	if key == "" || strings.Count(banner, key) != 2 || !strings.Contains(banner, "scripted model, which is not a language model") ||
		!strings.Contains(banner, "--cacert data/caddy/pki/authorities/local/root.crt") {
		t.Fatalf("banner:\n%s", banner)
	}
	out := runLine(n, bannerCurl.FindString(banner))
	text, last := e2e.Streamed(t, out)
	if last != "[DONE]" || !strings.Contains(text, "scripted") || !strings.Contains(text, "Say hello in one sentence.") {
		t.Errorf("the line of the banner gives\n%s", out)
	}
	if strings.Contains(n.Logs.String(), key) {
		t.Error("the gateway key is in the log")
	}
	n.Stop()

	n.Out = new(e2e.Output)
	n.Start()
	banner = readBanner(n)
	if bannerKey.MatchString(banner) || !strings.Contains(banner, "$TOLLGATE_KEY") {
		t.Errorf("the second start prints\n%s", banner)
	}
	second := runLine(n, "TOLLGATE_KEY="+key+"\n"+bannerCurl.FindString(banner))
	if _, last := e2e.Streamed(t, second); last != "[DONE]" {
		t.Errorf("the key of the first start gives\n%s", second)
	}
	n.Stop()
	// Caddy keeps no copy of the configuration in the user's home.
	if _, err := os.Stat(n.Path("xdg", "caddy", "autosave.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("autosave.json: %v", err)
	}
}

// TestQuickstartProviderKey checks that a key in the environment is used and replaces the scripted model, and that the
// provider is removed together with the key.
func TestQuickstartProviderKey(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	n := quickstart(t, "\t\tcatalog {\n\t\t\tprovider openai {\n\t\t\t\tbase_url "+up.URL+"/v1\n\t\t\t}\n\t\t}\n")
	n.Start()
	banner := readBanner(n)
	key := bannerKey.FindString(banner)
	if !strings.Contains(banner, "scripted model") {
		t.Fatalf("banner:\n%s", banner)
	}
	n.Stop()

	originalEnv := n.Env
	n.Env = append(slices.Clip(n.Env), "OPENAI_API_KEY=sk-environment-0123456789")
	n.Out = new(e2e.Output)
	n.Start()
	banner = readBanner(n)
	if !strings.Contains(banner, "openai (OPENAI_API_KEY)") || strings.Contains(banner, "scripted") || strings.Contains(banner, "sk-environment") {
		t.Errorf("banner with a provider key:\n%s", banner)
	}
	out := runLine(n, "TOLLGATE_KEY="+key+"\n"+bannerCurl.FindString(banner))
	if _, last := e2e.Streamed(t, out); last != "[DONE]" {
		t.Errorf("answer:\n%s", out)
	}
	requests := up.Requests()
	if len(requests) != 1 || requests[0].Header.Get("Authorization") != "Bearer sk-environment-0123456789" {
		t.Fatalf("the provider got %d requests: %+v", len(requests), requests)
	}
	base := regexp.MustCompile(`https://localhost:\d+`).FindString(banner)
	models := e2e.Get(t, n.Trusting(), base+"/v1/models", key)
	if strings.Contains(models.Body, "scripted/") || !strings.Contains(models.Body, `"openai/`) {
		t.Errorf("models: %s", models.Body)
	}
	n.Stop()

	n.Env, n.Out = originalEnv, new(e2e.Output)
	n.Start()
	if banner = readBanner(n); !strings.Contains(banner, "scripted model") || strings.Contains(banner, "OPENAI_API_KEY)") {
		t.Errorf("banner after the key is gone:\n%s", banner)
	}
	if models := e2e.Get(t, n.Trusting(), base+"/v1/models", key); strings.Contains(models.Body, `"openai/`) {
		t.Errorf("models after the key is gone: %s", models.Body)
	}
	if strings.Contains(n.Logs.String(), "sk-environment") {
		t.Error("the provider key is in the log")
	}
}

// TestQuickstartLocalServer checks that a model server that OPENAI_BASE_URL names is found and used, and does not count
// as a provider with a key.
func TestQuickstartLocalServer(t *testing.T) {
	t.Parallel()
	local := scriptedmodel.New(scriptedmodel.Options{Record: 100})
	server := httptest.NewServer(local)
	defer server.Close()
	n := quickstart(t, "", "OPENAI_BASE_URL="+server.URL+"/v1").Start()
	banner := readBanner(n)
	if !strings.Contains(banner, server.URL+"/v1") || strings.Contains(banner, "scripted model") {
		t.Fatalf("banner:\n%s", banner)
	}
	out := runLine(n, bannerCurl.FindString(banner))
	if _, last := e2e.Streamed(t, out); last != "[DONE]" {
		t.Errorf("answer:\n%s", out)
	}
	count := 0
	for _, r := range local.Requests() {
		if r.Header.Get("Authorization") != "" {
			t.Errorf("a credential was sent to the local server: %s %s", r.Method, r.Path)
		}
		if r.Method == http.MethodPost {
			count++
		}
	}
	if count != 1 {
		t.Errorf("the local server was asked %d times", count)
	}
}

// TestQuickstartKeyOfBase checks that a key together with a base URL is sent only to that URL, and that the models
// found there are removed together with the variables.
func TestQuickstartKeyOfBase(t *testing.T) {
	t.Parallel()
	proxy := scriptedmodel.New(scriptedmodel.Options{Record: 100})
	server := httptest.NewServer(proxy)
	defer server.Close()
	vendor := e2e.NewUpstream(t)
	var catalog strings.Builder
	for _, code := range []string{"openai", "groq"} {
		catalog.WriteString("\t\t\tprovider " + code + " {\n\t\t\t\tbase_url " + vendor.URL + "/v1\n\t\t\t}\n")
	}
	n := quickstart(t, "\t\tcatalog {\n"+catalog.String()+"\t\t}\n")
	originalEnv := n.Env
	for _, prefix := range []string{"OPENAI", "GROQ"} {
		n.Env, n.Out = append(slices.Clip(originalEnv), prefix+"_BASE_URL="+server.URL+"/v1", prefix+"_API_KEY=sk-proxy-0123456789"), new(e2e.Output)
		n.Start()
		banner := readBanner(n)
		if !strings.Contains(banner, server.URL+"/v1") || strings.Contains(banner, "_API_KEY)") || strings.Contains(banner, "scripted model") {
			t.Errorf("%s: banner:\n%s", prefix, banner)
		}
		key := gjson.Get(n.Tool("keychain", "keys", "create", "-u", "local", "--json"), "key").Str
		base := regexp.MustCompile(`https://localhost:\d+`).FindString(banner)
		out := runLine(n, "TOLLGATE_KEY="+key+"\n"+bannerCurl.FindString(banner))
		if _, last := e2e.Streamed(t, out); last != "[DONE]" {
			t.Errorf("%s: answer:\n%s", prefix, out)
		}
		if models := e2e.Get(t, n.Trusting(), base+"/v1/models", key).Body; !strings.Contains(models, `"local/`) || strings.Contains(models, `"openai/`) || strings.Contains(models, `"groq/`) {
			t.Errorf("%s: models %s", prefix, models)
		}
		n.Stop()
	}
	count := 0
	for _, r := range proxy.Requests() {
		if r.Header.Get("Authorization") != "Bearer sk-proxy-0123456789" {
			t.Errorf("the proxy got %s %s with %q", r.Method, r.Path, r.Header.Get("Authorization"))
		}
		if r.Method == http.MethodPost {
			count++
		}
	}
	if count != 2 {
		t.Errorf("the proxy was asked %d times", count)
	}
	if requests := vendor.Requests(); len(requests) != 0 {
		t.Errorf("a provider got %+v", requests)
	}
	n.Env, n.Out = originalEnv, new(e2e.Output)
	n.Start()
	if banner := readBanner(n); !strings.Contains(banner, "scripted model") {
		t.Errorf("banner without variables:\n%s", banner)
	}
	if models := n.Tool("keychain", "models", "list", "-u", "local"); strings.Contains(models, "local/") {
		t.Errorf("models without variables:\n%s", models)
	}
	if strings.Contains(n.Logs.String(), "sk-proxy") {
		t.Error("the key is in the log")
	}
}

// TestQuickstartTrust checks that clients in three languages trust the certificate with the lines of the banner, and do
// not trust it without them.
func TestQuickstartTrust(t *testing.T) {
	t.Parallel()
	n := quickstart(t, "").Start()
	banner := readBanner(n)
	url := regexp.MustCompile(`https://localhost:\d+`).FindString(banner) + "/livez"
	for client, ask := range map[string]string{
		"SSL_CERT_FILE":       `python3 -c 'import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode())' ` + url,
		"NODE_EXTRA_CA_CERTS": `node -e 'fetch(process.argv[1]).then((r) => r.text()).then(console.log).catch((e) => { console.log(e.cause.code); process.exit(1) })' ` + url,
	} {
		line := regexp.MustCompile(`(?m)^  export ` + client + `=.*$`).FindString(banner)
		if line == "" {
			t.Errorf("the banner has no %s:\n%s", client, banner)
			continue
		}
		if out := runLine(n, line+"\n"+ask); strings.TrimSpace(out) != `{"status":"ok"}` {
			t.Errorf("%s: %s", client, out)
		}
		cmd := exec.CommandContext(t.Context(), "sh", "-c", ask)
		cmd.Dir, cmd.Env = n.Dir, n.Env
		if out, err := cmd.CombinedOutput(); err == nil {
			t.Errorf("%s: trusted without it: %s", client, out)
		}
	}
	// The trust command installs the root certificate that the server returns, which must be the certificate in the
	// file.
	if !strings.Contains(banner, e2e.Binary+" trust --config Caddyfile ") {
		t.Errorf("the banner has no line for the machine:\n%s", banner)
	}
	root, err := os.ReadFile(n.Path("data", "caddy", "pki", "authorities", "local", "root.crt"))
	if err != nil {
		t.Fatal(err)
	}
	authority, err := n.Admin(http.MethodGet, "/pki/ca/local", "", "")
	if err != nil {
		t.Fatal(err)
	}
	if got := gjson.Get(authority, "root_certificate").String(); strings.TrimSpace(got) != strings.TrimSpace(string(root)) {
		t.Errorf("the authority of the server: %s", authority)
	}
}

// TestQuickstartStoredKey checks that the next start names a stored provider key, which replaces the scripted model.
func TestQuickstartStoredKey(t *testing.T) {
	t.Parallel()
	n := quickstart(t, "").Start()
	readBanner(n)
	cmd := exec.CommandContext(t.Context(), e2e.Binary, "keychain", "provider-keys", "add", "groq", "--user", "local")
	cmd.Dir, cmd.Env, cmd.Stdin = n.Dir, n.Env, strings.NewReader("gsk_stored0123456789\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	n.Stop()
	n.Out = new(e2e.Output)
	n.Env = append(n.Env, "OPENAI_API_KEY=sk-environment-0123456789")
	n.Start()
	if banner := readBanner(n); !strings.Contains(banner, "Models from:  openai (OPENAI_API_KEY), groq (a stored key)\n") || strings.Contains(banner, "gsk_stored") {
		t.Errorf("banner with both:\n%s", banner)
	}
}

// TestQuickstartPlain checks that the listener without TLS, which is commented out in the file, serves this machine,
// and that no listener serves other machines.
func TestQuickstartPlain(t *testing.T) {
	t.Parallel()
	n := quickstart(t, "")
	text, err := os.ReadFile(n.Path("Caddyfile"))
	if err != nil {
		t.Fatal(err)
	}
	_, option, found := strings.Cut(string(text), "\n# http://localhost:")
	port, _, _ := strings.Cut(option, ",")
	if !found {
		t.Fatalf("no option:\n%s", text)
	}
	n.Configure(regexp.MustCompile(`(?m)^# (http:|\t|\}$)`).ReplaceAllString(string(text), "$1"))
	n.Start()
	key := bannerKey.FindString(readBanner(n))
	for _, host := range []string{"localhost", "127.0.0.1"} {
		if models := e2e.Get(t, e2e.Client, "http://"+host+":"+port+"/v1/models", key); models.Status != http.StatusOK || !strings.Contains(models.Body, "keychain-high") {
			t.Errorf("%s: %d %s", host, models.Status, models.Body)
		}
	}
	config, err := n.Admin(http.MethodGet, "/config/apps/http/servers", "", "")
	if err != nil {
		t.Fatal(err)
	}
	listeners := 0
	for _, server := range gjson.Parse(config).Map() {
		for _, address := range server.Get("listen").Array() {
			if listeners++; !strings.HasPrefix(address.String(), "127.0.0.1:") {
				t.Errorf("listens at %s", address)
			}
		}
	}
	if listeners != 3 {
		t.Errorf("%d listeners: %s", listeners, config)
	}
}

// TestRootLeadsToConsole checks that a browser at / is redirected to the console if there is one, and that other
// clients get the name of the service.
func TestRootLeadsToConsole(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options, accept string
		status          int
	}{
		"browser":            {accept: "text/html,application/xhtml+xml,*/*;q=0.8", status: http.StatusTemporaryRedirect},
		"program":            {accept: "*/*", status: http.StatusOK},
		"without a console":  {options: " {\n\t\tconsole off\n\t}", accept: "text/html", status: http.StatusOK},
		"nothing is said of": {status: http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := e2e.NewGateway(t, "", "\ttollgate gateway\n", "\ttollgate gateway"+test.options+"\n")
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.Base+"/", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			if test.accept != "" {
				request.Header.Set("Accept", test.accept)
			}
			direct := &http.Client{Transport: e2e.Client.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
			resp, err := direct.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			if resp.StatusCode != test.status || (test.status == http.StatusTemporaryRedirect) != (resp.Header.Get("Location") == "console/") {
				t.Errorf("%d, Location %q", resp.StatusCode, resp.Header.Get("Location"))
			}
		})
	}
}
