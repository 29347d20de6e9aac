package main

import (
	"os"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// TestOperatorKeys: where the configuration says so, the operator's provider keys
// serve users who have none; they see that it is so, and nothing of the key. A reload
// takes a changed one.
func TestOperatorKeys(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	const first, second, grok = "sk-first-0123456789", "sk-second-0123456789", "gsk-environment-0123456789"
	g := prepare(t, "\t\tcatalog {\n\t\t\tprovider_keys env\n\t\t\tprovider openai {\n\t\t\t\tbase_url "+up.url+"/v1\n\t\t\t\tapi_key {file.data/openai.key}\n\t\t\t}\n"+
		"\t\t\tprovider groq {\n\t\t\t\tbase_url "+up.url+"/v1\n\t\t\t}\n\t\t}")
	write := func(key string) {
		if err := os.WriteFile(g.path("data", "openai.key"), []byte(key+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(first)
	g.env = append(g.env, "GROQ_API_KEY="+grok)
	g.start()
	g.healthy()
	key := g.user("ada", up)
	sent := func() string {
		requests := up.Requests()
		return requests[len(requests)-1].Header.Get("Authorization")
	}
	a := ask(t.Context(), g.base, key, prompt("openai/gpt-5.4-nano", false))
	if a.text(t); sent() != "Bearer "+first {
		t.Errorf("sent %q", sent())
	}
	if ask(t.Context(), g.base, key, prompt("groq/llama-3.1-8b-instant", true)).text(t); sent() != "Bearer "+grok {
		t.Errorf("of the environment %q", sent())
	}
	models := get(t, client, g.base+"/v1/models", key).body
	if !strings.Contains(models, `"openai/gpt-5.4-nano"`) || !strings.Contains(models, `"groq/`) || strings.Contains(models, `"mistral/`) {
		t.Errorf("models %s", models)
	}
	ada := newDocumented(t, g.base).as(strings.TrimSpace(g.tool("keychain", "token", "ada")))
	health := ada.call("GET", "/users/ada/providers/health", "", 200).body
	if k := gjson.Get(health, `providers.#(provider=="openai").keys.0`); k.Get("key_id").String() != "operator" || k.Get("masked").String() != "" ||
		k.Get("status").String() != "active" || k.Get("requests_last_day").Int() != 1 {
		t.Errorf("health %s", health)
	}
	route := ada.call("POST", "/users/ada/route", `{"model":"openai/gpt-5.4-nano"}`, 200).body
	if gjson.Get(route, "candidates.0.provider_key_id").String() != "operator" {
		t.Errorf("route %s", route)
	}
	if keys := ada.call("GET", "/users/ada/keys", "", 200).body; gjson.Get(keys, "keys.#").Int() != 0 {
		t.Errorf("keys %s", keys)
	}
	ada.call("POST", "/users/ada/keys/operator/test", "", 404)
	g.awaitUsage(a.header.Get("X-Request-Id"))
	recent := ada.call("GET", "/users/ada/usage/recent", "", 200).body
	if n := gjson.Get(recent, `requests.#(request_id=="`+a.header.Get("X-Request-Id")+`").provider_key_id`).String(); n != "operator" {
		t.Errorf("the log has %q: %s", n, recent)
	}
	// A user's own key comes first.
	own := ada.call("POST", "/users/ada/keys", `{"provider":"openai","api_key":"sk-own-0123456789","key_label":""}`, 201).body
	if ask(t.Context(), g.base, key, prompt("openai/gpt-5.4-nano", false)).text(t); sent() != "Bearer sk-own-0123456789" {
		t.Errorf("with a key of her own: %q", sent())
	}
	ada.call("DELETE", "/users/ada/keys/"+gjson.Get(own, "id").String(), "", 204)
	write(second)
	config, err := g.admin("GET", "/config/", "", "")
	if err != nil {
		t.Fatal(err)
	}
	g.load(g.config + "# reloaded\n")
	if ask(t.Context(), g.base, key, prompt("openai/gpt-5.4-nano", false)).text(t); sent() != "Bearer "+second {
		t.Errorf("after a reload: %q", sent())
	}
	g.stop()
	for _, secret := range []string{first, second, grok} {
		if strings.Contains(config, secret) || strings.Contains(g.logs.String(), secret) || strings.Contains(health+route+recent+models, secret[4:12]) {
			t.Errorf("%s is shown", secret)
		}
	}
}

// TestNoOperatorKeys: without a word in the configuration the environment serves nobody.
func TestNoOperatorKeys(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	g := prepare(t, "\t\tcatalog {\n\t\t\tprovider openai {\n\t\t\t\tbase_url "+up.url+"/v1\n\t\t\t}\n\t\t}")
	g.env = append(g.env, "OPENAI_API_KEY=sk-environment-0123456789")
	g.start()
	g.healthy()
	key := g.user("ada", up)
	ask(t.Context(), g.base, key, prompt("keychain-low", false)).refused(t, 400, "no_provider_keys")
}
