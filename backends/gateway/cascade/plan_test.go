package cascade

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

func TestResolveTier(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]catalog.Tier{
		"keychain-low": catalog.Low, "keychain-medium": catalog.Medium, "keychain-high": catalog.High,
		"vendor-haiku-4-5": catalog.Low, "vendor-sonnet-4-6": catalog.Medium, "vendor-opus-4-6": catalog.High,
		"claude-haiku-4-5-20251001": catalog.Low, "claude-3-5-haiku-latest": catalog.Low, "us.anthropic.claude-haiku-4-5-20251001-v1:0": catalog.Low,
		"claude-sonnet-5": catalog.Medium, "claude-sonnet-4-6[1m]": catalog.Medium, "anthropic/claude-sonnet-4.6": catalog.Medium, "CLAUDE-SONNET-5": catalog.Medium,
		"claude-opus-4-8": catalog.High, "anthropic/claude-opus-4-8-20260101[1m]": catalog.High, "claude-fable-1": catalog.High, "mythos": catalog.High,
		"gpt-5": 0, "": 0, "keychain": 0, "keychain-": 0, "keychain-max": 0, "keychain-lowest": 0, "low": 0, "Keychain-Low": 0,
	} {
		got, ok := ResolveTier(model)
		if got != want || ok != (want != 0) {
			t.Errorf("%q is %v, %v, want %v", model, got, ok, want)
		}
	}
}

// planFor returns the entries of the candidates in order, or the error.
func (r *rig) planFor(model string, more ...string) ([]string, *run, error) {
	r.t.Helper()
	run := r.engine.newRun(r.t.Context(), httptest.NewRecorder(), r.request(model, false, more))
	candidates, err := run.plan()
	names := make([]string, 0, len(candidates))
	for _, c := range candidates {
		names = append(names, c.Entry)
	}
	return names, run, err
}

