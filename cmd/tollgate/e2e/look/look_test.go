package look

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// boardPeople are members with passwords, and posts to moderate.
const boardPeople = `{
"users": [
	{"name": "ada", "password": "correct horse", "groups": ["registered", "administrators"]},
	{"name": "bob", "password": "correct horse"}
],
"threads": [{"forum": "discussion", "title": "A thread about quokkas", "posts": [
	{"author": "bob", "message": "They *smile*. See [the list](https://example.com/list).\n\n> A quote.\n\n| Name | Age |\n|---|---|\n| Q | 3 |\n\n` + "```" + `\ncode\n` + "```" + `"},
	{"author": "ada", "message": "So they do."},
	{"author": "bob", "message": "a held post", "visibility": "unapproved"}
]}],
"tokens": [{"user": "bob", "name": "laptop"}]
}`

// keys has the settings of an authorization server at which applications register themselves.
const keys = `
server: {issuer: 'ISSUER'}
rate_limit: {enabled: false}
dcr: {mode: open}
xaa: {enabled: true}
data_encryption: {driver: aes_master, aes_master: {key_env: MASTER}}
resources:
  - {slug: files, uri: 'https://files.example', display_name: Files, scopes: [{name: read, description: See your files}]}
`

// TestLook runs every service on a separate port, and runs the cases of testdata/npm/look.mjs on the pages of all
// services.
func TestLook(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	address := func() string { return "http://localhost:" + e2e.FreePort(t) }
	url := map[string]string{
		"gateway": address(), "board": address(), "cms": address(), "events": address(), "answer": address(), "authserver": address(), "admin": address(), "home": address(),
	}
	n := e2e.NewNode(t, `{
	admin unix/data/admin.sock
	persist_config off
	storage file_system data/caddy
	tollgate {
		database sqlite data/tollgate.db
		allow_networks 127.0.0.0/8
		catalog {
			provider openai {
				base_url `+up.URL+`/openai/v1
			}
		}
	}
}
`+url["gateway"]+" {\n\ttollgate gateway {\n\t\toperators {\n\t\t\tuser ada\n\t\t}\n\t}\n}\n"+
		url["board"]+" {\n\ttollgate board\n}\n"+
		url["cms"]+" {\n\ttollgate cms {\n\t\tsite site\n\t}\n}\n"+
		url["events"]+" {\n\ttollgate events {\n\t\tsubmit any\n\t\tread any\n\t}\n}\n"+
		url["answer"]+" {\n\ttollgate answer {\n\t\tquota 1000 month\n\t\trate 100000\n\t}\n}\n"+
		url["authserver"]+" {\n\ttollgate authserver {\n\t\tconfig config.yaml\n\t}\n}\n"+
		url["home"]+" {\n\ttollgate home\n}\n"+
		url["admin"]+" {\n\ttollgate authserver {\n\t\tconfig config.yaml\n\t\tlistener admin\n\t}\n}\n",
		"MASTER=000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f")
	n.WriteKeys(strings.Replace(keys, "ISSUER", url["authserver"], 1))
	if err := os.WriteFile(n.Path("people.json"), []byte(boardPeople), 0o600); err != nil {
		t.Fatal(err)
	}
	n.Tool("board", "seed", "--fixture", "people.json")
	n.Tool("answer", "sample", "documents")
	n.Tool("answer", "ingest", "documents/corpus")
	secrets := map[string]string{
		"cms":    strings.TrimSpace(n.Tool("cms", "install", "--admin", "ann")),
		"answer": strings.TrimSpace(n.Tool("answer", "key", "create", "--label", "desk")),
	}
	n.Start()
	for _, service := range []string{"gateway", "board", "cms", "events", "answer", "authserver"} {
		e2e.AnswersWith(t, url[service]+"/readyz", http.StatusOK)
	}
	secrets["user"] = strings.TrimSpace(n.Tool("keychain", "token", "ada"))
	secrets["administrator"] = strings.TrimSpace(n.Tool("keychain", "token", "mia"))
	secrets["account"] = strings.TrimSpace(n.Tool("authserver", "user", "add", "ann@example.com", "--name", "Ann", "--generate", "--json"))
	for i, certname := range []string{"alpha.example.com", "beta.example.com"} {
		report := strings.ReplaceAll(string(e2e.AgentRunAt(certname, -10*(i+1))), "2026-03-02T", time.Now().UTC().AddDate(0, 0, -1).Format("2006-01-02T"))
		if a := e2e.Do(t, e2e.Client, http.MethodPost, url["events"]+"/store/cmd/v1?command=store_report&version=8&certname="+certname+"&secondsToWaitForCompletion=30", "", report, "Content-Type", "application/json"); a.Status != http.StatusOK {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
	}
	url["traces"] = trace(t, n)
	addresses, err := json.Marshal(url)
	if err != nil {
		t.Fatal(err)
	}
	known, err := json.Marshal(secrets)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	e2e.RunBrowser(t, "look.mjs", "LOOK_URLS="+string(addresses), "LOOK_SECRETS="+string(known))
	t.Logf("%s in the browser", time.Since(began).Round(time.Second))
	n.Stop()
}

// trace makes the pages of the admin endpoint's socket available to a browser, and returns the address of the traces.
func trace(t *testing.T, n *e2e.Node) string {
	t.Helper()
	proxy := &http.Server{ReadHeaderTimeout: e2e.StartLimit, Handler: &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", "admin", "admin"
			r.Out.Header = http.Header{"Accept": r.In.Header["Accept"]} // the socket refuses headers that a foreign page could cause
		},
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", n.Path("data", "admin.sock"))
		}},
	}}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = proxy.Serve(listener) }()
	t.Cleanup(func() { _ = proxy.Close() })
	return "http://" + listener.Addr().String() + "/admin/answer/traces"
}
