package gateway

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestImposedLimits checks that limits that the operator sets by commands bind a user who tries to lift them through
// the API, and that refusals name the owner of the limit.
func TestImposedLimits(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	provider := func(code string) string {
		return "\t\t\tprovider " + code + " {\n\t\t\t\tbase_url " + up.URL + "/v1\n\t\t\t\tapi_key sk-operator-0123456789\n\t\t\t}\n"
	}
	g := e2e.Prepare(t, "\t\tcatalog {\n"+provider("openai")+provider("groq")+"\t\t}", "\ttollgate gateway\n", "\ttollgate gateway {\n\t\tnew_users refuse\n\t}\n")
	g.Start()
	g.Healthy()
	key := gjson.Parse(g.Tool("keychain", "keys", "create", "-u", "ada", "--rate-limit", "3", "--allow", "openai/*", "--json"))
	documented := e2e.NewDocumented(t, g.Base)
	ada := documented.As(strings.TrimSpace(g.Tool("keychain", "token", "ada")))
	eve := documented.As(strings.TrimSpace(g.Tool("keychain", "token", "eve")))
	if refusal := eve.Call("POST", "/users/init", "", 403).Body; gjson.Get(refusal, "error.code").Str != "new_users_refused" {
		t.Errorf("a new user gets %s", refusal)
	}
	ada.Call("POST", "/users/init", "", 200)
	ada.Call("PUT", "/keychain-keys/"+key.Get("id").Str, `{"budgets":null,"allowed_models":null,"rate_limit_per_minute":null,"expires_at":null}`, 200)
	second := gjson.Parse(ada.Call("POST", "/users/ada/keychain-keys", "", 201).Body)
	for _, k := range []gjson.Result{key, second} {
		models := e2e.Get(t, e2e.Client, g.Base+"/v1/models", k.Get("key").Str)
		if models.Status == http.StatusOK && (!strings.Contains(models.Body, `"openai/`) || strings.Contains(models.Body, `"groq/`)) {
			t.Errorf("models %s", models.Body)
		}
	}
	f := e2e.Ask(t.Context(), g.Base, second.Get("key").Str, e2e.Prompt("groq/llama-3.1-8b-instant", false)).Refused(t, 403, "permission_denied")
	if !strings.Contains(f.Error.Message, "the models that the operator allows this key") {
		t.Errorf("it says %q", f.Error.Message)
	}
	f = e2e.Ask(t.Context(), g.Base, key.Get("key").Str, e2e.Prompt("openai/gpt-5.4-nano", false)).Refused(t, 429, "rate_limit_exceeded")
	if !strings.Contains(f.Error.Message, "3 units per minute") || !strings.Contains(f.Error.Message, `"operator-key"`) {
		t.Errorf("it says %q", f.Error.Message)
	}

	bob := gjson.Parse(g.Tool("keychain", "users", "add", "bob", "--json")).Get("key.key").Str
	first := e2e.Ask(t.Context(), g.Base, bob, e2e.Prompt("openai/gpt-5.4-nano", false))
	first.Text(t)
	g.AwaitUsage(first.Header.Get("X-Request-Id"))
	g.Tool("keychain", "users", "limit", "bob", "--tokens-per-day", "1")
	user := documented.As(strings.TrimSpace(g.Tool("keychain", "token", "bob")))
	another := gjson.Parse(user.Call("POST", "/users/bob/keychain-keys", `{"budgets":{"tokens_per_day":1000000}}`, 201).Body)
	if another.Get("imposed.0.on").Str != "user" || another.Get("imposed.0.budgets.tokens_per_day").Int() != 1 {
		t.Errorf("another key is %s", another)
	}
	f = e2e.Ask(t.Context(), g.Base, another.Get("key").Str, e2e.Prompt("openai/gpt-5.4-nano", false)).Refused(t, 402, "insufficient_quota")
	if !strings.Contains(f.Error.Message, "the user of the gateway key has spent the budget tokens_per_day that the operator has set, 1 tokens a day; it is renewed at ") {
		t.Errorf("it says %q", f.Error.Message)
	}
}
