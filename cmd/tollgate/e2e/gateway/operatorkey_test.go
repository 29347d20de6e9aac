package gateway

import (
	"os"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestOperatorKeys checks that, if configured, the operator's provider keys serve users without a key. The users see
// that the operator's key is used, but no part of the key. A reload applies a changed key.
func TestOperatorKeys(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	const first, second, grok = "sk-first-0123456789", "sk-second-0123456789", "gsk-environment-0123456789"
	g := e2e.Prepare(t, "\t\tcatalog {\n\t\t\tprovider_keys env\n\t\t\tprovider openai {\n\t\t\t\tbase_url "+up.URL+"/v1\n\t\t\t\tapi_key {file.data/openai.key}\n\t\t\t}\n"+
		"\t\t\tprovider groq {\n\t\t\t\tbase_url "+up.URL+"/v1\n\t\t\t}\n\t\t}")
	write := func(key string) {
		if err := os.WriteFile(g.Path("data", "openai.key"), []byte(key+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(first)
	g.Env = append(g.Env, "GROQ_API_KEY="+grok)
	g.Start()
	g.Healthy()
	key := g.User("ada", up)
	auth := func() string {
		requests := up.Requests()
		return requests[len(requests)-1].Header.Get("Authorization")
	}
	a := e2e.Ask(t.Context(), g.Base, key, e2e.Prompt("openai/gpt-5.4-nano", false))
	if a.Text(t); auth() != "Bearer "+first {
		t.Errorf("sent %q", auth())
	}
	if e2e.Ask(t.Context(), g.Base, key, e2e.Prompt("groq/llama-3.1-8b-instant", true)).Text(t); auth() != "Bearer "+grok {
		t.Errorf("of the environment %q", auth())
	}
	models := e2e.Get(t, e2e.Client, g.Base+"/v1/models", key).Body
	if !strings.Contains(models, `"openai/gpt-5.4-nano"`) || !strings.Contains(models, `"groq/`) || strings.Contains(models, `"mistral/`) {
		t.Errorf("models %s", models)
	}
	ada := e2e.NewDocumented(t, g.Base).As(strings.TrimSpace(g.Tool("keychain", "token", "ada")))
	health := ada.Call("GET", "/users/ada/providers/health", "", 200).Body
	if k := gjson.Get(health, `providers.#(provider=="openai").keys.0`); k.Get("key_id").String() != "operator" || k.Get("masked").String() != "" ||
		k.Get("status").String() != "active" || k.Get("requests_last_day").Int() != 1 {
		t.Errorf("health %s", health)
	}
	route := ada.Call("POST", "/users/ada/route", `{"model":"openai/gpt-5.4-nano"}`, 200).Body
	if gjson.Get(route, "candidates.0.provider_key_id").String() != "operator" {
		t.Errorf("route %s", route)
	}
	if keys := ada.Call("GET", "/users/ada/keys", "", 200).Body; gjson.Get(keys, "keys.#").Int() != 0 {
		t.Errorf("keys %s", keys)
	}
	ada.Call("POST", "/users/ada/keys/operator/test", "", 404)
	g.AwaitUsage(a.Header.Get("X-Request-Id"))
	recent := ada.Call("GET", "/users/ada/usage/recent", "", 200).Body
	if n := gjson.Get(recent, `requests.#(request_id=="`+a.Header.Get("X-Request-Id")+`").provider_key_id`).String(); n != "operator" {
		t.Errorf("the log has %q: %s", n, recent)
	}
	// A user's provider key has precedence.
	own := ada.Call("POST", "/users/ada/keys", `{"provider":"openai","api_key":"sk-own-0123456789","key_label":""}`, 201).Body
	if e2e.Ask(t.Context(), g.Base, key, e2e.Prompt("openai/gpt-5.4-nano", false)).Text(t); auth() != "Bearer sk-own-0123456789" {
		t.Errorf("with a key of her own: %q", auth())
	}
	ada.Call("DELETE", "/users/ada/keys/"+gjson.Get(own, "id").String(), "", 204)
	write(second)
	config, err := g.Admin("GET", "/config/", "", "")
	if err != nil {
		t.Fatal(err)
	}
	g.Load(g.Config + "# reloaded\n")
	if e2e.Ask(t.Context(), g.Base, key, e2e.Prompt("openai/gpt-5.4-nano", false)).Text(t); auth() != "Bearer "+second {
		t.Errorf("after a reload: %q", auth())
	}
	g.Stop()
	for _, secret := range []string{first, second, grok} {
		if strings.Contains(config, secret) || strings.Contains(g.Logs.String(), secret) || strings.Contains(health+route+recent+models, secret[4:12]) {
			t.Errorf("%s is shown", secret)
		}
	}
}

// TestNoOperatorKeys checks that keys in the environment serve nobody unless the configuration enables it.
func TestNoOperatorKeys(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	g := e2e.Prepare(t, "\t\tcatalog {\n\t\t\tprovider openai {\n\t\t\t\tbase_url "+up.URL+"/v1\n\t\t\t}\n\t\t}")
	g.Env = append(g.Env, "OPENAI_API_KEY=sk-environment-0123456789")
	g.Start()
	g.Healthy()
	key := g.User("ada", up)
	e2e.Ask(t.Context(), g.Base, key, e2e.Prompt("keychain-low", false)).Refused(t, 400, "no_provider_keys")
}
