package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestCatalogFile checks that a newer data file adds a model without a new binary while the gateway runs, and that a
// broken file changes nothing.
func TestCatalogFile(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(e2e.Repo("backends/gateway/catalog/catalog.json"))
	if err != nil {
		t.Fatal(err)
	}
	// dataFile returns the data file with a copy of its first model, under another name, at the beginning.
	dataFile := func(name string) []byte {
		var data map[string]any
		if err := json.Unmarshal(text, &data); err != nil {
			t.Fatal(err)
		}
		models := data["models"].([]any)
		added := maps.Clone(models[0].(map[string]any))
		added["id"], added["name"], added["tiers"] = name, name, []string{"high"}
		data["models"] = append([]any{added}, models...)
		data["updated"] = "2027-01-31"
		out, err := json.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	up := e2e.NewUpstream(t)
	g := e2e.Prepare(t, "\t\tcatalog {\n\t\t\tfile data/catalog.json\n\t\t\tprovider openai {\n\t\t\t\tbase_url "+up.URL+"/v1\n\t\t\t}\n\t\t}")
	file := g.Path("data", "catalog.json")
	replace := func(content []byte) {
		if err := os.WriteFile(file+".new", content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	replace(dataFile("gpt-of-tomorrow"))
	g.Start()
	g.Healthy()
	key := g.User("ada", up)
	if _, err := g.AddProviderKey(t.Context(), "ada", "openai", "sk-0123456789", "", func(string) bool { return true }); err != nil {
		t.Fatal(err)
	}
	served := func(want string) error {
		a := e2e.Ask(t.Context(), g.Base, key, e2e.Prompt("keychain-high", false))
		if a.Text(t); a.Header.Get("X-Gateway-Model") != want {
			return fmt.Errorf("served by %s", a.Header.Get("X-Gateway-Model"))
		}
		return nil
	}
	if err := served("gpt-of-tomorrow"); err != nil {
		t.Error(err)
	}
	if a := e2e.Get(t, e2e.Client, g.Base+"/models", ""); !strings.Contains(a.Body, `"updated":"2027-01-31"`) {
		t.Errorf("models: %.200s", a.Body)
	}
	replace([]byte(`{"providers":[`))
	g.AwaitLog(`"level":"error"`, "model catalog file is not usable")
	if err := served("gpt-of-tomorrow"); err != nil {
		t.Errorf("after a broken file: %v", err)
	}
	replace(dataFile("gpt-of-the-day-after"))
	e2e.Eventually(t, e2e.WaitLimit, "the newest model serves", func() error { return served("gpt-of-the-day-after") })
}

// TestAlternateProvider checks that an alternate provider is used only if it is enabled.
func TestAlternateProvider(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	const key = "pplx-0123456789"
	for name, test := range map[string]struct {
		enable string
		there  bool
	}{"disabled": {"", false}, "enabled": {"\t\t\tenable perplexity\n", true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := e2e.NewGateway(t, "\t\tcatalog {\n"+test.enable+"\t\t\tdisable groq\n\t\t\tprovider perplexity {\n\t\t\t\tbase_url "+up.URL+"/v1\n\t\t\t\theader X-Team {env.HOME}\n\t\t\t}\n\t\t}")
			gatewayKey := g.User("ada", up)
			if _, err := g.AddProviderKey(t.Context(), "ada", "perplexity", key, "", func(string) bool { return true }); err != nil {
				t.Fatal(err)
			}
			list := e2e.Get(t, e2e.Client, g.Base+"/providers", "").Body
			if strings.Contains(list, `"code":"perplexity"`) != test.there || strings.Contains(list, `"code":"groq"`) || !strings.Contains(list, `"code":"openai"`) {
				t.Errorf("providers %s", list)
			}
			a := e2e.Ask(t.Context(), g.Base, gatewayKey, e2e.Prompt("keychain-medium", false))
			if !test.there {
				a.Refused(t, 400, "no_provider_keys")
				return
			}
			if a.Text(t); a.Header.Get("X-Gateway-Provider") != "perplexity" {
				t.Errorf("provider %q", a.Header.Get("X-Gateway-Provider"))
			}
			requests := up.Requests()
			if last := requests[len(requests)-1]; last.Header.Get("Authorization") != "Bearer "+key || last.Header.Get("X-Team") != g.Dir {
				t.Errorf("upstream got %v", last.Header)
			}
		})
	}
}

// TestCustomEntries checks that a user's custom models, with and without a key, are requested at their configured base
// URL with their key, and only for that user.
func TestCustomEntries(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	g := e2e.NewGateway(t, "")
	key, other := g.User("ada", up), g.User("bob", up)
	for entry, secret := range map[string]string{"local/keyless": "", "local/keyed": "secret-of-the-entry"} {
		m := keychain.CustomModel{Entry: entry, BaseURL: up.Base(), Model: "scripted", Tier: catalog.Low, APIKey: secret}
		if _, err := g.AddModel(t.Context(), "ada", m); err != nil {
			t.Fatal(err)
		}
		var a *e2e.Answer
		e2e.Eventually(t, e2e.WaitLimit, "the entry is known", func() error { // caches may be a few seconds old
			if a = e2e.Ask(t.Context(), g.Base, key, e2e.Prompt(entry, true)); a.Status == http.StatusNotFound {
				return errors.New(a.Body)
			}
			return nil
		})
		a.Text(t)
		requests := up.Requests()
		last := requests[len(requests)-1]
		want := ""
		if secret != "" {
			want = "Bearer " + secret
		}
		if got := last.Header.Get("Authorization"); got != want || strings.Contains(fmt.Sprint(last.Header), key) {
			t.Errorf("%s: the server got %v", entry, last.Header)
		}
		e2e.Ask(t.Context(), g.Base, other, e2e.Prompt(entry, true)).Refused(t, 404, "model_not_found")
	}
}

// TestForbiddenNetworks checks that a user's base URL reaches no private address of the gateway's machine, in any
// spelling, unless the operator allows it.
func TestForbiddenNetworks(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	port := up.URL[strings.LastIndexByte(up.URL, ':')+1:]
	g := e2e.NewGateway(t, "", "\t\tallow_networks 127.0.0.0/8\n", "\t\tallow_networks 10.99.0.0/16\n")
	hosts := []string{
		"127.0.0.1", "localhost", "127.1", "2130706433", "0x7f000001", "0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
		"127.0.0.1.", "LOCALHOST", "169.254.169.254", "192.168.0.1", "[64:ff9b::7f00:1]", "100.100.100.200",
	}
	_, key, _, err := g.InitUser(t.Context(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	for i, host := range hosts {
		m := keychain.CustomModel{Entry: fmt.Sprintf("own/%d", i), BaseURL: "http://" + host + ":" + port + "/v1", Model: "scripted", Tier: catalog.High}
		if _, err := g.AddModel(t.Context(), "ada", m); err != nil {
			t.Logf("%s is refused when it is added: %v", host, err)
			continue
		}
	}
	for i, host := range hosts {
		a := e2e.Ask(t.Context(), g.Base, key.Key, e2e.Prompt(fmt.Sprintf("own/%d", i), i%2 == 0))
		if a.Status == http.StatusNotFound {
			continue
		}
		f := a.Refused(t, 502, "all_providers_failed")
		for _, attempt := range f.Error.Attempts {
			// A spelling that the resolver does not accept as a name leads to a connection error.
			if attempt.Code != "address_not_allowed" && attempt.Code != "connection_error" {
				t.Errorf("%s: %+v", host, attempt)
			}
			if plain := host == "127.0.0.1" || host == "localhost" || strings.HasPrefix(host, "["); plain && attempt.Code != "address_not_allowed" {
				t.Errorf("%s: %+v", host, attempt)
			}
		}
	}
	if n := up.Stats().Requests; n != 0 {
		t.Errorf("the server on this machine was reached %d times", n)
	}
	// The API already refuses such base URLs.
	ada := e2e.NewDocumented(t, g.Base).As(strings.TrimSpace(g.Tool("keychain", "token", "ada")))
	for _, base := range []string{"http://127.0.0.1:" + port + "/v1", "http://localhost:" + port, "http://[::1]/v1", "https://169.254.169.254/v1"} {
		a := ada.Call("POST", "/users/ada/models", `{"model_entry":"api/one","base_url":"`+base+`","model":"scripted","tier":"low"}`, 400)
		if !strings.Contains(a.Body, "allow_networks") || !strings.Contains(a.Body, `"param":"base_url"`) {
			t.Errorf("%s: %s", base, a.Body)
		}
	}
	ada.Call("POST", "/users/ada/models", `{"model_entry":"api/one","base_url":"http://10.99.1.2/v1","model":"scripted","tier":"low"}`, 201)
}
