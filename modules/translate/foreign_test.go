package translate

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestTranslateUnknownMembers checks that the server gets the known members of a request, and no unknown members that
// it could mistake for them.
func TestTranslateUnknownMembers(t *testing.T) {
	t.Parallel()
	for _, member := range []string{
		`"Model":"evil"`, `"MODEL":"evil"`, `"mo\u0044el":"evil"`, `"models":["evil"]`, `"Stream":true`, `"\u017ftream":true`, `"maxTokens":9999999`,
		`"Max_Tokens":9999999`, `"N":128`, `"serviceTier":"evil"`, `"route":"evil"`, `"provider":{"order":["evil"]}`, `"plugins":[{"id":"evil"}]`,
		`"fallbacks":["evil"]`, `"api_base":"evil"`, `"Messages":[{"role":"user","content":"evil"}]`, `"Tools":[{"type":"evil"}]`,
	} {
		for path, body := range map[string]string{"/v1/messages": hello + "," + member + "}", "/v1/responses": `{` + member + `,"model":"m","input":"Hi","max_output_tokens":10}`} {
			var reqBody []byte
			w, err := send(t, "translate messages responses {\nmodel mine\n}", path, body, func(w http.ResponseWriter, r *http.Request) error {
				reqBody, _ = io.ReadAll(r.Body)
				_, err := io.WriteString(w, `{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}`)
				return err
			})
			var got struct {
				Model     string `json:"model"`
				Stream    bool   `json:"stream"`
				MaxTokens int    `json:"max_tokens"`
				N         int    `json:"n"`
			}
			if json.Unmarshal(reqBody, &got) != nil || err != nil || got.Model != "mine" || got.Stream || got.MaxTokens != 10 || got.N != 0 || strings.Contains(string(reqBody), "evil") {
				t.Errorf("%s: error %v, the server got %s", body, err, reqBody)
			}
			if w.Header().Get("X-Gateway-Dropped-Params") == "" {
				t.Errorf("%s: the dropped members are not reported", body)
			}
		}
	}
	for _, path := range []string{"/v1/messages", "/v1/responses"} {
		_, err := send(t, "translate messages responses", path, hello+`,"input":"Hi","mode\u006c":"evil"}`, nil)
		if err == nil || !strings.Contains(err.Error(), `"model" is given twice`) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