func TestPlanOrder(t *testing.T) {
	t.Parallel()
	local := keychain.CustomModel{Entry: "local/one", BaseURL: "http://127.0.0.1:9/v1", Model: "one", Tier: catalog.Medium}
	all := []string{"alpha", "beta", "gamma"}
	for _, c := range []struct {
		name  string
		setup setup
		model string
		tier  catalog.Tier
		want  string
	}{
		{"low stays low", setup{keys: all}, "keychain-low", catalog.Low, "alpha/a-low beta/b-low gamma/g-low"},
		{"medium goes down", setup{keys: all}, "keychain-medium", catalog.Medium, "alpha/a-medium beta/b-medium gamma/g-medium alpha/a-low beta/b-low gamma/g-low"},
		{
			"high goes down twice",
			setup{keys: all},
			"keychain-high", catalog.High,
			"alpha/a-high beta/b-high gamma/g-high alpha/a-medium beta/b-medium gamma/g-medium alpha/a-low beta/b-low gamma/g-low",
		},
		{"a family", setup{keys: all}, "anthropic/claude-haiku-4-5-20251001", catalog.Low, "alpha/a-low beta/b-low gamma/g-low"},
		{"connected providers only", setup{keys: []string{"beta"}}, "keychain-medium", catalog.Medium, "beta/b-medium beta/b-low"},
		{"keys in any order", setup{keys: []string{"gamma", "alpha"}}, "keychain-low", catalog.Low, "alpha/a-low gamma/g-low"},
		{"preferred", setup{keys: all, prefer: keychain.Preferences{PreferredProviders: []string{"gamma", "beta"}}}, "keychain-low", catalog.Low, "gamma/g-low beta/b-low alpha/a-low"},
		{
			"priority",
			setup{keys: all, change: map[string]keychain.ModelChange{"gamma/g-low": {Priority: new(int64(-1))}, "alpha/a-low": {Priority: new(int64(5))}}},
			"keychain-low", catalog.Low, "gamma/g-low beta/b-low alpha/a-low",
		},
		{
			"preference before priority",
			setup{
				keys: all, change: map[string]keychain.ModelChange{"gamma/g-low": {Priority: new(int64(-9))}},
				prefer: keychain.Preferences{PreferredProviders: []string{"beta"}},
			},
			"keychain-low", catalog.Low, "beta/b-low gamma/g-low alpha/a-low",
		},
		{"excluded provider", setup{keys: all, prefer: keychain.Preferences{ExcludedProviders: []string{"alpha"}}}, "keychain-low", catalog.Low, "beta/b-low gamma/g-low"},
		{
			"excluded model",
			setup{keys: all, prefer: keychain.Preferences{ExcludedModels: []string{"alpha/a-medium"}}},
			"keychain-medium", catalog.Medium,
			"beta/b-medium gamma/g-medium alpha/a-low beta/b-low gamma/g-low",
		},
		{"disabled", setup{keys: all, change: map[string]keychain.ModelChange{"beta/b-low": {Enabled: new(false)}}}, "keychain-low", catalog.Low, "alpha/a-low gamma/g-low"},
		{"custom", setup{keys: []string{"alpha"}, custom: []keychain.CustomModel{local}}, "keychain-medium", catalog.Medium, "alpha/a-medium local/one alpha/a-low"},
		{"custom alone", setup{custom: []keychain.CustomModel{local}}, "keychain-high", catalog.High, "local/one"},
		{"custom, excluded", setup{keys: []string{"alpha"}, custom: []keychain.CustomModel{local}, prefer: keychain.Preferences{ExcludedProviders: []string{"custom"}}}, "keychain-medium", catalog.Medium, "alpha/a-medium alpha/a-low"},
		{"one entry", setup{keys: all}, "beta/b-high", 0, "beta/b-high"},
		{"one custom entry", setup{keys: all, custom: []keychain.CustomModel{local}}, "local/one", 0, "local/one"},
		{
			"one entry and its tier",
			setup{keys: all, options: Options{EntryFallback: true}},
			"beta/b-medium", 0,
			"beta/b-medium alpha/a-medium gamma/g-medium alpha/a-low beta/b-low gamma/g-low",
		},
		{
			"an entry whose name holds a family", setup{
				keys: []string{"alpha"}, models: `{"provider":"alpha","id":"anthropic/claude-opus-5","tiers":["low"],` + allAbilities + `},{"provider":"alpha","id":"x","tiers":["high"],` + allAbilities + `}`,
			}, "alpha/anthropic/claude-opus-5", 0, "alpha/anthropic/claude-opus-5",
		},
		{
			"the name of an entry of another provider", setup{
				keys: []string{"alpha"}, models: `{"provider":"alpha","id":"x","tiers":["high"],` + allAbilities + `},{"provider":"beta","id":"opus","tiers":["high"],` + allAbilities + `}`,
			}, "beta/opus", catalog.High, "alpha/x",
		},
		{"a default tier", setup{keys: []string{"alpha"}, options: Options{DefaultTier: catalog.Medium}}, "gpt-4o", catalog.Medium, "alpha/a-medium alpha/a-low"},
		{
			"a model of two tiers once", setup{
				keys: []string{"alpha"}, models: `{"provider":"alpha","id":"both","tiers":["low","high"],` + allAbilities + `},{"provider":"alpha","id":"mid","tiers":["medium"],` + allAbilities + `}`,
			}, "keychain-high", catalog.High, "alpha/both alpha/mid",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, c.setup)
			got, run, err := r.planFor(c.model)
			if err != nil || strings.Join(got, " ") != c.want {
				t.Fatalf("%v, %v\nwant %s", got, err, c.want)
			}
			if run.result.Tier != c.tier {
				t.Errorf("tier %v, want %v", run.result.Tier, c.tier)
			}
		})
	}
}

func TestPlanPutsFailingProvidersLast(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: []string{"alpha", "beta"}})
	for range failuresToAct {
		r.engine.Memory.Health.failed(incident{provider: "alpha", user: r.account.UserID, reason: ReasonErrors})
	}
	got, _, _ := r.planFor("keychain-medium")
	if want := "beta/b-medium alpha/a-medium beta/b-low alpha/a-low"; strings.Join(got, " ") != want {
		t.Errorf("while alpha fails: %v", got)
	}
	r.clock.advance(firstBackoff)
	got, _, _ = r.planFor("keychain-medium")
	if want := "alpha/a-medium beta/b-medium alpha/a-low beta/b-low"; strings.Join(got, " ") != want {
		t.Errorf("after that: %v", got)
	}
}

