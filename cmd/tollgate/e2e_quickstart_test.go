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
)

// quickstart is a node with the shipped quickstart Caddyfile, its addresses
// replaced: 8443 and 9099 by free ports, and the places where model servers
// are looked for by one where none is. global goes into the option tollgate.
func quickstart(t *testing.T, global string, env ...string) *node {
	t.Helper()
	site, scripted, nobody := freePort(t), freePort(t), freePort(t)
	config := shipped(t, "quickstart",
		"http://127.0.0.1:11434/v1 http://127.0.0.1:8000/v1 http://127.0.0.1:1234/v1", "http://127.0.0.1:"+nobody+"/v1",
		"\t\tallow_networks 127.0.0.0/8\n", "\t\tallow_networks 127.0.0.0/8\n"+global)
	config = strings.NewReplacer("8443", site, "9099", scripted, "8440", freePort(t)).Replace(config)
	return newNode(t, config, env...)
}

var (
	bannerKey  = regexp.MustCompile(`ak-[0-9A-Za-z]{40}`)
	bannerCurl = regexp.MustCompile(`(?s)curl -N .*?\}'\n`)
)

// banner waits for what the first start prints.
func (n *node) banner() string {
	n.t.Helper()
	var text string
	eventually(n.t, waitLimit, "the banner is printed", func() error {
		text = n.out.String()
		if !bannerCurl.MatchString(text) {
			return errors.New("it is not")
		}
		return nil
	})
	// It may be printed a moment before the site has its certificate.
	base, c := regexp.MustCompile(`https://localhost:\d+`).FindString(text), n.trusting()
	eventually(n.t, waitLimit, base+" answers", func() error {
		resp, err := c.Get(base + "/") //nolint:noctx // a loopback probe
		if err != nil {
			return err
		}
		return resp.Body.Close()
	})
	return text
}

// shell runs the line of a banner as a person does: in the folder in which
// Tollgate was started.
func (n *node) shell(line string) string {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), waitLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", strings.Replace(line, "curl ", "curl -sS ", 1))
	cmd.Dir, cmd.Env = n.dir, n.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		n.t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

