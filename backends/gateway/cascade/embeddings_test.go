package cascade

import (
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/embeddings"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

const vectorModels = `{"provider":"alpha","id":"v-1","embeddings":true,"price":{"input":0.5,"output":0}},
	{"provider":"beta","id":"openai/v-1","family":"v-1","embeddings":true},
	{"provider":"beta","id":"v-2","embeddings":true},
	{"provider":"alpha","id":"a-low","tiers":["low"]}`

func vectorsOf(model string) string {
	return `{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.5,-1]}],"model":"` + model + `","usage":{"prompt_tokens":9,"total_tokens":9}}`
}

// embed requests the embedding of one text.
func (r *rig) embed(model string, more ...string) *outcome {
	r.t.Helper()
	req := &Request{ID: "req_1", User: r.account.UserID, Account: r.account}
	if err := req.ReadEmbeddings([]byte(`{` + strings.Join(append([]string{`"model":"` + model + `","input":"hello"`}, more...), ",") + `}`)); err != nil {
		r.t.Fatal(err)
	}
	return r.answer(req)
}

// TestEmbeddings checks that embeddings come only from the named model, through any key and provider that has it.
func TestEmbeddings(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: []string{"alpha", "alpha", "beta"}, models: vectorModels})
	r.alpha.addSteps(refusal(429, "rate_limit_exceeded", "slow down"), reply(200, vectorsOf("v-1-up")))
	e := r.embed("alpha/v-1", `"user":"u","encoding_format":"base64"`)
	e.wantAnswer(t, "alpha/v-1", `"embedding":"AAAAPwAAgL8="`)
	if !strings.Contains(e.body, `"model":"alpha/v-1"`) || e.Usage.Prompt != 9 || e.Estimated || e.Attempts != 2 {
		t.Errorf("%+v: %s", e.Result, e.body)
	}
	calls := r.alpha.requests()
	if calls[0].key == calls[1].key || calls[1].path != "/v1/embeddings" || calls[1].body != `{"model":"v-1","input":"hello","user":"u","encoding_format":"base64"}` {
		t.Errorf("asked %+v", calls)
	}
	record := (&Request{Embed: mustEmbed(t, "alpha/v-1")}).Record(e.Result, time.Now())
	if record.Surface != "embeddings" || record.InputTokens != 9 || record.CostMicroUSD != 5 || record.AskedModel != "alpha/v-1" || record.OutputTokens != 0 {
		t.Errorf("recorded %+v", record)
	}

	// The request fails over to the same model of another provider, which does not accept the user member.
	r.alpha.addSteps(refusal(500, "down", "down"))
	r.beta.addSteps(reply(200, vectorsOf("x")))
	e = r.embed("v-1", `"user":"u"`)
	if e.wantAnswer(t, "beta/openai/v-1", `"model":"v-1"`); r.beta.requests()[0].body != `{"model":"openai/v-1","input":"hello"}` {
		t.Errorf("beta got %s", r.beta.requests()[0].body)
	}

	// No other model is asked.
	r.beta.addSteps(refusal(500, "down", "down"))
	r.embed("beta/v-2").wantError(t, 502, "all_providers_failed")
	if len(r.alpha.requests()) != 3 {
		t.Errorf("another model was asked for vectors: %+v", r.alpha.requests()[3:])
	}
}

// TestEmbeddingsForeignMembers checks that unknown members are left out, and that the client learns of it from a
// header.
func TestEmbeddingsForeignMembers(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: []string{"alpha"}, models: vectorModels})
	r.alpha.addSteps(reply(200, vectorsOf("v-1")))
	e := r.embed("alpha/v-1", `"Model":"evil"`, `"dimensions":2`, `"api_base":"https://evil"`, `"\u0049nput":"evil"`)
	e.wantAnswer(t, "alpha/v-1", "0.5")
	if body, dropped := r.alpha.requests()[0].body, e.header.Get("X-Gateway-Dropped-Params"); body != `{"model":"v-1","input":"hello","dimensions":2}` || dropped != "Model, api_base, Input" {
		t.Errorf("asked %s, dropped %q", body, dropped)
	}
	for _, twice := range []string{`"mode\u006c":"evil"`, `"input":"evil"`, `"dimensions":1,"dimensions":2`} {
		err := new(Request).ReadEmbeddings([]byte(`{"model":"alpha/v-1","input":"hello",` + twice + `}`))
		if refusal, ok := apierror.From(err); !ok || refusal.Status != 400 || !strings.Contains(refusal.Message, "twice") {
			t.Errorf("%s: %v", twice, err)
		}
	}
}

func mustEmbed(t *testing.T, model string) *embeddings.Request {
	t.Helper()
	req := &Request{}
	if err := req.ReadEmbeddings([]byte(`{"model":"` + model + `","input":"hello"}`)); err != nil {
		t.Fatal(err)
	}
	return req.Embed
}

// TestEmbeddingsWithMissingVectors checks that an answer without exactly one vector for each text is not passed on.
func TestEmbeddingsWithMissingVectors(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: []string{"alpha", "beta"}, models: vectorModels})
	r.alpha.addSteps(reply(200, strings.Replace(vectorsOf("x"), `"data":[`, `"data":[{"embedding":[1]},`, 1)))
	r.beta.addSteps(reply(200, `{"data":[{"embedding":[3]}]}`))
	e := r.embed("alpha/v-1")
	if e.wantAnswer(t, "beta/openai/v-1", "[3]"); e.Failed[0].Code != "broken_answer" || !e.Estimated || e.Usage.Prompt == 0 {
		t.Errorf("%+v", e.Result)
	}
}

func TestEmbeddingsAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: []string{"alpha"}, models: vectorModels})
	e := r.embed("alpha/a-low")
	if e.wantError(t, 409, "no_models_available"); !strings.Contains(e.err.Message, "makes no embeddings; use one of alpha/v-1") {
		t.Error(e.err)
	}
	r.embed("keychain-low").wantError(t, 404, "model_not_found")
	r.embed("v-9").wantError(t, 404, "model_not_found")
	req := &Request{ID: "req_1", User: r.account.UserID, Account: r.account, Embed: mustEmbed(t, "v-1"), Forbids: onlyBeta}
	r.answer(req).wantError(t, 403, "permission_denied")
	if e = r.ask("alpha/v-1"); !strings.Contains(e.err.Message, "POST /v1/embeddings") {
		t.Error(e.err)
	}
	r.account = newAccount(t, r.catalog, setup{})
	r.embed("v-1").wantError(t, 400, "no_provider_keys")
	if len(r.alpha.requests()) != 0 {
		t.Errorf("asked %+v", r.alpha.requests())
	}
}

// TestEmbeddingsOfAnOwnServer checks that a user's own server is asked for embeddings, although its abilities are
// unknown.
func TestEmbeddingsOfAnOwnServer(t *testing.T) {
	t.Parallel()
	own := newUpstream(t, "own")
	r := newRig(t, setup{models: vectorModels, custom: []keychain.CustomModel{{Entry: "own/nomic", BaseURL: own.server.URL + "/v1", Model: "nomic", Tier: catalog.Low}}})
	own.addSteps(reply(200, vectorsOf("nomic")))
	e := r.embed("own/nomic")
	if e.wantAnswer(t, "own/nomic", "0.5"); own.requests()[0].path != "/v1/embeddings" {
		t.Errorf("asked %+v", own.requests())
	}
}