func TestPlanNeeds(t *testing.T) {
	t.Parallel()
	model := func(id, abilities string) string {
		return `{"provider":"alpha","id":"` + id + `","tiers":["low"],` + abilities + `}`
	}
	models := strings.Join([]string{
		model("all", allAbilities),
		model("text", `"context_window":1000`),
		model("image", `"modalities":["text","image"]`),
		model("file", `"modalities":["text","file"]`),
		model("audio", `"modalities":["text","audio"]`),
		model("tools", `"tools":true`),
		model("schema", `"json_schema":true`),
		model("prefill", `"prefill":true`),
	}, ",")
	r := newRig(t, setup{keys: []string{"alpha"}, models: models})
	part := func(kind string) string { return `"messages":[{"role":"user","content":[{"type":"` + kind + `"}]}]` }
	for _, c := range []struct {
		name, more, want string
	}{
		{"nothing", `"n":1`, "all text image file audio tools schema prefill"},
		{"image", part("image_url"), "all image"},
		{"file", part("file"), "all file"},
		{"audio", part("input_audio"), "all audio"},
		{"tools", `"tools":[{}]`, "all tools"},
		{"schema", `"response_format":{"type":"json_schema"}`, "all schema text image file audio tools prefill"},
		{"JSON mode", `"response_format":{"type":"json_object"}`, "all text image file audio tools schema prefill"},
		{"prefill", `"messages":[{"role":"user"},{"role":"assistant","content":"x"}]`, "all prefill"},
		{"tools and image", part("image_url") + `,"tools":[{}]`, "all"},
		{"just fits", `"messages":[{"role":"user","content":"` + strings.Repeat("x", 6000) + `"}]`, "all text image file audio tools schema prefill"},
		{"too long for one", `"messages":[{"role":"user","content":"` + strings.Repeat("x", 6006) + `"}]`, "all image file audio tools schema prefill"},
	} {
		got, _, err := r.planFor("keychain-low", c.more)
		for i := range got {
			got[i] = strings.TrimPrefix(got[i], "alpha/")
		}
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, %v, want %s", c.name, got, err, c.want)
		}
	}
}

func TestPlanErrors(t *testing.T) {
	t.Parallel()
	small := `{"provider":"alpha","id":"small","tiers":["low","medium"],"context_window":1000,"tools":true}`
	long := `"messages":[{"role":"user","content":"` + strings.Repeat("x", 100_000) + `"}]`
	for _, c := range []struct {
		name        string
		setup       setup
		model, more string
		status      int
		code        string
		says        []string
	}{
		{"no keys", setup{}, "keychain-low", "", 400, "no_provider_keys", []string{"provider-keys add"}},
		{
			"unknown",
			setup{keys: []string{"alpha"}},
			"gpt-4o", "", 404, "model_not_found",
			[]string{"gpt-4o", "keychain-low", "keychain-medium", "keychain-high", "alpha/a-low", "alpha/a-high"},
		},
		{"unknown, and a key in it", setup{keys: []string{"alpha"}}, "sk-abcdefghijklmnopqrst", "", 404, "model_not_found", []string{`"***"`}},
		{"unknown, without keys", setup{}, "gpt-4o", "", 404, "model_not_found", []string{"keychain-low"}},
		{"of a provider that is not connected", setup{keys: []string{"alpha"}}, "beta/b-low", "", 404, "model_not_found", nil},
		{
			"disabled entry",
			setup{keys: []string{"alpha"}, change: map[string]keychain.ModelChange{"alpha/a-low": {Enabled: new(false)}}},
			"alpha/a-low", "", 404, "model_not_found", nil,
		},
		{"all excluded", setup{keys: []string{"alpha"}, prefer: keychain.Preferences{ExcludedProviders: []string{"alpha"}}}, "keychain-high", "", 409, "no_models_available", []string{"excluded"}},
		{"nothing in the tier", setup{keys: []string{"alpha"}, models: `{"provider":"alpha","id":"x","tiers":["high"]}`}, "keychain-low", "", 409, "no_models_available", nil},
		{"nobody can", setup{keys: []string{"alpha"}, models: small}, "keychain-low", `"messages":[{"role":"user","content":[{"type":"image_url"}]}]`, 409, "no_models_available", []string{"image input"}},
		{"an entry that cannot", setup{keys: []string{"alpha"}, models: small}, "alpha/small", `"messages":[{"role":"user","content":[{"type":"input_audio"}]}]`, 409, "no_models_available", []string{"audio input"}},
		{"too long for all", setup{keys: []string{"alpha"}, models: small}, "keychain-medium", long, 400, "context_length_exceeded", []string{"prompt is too long"}},
		{"too long for the entry", setup{keys: []string{"alpha"}, models: small}, "alpha/small", long, 400, "context_length_exceeded", []string{"prompt is too long"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, c.setup)
			more := []string{}
			if c.more != "" {
				more = append(more, c.more)
			}
			e := r.ask(c.model, more...)
			e.wantError(t, c.status, c.code)
			if !e.err.NoRetry || e.Attempts != 0 || len(e.err.FailedAttempts) != 0 || e.header.Get("X-Gateway-Attempts") != "0" {
				t.Errorf("%+v after %d attempts, %v", e.err, e.Attempts, e.header)
			}
			for _, part := range c.says {
				if !strings.Contains(e.err.Message, part) {
					t.Errorf("%q does not say %q", e.err.Message, part)
				}
			}
		})
	}
}