// TestQuickstart: the line that the first start prints gives a streamed answer,
// from what is no language model and says so, and is not printed again.
func TestQuickstart(t *testing.T) {
	t.Parallel()
	n := quickstart(t, "").start()
	banner := n.banner()
	key := bannerKey.FindString(banner)
	if key == "" || strings.Count(banner, key) != 2 || !strings.Contains(banner, "scripted model, which is no language model") ||
		!strings.Contains(banner, "--cacert data/caddy/pki/authorities/local/root.crt") {
		t.Fatalf("banner:\n%s", banner)
	}
	out := n.shell(bannerCurl.FindString(banner))
	text, last := streamed(t, out)
	if last != "[DONE]" || !strings.Contains(text, "scripted") || !strings.Contains(text, "Say hello in one sentence.") {
		t.Errorf("the line of the banner gives\n%s", out)
	}
	if strings.Contains(n.logs.String(), key) {
		t.Error("the gateway key is in the log")
	}
	n.stop()

	n.out = new(output)
	n.start()
	banner = n.banner()
	if bannerKey.MatchString(banner) || !strings.Contains(banner, "$TOLLGATE_KEY") {
		t.Errorf("the second start prints\n%s", banner)
	}
	again := n.shell("TOLLGATE_KEY=" + key + "\n" + bannerCurl.FindString(banner))
	if _, last := streamed(t, again); last != "[DONE]" {
		t.Errorf("the key of the first start gives\n%s", again)
	}
	n.stop()
	// Caddy keeps no copy of the configuration in the user's home.
	if _, err := os.Stat(n.path("xdg", "caddy", "autosave.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("autosave.json: %v", err)
	}
}

// TestQuickstartProviderKey: a key in the environment is taken up, and takes
// the place of the scripted model; when it is gone, so is the provider.
func TestQuickstartProviderKey(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	n := quickstart(t, "\t\tcatalog {\n\t\t\tprovider openai {\n\t\t\t\tbase_url "+up.url+"/v1\n\t\t\t}\n\t\t}\n")
	n.start()
	banner := n.banner()
	key := bannerKey.FindString(banner)
	if !strings.Contains(banner, "scripted model") {
		t.Fatalf("banner:\n%s", banner)
	}
	n.stop()

	without := n.env
	n.env = append(slices.Clip(n.env), "OPENAI_API_KEY=sk-environment-0123456789")
	n.out = new(output)
	n.start()
	banner = n.banner()
	if !strings.Contains(banner, "openai (OPENAI_API_KEY)") || strings.Contains(banner, "scripted") || strings.Contains(banner, "sk-environment") {
		t.Errorf("banner with a provider key:\n%s", banner)
	}
	out := n.shell("TOLLGATE_KEY=" + key + "\n" + bannerCurl.FindString(banner))
	if _, last := streamed(t, out); last != "[DONE]" {
		t.Errorf("answer:\n%s", out)
	}
	requests := up.Requests()
	if len(requests) != 1 || requests[0].Header.Get("Authorization") != "Bearer sk-environment-0123456789" {
		t.Fatalf("the provider got %d requests: %+v", len(requests), requests)
	}
	base := regexp.MustCompile(`https://localhost:\d+`).FindString(banner)
	models := get(t, n.trusting(), base+"/v1/models", key)
	if strings.Contains(models.body, "scripted/") || !strings.Contains(models.body, `"openai/`) {
		t.Errorf("models: %s", models.body)
	}
	n.stop()

	n.env, n.out = without, new(output)
	n.start()
	if banner = n.banner(); !strings.Contains(banner, "scripted model") || strings.Contains(banner, "OPENAI_API_KEY)") {
		t.Errorf("banner after the key is gone:\n%s", banner)
	}
	if models := get(t, n.trusting(), base+"/v1/models", key); strings.Contains(models.body, `"openai/`) {
		t.Errorf("models after the key is gone: %s", models.body)
	}
	if strings.Contains(n.logs.String(), "sk-environment") {
		t.Error("the provider key is in the log")
	}
}

// TestQuickstartLocalServer: a model server named by OPENAI_BASE_URL is found
// and used, and is no provider with a key.
func TestQuickstartLocalServer(t *testing.T) {
	t.Parallel()
	local := scriptedmodel.New(scriptedmodel.Options{Record: 100})
	server := httptest.NewServer(local)
	defer server.Close()
	n := quickstart(t, "", "OPENAI_BASE_URL="+server.URL+"/v1").start()
	banner := n.banner()
	if !strings.Contains(banner, server.URL+"/v1") || strings.Contains(banner, "scripted model") {
		t.Fatalf("banner:\n%s", banner)
	}
	out := n.shell(bannerCurl.FindString(banner))
	if _, last := streamed(t, out); last != "[DONE]" {
		t.Errorf("answer:\n%s", out)
	}
	asked := 0
	for _, r := range local.Requests() {
		if r.Header.Get("Authorization") != "" {
			t.Errorf("a credential was sent to the local server: %s %s", r.Method, r.Path)
		}
		if r.Method == http.MethodPost {
			asked++
		}
	}
	if asked != 1 {
		t.Errorf("the local server was asked %d times", asked)
	}
}

// TestQuickstartTrust: with the lines of the banner clients of three languages trust the
// certificate, and without them they do not.
func TestQuickstartTrust(t *testing.T) {
	t.Parallel()
	n := quickstart(t, "").start()
	banner := n.banner()
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
		if out := n.shell(line + "\n" + ask); strings.TrimSpace(out) != `{"status":"ok"}` {
			t.Errorf("%s: %s", client, out)
		}
		cmd := exec.CommandContext(t.Context(), "sh", "-c", ask)
		cmd.Dir, cmd.Env = n.dir, n.env
		if out, err := cmd.CombinedOutput(); err == nil {
			t.Errorf("%s: trusted without it: %s", client, out)
		}
	}
	// What it would change the machine with is the root of the file.
	if !strings.Contains(banner, binary+" trust --config Caddyfile ") {
		t.Errorf("the banner has no line for the machine:\n%s", banner)
	}
	root, err := os.ReadFile(n.path("data", "caddy", "pki", "authorities", "local", "root.crt"))
	if err != nil {
		t.Fatal(err)
	}
	authority, err := n.admin(http.MethodGet, "/pki/ca/local", "", "")
	if err != nil {
		t.Fatal(err)
	}
	if got := gjson.Get(authority, "root_certificate").String(); strings.TrimSpace(got) != strings.TrimSpace(string(root)) {
		t.Errorf("the authority of the server: %s", authority)
	}
}

