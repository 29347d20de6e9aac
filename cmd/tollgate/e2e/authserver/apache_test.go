package authserver

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// apacheConfig is the configuration of an Apache whose pages require a sign-in at the issuer.
const apacheConfig = `ServerRoot "DIR"
ServerName 127.0.0.1
Listen 127.0.0.1:PORT
PidFile DIR/httpd.pid
Mutex posixsem
IDENTITYErrorLog DIR/error.log
LogLevel warn
DocumentRoot PAGES
LoadModule mpm_event_module MODULES/mod_mpm_event.so
LoadModule authn_core_module MODULES/mod_authn_core.so
LoadModule authz_core_module MODULES/mod_authz_core.so
LoadModule authz_user_module MODULES/mod_authz_user.so
LoadModule dir_module MODULES/mod_dir.so
LoadModule auth_openidc_module MODULES/mod_auth_openidc.so
OIDCProviderMetadataURL ISSUER/.well-known/openid-configuration
OIDCClientID CLIENT
OIDCClientSecret SECRET
OIDCRedirectURI http://127.0.0.1:PORT/callback
OIDCCryptoPassphrase a-pass-phrase-of-the-test
OIDCScope "openid email"
OIDCPKCEMethod S256
OIDCRemoteUserClaim email
OIDCSessionType server-cache
<Location />
	AuthType openid-connect
	Require valid-user
</Location>
`

// TestApache checks that mod_auth_openidc signs people in, and signs them out by back-channel logout when they sign out
// at the issuer.
func TestApache(t *testing.T) {
	t.Parallel()
	const modules = "/usr/lib/apache2/modules"
	program, err := exec.LookPath("apache2")
	if err != nil {
		t.Fatalf("%v: run make deps", err)
	}
	port := e2e.FreePort(t)
	issuer, site := "http://localhost:"+e2e.FreePort(t), "http://127.0.0.1:"+port
	n := e2e.NewNode(t, `{
	admin unix/data/admin.sock
	persist_config off
	storage file_system data/caddy
	tollgate {
		database sqlite data/tollgate.db
		allow_networks 127.0.0.0/8
	}
}
`+issuer+" {\n\ttollgate authserver {\n\t\tconfig config.yaml\n\t}\n}\n")
	n.WriteKeys("server: {issuer: '" + issuer + "'}\ndcr: {mode: open}\n")
	n.Start()
	e2e.AnswersWith(t, issuer+"/readyz", http.StatusOK)
	addAnn(n)

	var client struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	a := e2e.Do(t, e2e.Client, http.MethodPost, issuer+"/oauth/register", "", `{"client_name": "Intranet", "redirect_uris": ["`+site+`/callback"],
		"token_endpoint_auth_method": "client_secret_basic", "backchannel_logout_uri": "`+site+`/callback?logout=backchannel"}`, "Content-Type", "application/json")
	if err := json.Unmarshal([]byte(a.Body), &client); err != nil || a.Status != http.StatusCreated {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	identity, pages := "", t.TempDir()
	if os.Getuid() == 0 { // Apache refuses to serve as root
		identity = "User nobody\nGroup nogroup\n"
		if err := os.Chmod(filepath.Dir(pages), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	apache(t, program, n.Path("apache"), pages, strings.NewReplacer("DIR", n.Path("apache"), "PAGES", pages, "IDENTITY", identity, "MODULES", modules, "PORT", port, "ISSUER", issuer, "CLIENT", client.ID, "SECRET", client.Secret).Replace(apacheConfig))

	ann := e2e.NewPerson(t, annMail, annPassword, "http://nowhere.example")
	shows := func() (status int, text string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, site+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", "text/html")
		direct := &http.Client{Jar: ann.Jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		answer, err := direct.Do(r)
		if err != nil { // Apache does not listen yet
			return 0, err.Error()
		}
		defer answer.Body.Close()
		raw, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(raw)
	}
	// leads waits until the page redirects to the issuer.
	leads := func(name string) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
			status, text := shows()
			if status == http.StatusFound {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: %d %s", name, status, text)
			}
		}
	}
	leads("nobody is signed in")
	signsIn(t, ann, issuer, site)
	if status, text := shows(); status != http.StatusOK || text != "the intranet" {
		t.Fatalf("%d %s", status, text)
	}

	signsOut(t, ann, issuer)
	leads("who has signed out at the issuer is signed in at the application still")
	n.Stop()
}

// apache runs Apache with its log in a folder, and a page in another.
func apache(t *testing.T, program, folder, pages, config string) {
	t.Helper()
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{pages + "/index.html": "the intranet", folder + "/httpd.conf": config} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), program, "-X", "-f", folder+"/httpd.conf") // -X: a single process
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	e2e.Watch(cmd.Process.Pid, true)
	t.Cleanup(func() { // the end of the context has killed the process
		_ = cmd.Wait()
		e2e.Watch(cmd.Process.Pid, false)
		if log, err := os.ReadFile(folder + "/error.log"); err == nil && t.Failed() {
			t.Logf("Apache: %s", log)
		}
	})
}

// signsIn follows the redirects from the application to the issuer and back.
func signsIn(t *testing.T, ann *e2e.Person, issuer, site string) {
	t.Helper()
	direct := *ann.Client
	direct.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, site+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html")
	answer, err := direct.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	location := answer.Header.Get("Location")
	if !strings.HasPrefix(location, issuer+"/oauth/authorize?") {
		t.Fatalf("%d leads to %s", answer.StatusCode, location)
	}
	ann.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(r.URL.String(), site) {
			return http.ErrUseLastResponse
		}
		return nil
	}
	callback := ann.Approve(location)
	r, err = http.NewRequestWithContext(t.Context(), http.MethodGet, callback.String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if answer, err = direct.Do(r); err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusFound {
		t.Fatalf("back at the application: %d", answer.StatusCode)
	}
}

// signsOut submits the sign-out form of the issuer.
func signsOut(t *testing.T, ann *e2e.Person, issuer string) {
	t.Helper()
	b := ann.Browser(issuer)
	form := b.Get("/oauth/logout").Fields()
	if answer := b.Post("/logout", form); answer.StatusCode != http.StatusOK {
		t.Fatalf("signing out: %d", answer.StatusCode)
	}
}