func TestNotFoundListIsBounded(t *testing.T) {
	t.Parallel()
	models := make([]string, 0, 200)
	for i := range 200 {
		models = append(models, `{"provider":"alpha","id":"m`+strings.Repeat("x", i)+`","tiers":["low"]}`)
	}
	r := newRig(t, setup{keys: []string{"alpha"}, models: strings.Join(models, ",")})
	_, _, err := r.planFor(strings.Repeat("no", 200))
	e, ok := apierror.From(err)
	if !ok || len(e.Message) > 3000 || !strings.Contains(e.Message, "/v1/models") {
		t.Errorf("%v", err)
	}
}

// TestAllowedModels checks that errors for a key with a list of allowed models name no other models.
func TestAllowedModels(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: everybody})
	ask := func(model string) *apierror.Error {
		request := r.request(model, false, nil)
		request.Forbids = onlyBeta
		_, err := r.engine.Answer(t.Context(), httptest.NewRecorder(), request)
		e, ok := apierror.From(err)
		if !ok || !e.NoRetry || e.Param != "model" {
			t.Fatalf("%s: %v", model, err)
		}
		return e
	}
	e := ask("zzz")
	if e.Status != 404 || e.Code != "model_not_found" || !strings.Contains(e.Message, "keychain-low") || !strings.Contains(e.Message, "beta/b-low") ||
		strings.Contains(e.Message, "alpha/") || strings.Contains(e.Message, "gamma/") {
		t.Errorf("%+v", e)
	}
	if e := ask("alpha/a-low"); e.Status != 403 || e.Code != "permission_denied" || e.Type != "permission_error" || !strings.HasSuffix(e.Message, "it is not one of the list") {
		t.Errorf("%+v", e)
	}
}

// onlyBeta forbids all models except beta's.
func onlyBeta(c *keychain.Candidate) (list string) {
	if strings.HasPrefix(c.Entry, "beta/") {
		return ""
	}
	return "the list"
}

// TestAllowedModelsWithoutTool requests a tool that only a forbidden model can run. The refusal names the tool and the
// list.
func TestAllowedModelsWithoutTool(t *testing.T) {
	t.Parallel()
	for format, body := range map[hub.Format]string{
		hub.Messages:  `{"model":"keychain-low","max_tokens":100,"tools":[{"type":"web_search_20250305","name":"web_search"}],"tool_choice":{"type":"tool","name":"web_search"},"messages":[{"role":"user","content":"news?"}]}`,
		hub.Responses: `{"model":"keychain-low","store":false,"tools":[{"type":"web_search"}],"input":"news?"}`,
	} {
		t.Run(string(format), func(t *testing.T) {
			t.Parallel()
			r := newNative(t, format)
			request := r.parseRequest(format, body)
			request.Forbids = onlyBeta
			e := r.answer(request)
			e.wantError(t, 409, "no_models_available")
			for _, part := range []string{"web_search", "the list"} {
				if !strings.Contains(e.err.Message, part) {
					t.Errorf("%q does not say %q", e.err.Message, part)
				}
			}
			if len(r.alpha.requests())+len(r.beta.requests()) != 0 {
				t.Error("a provider was asked")
			}
		})
	}
}

func TestPseudoModelsResolve(t *testing.T) {
	t.Parallel()
	for _, p := range PseudoModels {
		if tier, ok := ResolveTier(p.ID); !ok || tier != p.Tier {
			t.Errorf("%s is %v", p.ID, tier)
		}
	}
}
