package wire

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestForeign(t *testing.T) {
	for _, c := range []struct {
		name string
		to   API // APIs to which it is not sent
	}{
		{"model", 0},
		{"Model", anyAPI},
		{"MODEL", anyAPI},
		{"mOdEl", anyAPI},
		{"mo_del", anyAPI},
		{"model_", anyAPI},
		{"-model", anyAPI},
		{"model\x00", anyAPI},
		{" model", anyAPI},
		{"models", anyAPI},
		{"Models", anyAPI},
		{"modelId", anyAPI},
		{"stream", 0},
		{"\u017ftream", anyAPI},
		{"Stream", anyAPI},
		{"streamOptions", anyAPI},
		{"stream_options", APIMessages},
		{"max_tokens", APIResponses},
		{"maxTokens", anyAPI},
		{"max-tokens", anyAPI},
		{"max_to\u212aens", anyAPI},
		{"maxtokens", anyAPI},
		{"max_completion_tokens", APIResponses | APIMessages},
		{"maxCompletionTokens", anyAPI},
		{"max_output_tokens", APIChat | APIMessages},
		{"max_new_tokens", anyAPI},
		{"max_tokens_to_sample", anyAPI},
		{"n", APIResponses | APIMessages},
		{"N", anyAPI},
		{"best_of", anyAPI},
		{"messages", APIResponses},
		{"Messages", anyAPI},
		{"input", APIChat | APIMessages},
		{"prompt", APIChat | APIMessages},
		{"tools", 0},
		{"Tools", anyAPI},
		{"functions", APIResponses | APIMessages},
		{"service_tier", 0},
		{"serv\u0131ce_tier", anyAPI},
		{"SERV\u0130CE_TIER", anyAPI},
		{"serviceTier", anyAPI},
		{"output_config", APIChat | APIResponses},
		{"Output_Config", anyAPI},
		{"speed", APIChat | APIResponses},
		{"route", anyAPI},
		{"provider", anyAPI},
		{"providerOptions", anyAPI},
		{"plugins", anyAPI},
		{"transforms", anyAPI},
		{"fallbacks", anyAPI},
		{"context_window_fallbacks", anyAPI},
		{"contentPolicyFallbacks", anyAPI},
		{"api_base", anyAPI},
		{"api_key", anyAPI},
		{"base_url", anyAPI},
		{"extra_body", APIResponses | APIMessages},
		{"extraBody", anyAPI},
		{"user_config", anyAPI},
		// Names that are not foreign members.
		{"", 0},
		{"___", 0},
		{"temperature", 0},
		{"Temperature", 0},
		{"zeta", 0},
		{"model2", 0},
		{"a_model", 0},
		{"modèl", 0},
		{"модель", 0},
		{"model\xff", 0},
		{strings.Repeat("_", 100) + "model", anyAPI},
		{strings.Repeat("model", 100), 0},
	} {
		for _, api := range []API{APIChat, APIResponses, APIMessages} {
			if got := Foreign(api, []byte(c.name)); got != (c.to&api != 0) {
				t.Errorf("%q for API %d: %t", c.name, api, got)
			}
		}
	}
	if testing.AllocsPerRun(10, func() { Foreign(APIChat, []byte("max_to\u212aens")) }) > 0 {
		t.Error("it allocates")
	}
}

// FuzzForeign checks that every other spelling of a checked member that encoding/json accepts is foreign.
func FuzzForeign(f *testing.F) {
	f.Add("MODEL")
	f.Add("\u017ftream")
	f.Add("max_to\u212aens")
	f.Fuzz(func(t *testing.T, name string) {
		key, _ := json.Marshal(name)
		var got struct {
			Model       int `json:"model"`
			Stream      int `json:"stream"`
			MaxTokens   int `json:"max_tokens"`
			N           int `json:"n"`
			Tools       int `json:"tools"`
			ServiceTier int `json:"service_tier"`
		}
		if err := json.Unmarshal([]byte(`{`+string(key)+`:1}`), &got); err != nil {
			return
		}
		switch name {
		case "model", "stream", "max_tokens", "n", "tools", "service_tier":
			return
		}
		if got.Model+got.Stream+got.MaxTokens+got.N+got.Tools+got.ServiceTier > 0 && !Foreign(APIChat, []byte(name)) {
			t.Errorf("%q is read by a Go server", name)
		}
	})
}