// TestQuickstartStoredKey: a provider key that was stored is named by the next start, and
// takes the place of the scripted model.
func TestQuickstartStoredKey(t *testing.T) {
	t.Parallel()
	n := quickstart(t, "").start()
	n.banner()
	cmd := exec.CommandContext(t.Context(), binary, "keychain", "provider-keys", "add", "groq", "--user", "local")
	cmd.Dir, cmd.Env, cmd.Stdin = n.dir, n.env, strings.NewReader("gsk_stored0123456789\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	n.stop()
	n.out = new(output)
	n.env = append(n.env, "OPENAI_API_KEY=sk-environment-0123456789")
	n.start()
	if banner := n.banner(); !strings.Contains(banner, "Models from:  openai (OPENAI_API_KEY), groq (a stored key)\n") || strings.Contains(banner, "gsk_stored") {
		t.Errorf("banner with both:\n%s", banner)
	}
}

// TestQuickstartPlain: the listener without TLS that the file has as a comment serves
// this machine, and the one with TLS no other.
func TestQuickstartPlain(t *testing.T) {
	t.Parallel()
	n := quickstart(t, "")
	text, err := os.ReadFile(n.path("Caddyfile"))
	if err != nil {
		t.Fatal(err)
	}
	_, option, found := strings.Cut(string(text), "\n# http://localhost:")
	port, _, _ := strings.Cut(option, ",")
	if !found {
		t.Fatalf("no option:\n%s", text)
	}
	n.configure(regexp.MustCompile(`(?m)^# (http:|\t|\}$)`).ReplaceAllString(string(text), "$1"))
	n.start()
	key := bannerKey.FindString(n.banner())
	for _, host := range []string{"localhost", "127.0.0.1"} {
		if models := get(t, client, "http://"+host+":"+port+"/v1/models", key); models.status != http.StatusOK || !strings.Contains(models.body, "keychain-high") {
			t.Errorf("%s: %d %s", host, models.status, models.body)
		}
	}
	config, err := n.admin(http.MethodGet, "/config/apps/http/servers", "", "")
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

// TestRootLeadsToConsole: a browser at / is led to the console, where there is one;
// a program is told what answers.
func TestRootLeadsToConsole(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options, accept string
		status          int
	}{
		"browser":            {accept: "text/html,application/xhtml+xml,*/*;q=0.8", status: http.StatusFound},
		"program":            {accept: "*/*", status: http.StatusOK},
		"without a console":  {options: " {\n\t\tconsole off\n\t}", accept: "text/html", status: http.StatusOK},
		"nothing is said of": {status: http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGateway(t, "", "\ttollgate gateway\n", "\ttollgate gateway"+test.options+"\n")
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.base+"/", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			if test.accept != "" {
				request.Header.Set("Accept", test.accept)
			}
			direct := &http.Client{Transport: client.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
			resp, err := direct.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			if resp.StatusCode != test.status || (test.status == http.StatusFound) != (resp.Header.Get("Location") == "console/") {
				t.Errorf("%d, Location %q", resp.StatusCode, resp.Header.Get("Location"))
			}
		})
	}
}
