package gateway

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestConverse sends requests in the format of Bedrock's clients, without an SDK: whole, streamed, with limits and
// errors.
func TestConverse(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	g := e2e.NewGateway(t, "")
	key := g.User("nora", up, "scripted")
	const hi = `{"messages":[{"role":"user","content":[{"text":"Hi"}]}]}`
	ask := func(key, path, body string) (status int, header http.Header, answer []byte) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.Base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		answer, err = io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, resp.Header, answer
	}

	for _, path := range []string{"/model/own%2F1/converse", "/model/own/1/converse"} {
		status, header, answer := ask(key, path, hi)
		if text := gjson.GetBytes(answer, "output.message.content.0.text").Str; status != http.StatusOK || text == "" ||
			gjson.GetBytes(answer, "stopReason").Str != "end_turn" || gjson.GetBytes(answer, "usage.totalTokens").Int() == 0 {
			t.Errorf("%s: %d %s", path, status, answer)
		}
		if header.Get("X-Amzn-Requestid") == "" || header.Get("X-Gateway-Model") == "" {
			t.Errorf("%s: header %v", path, header)
		}
	}

	_, header, answer := ask(key, "/model/own%2F1/converse-stream", hi)
	events, err := io.ReadAll(wire.NewEventStream(io.NopCloser(bytes.NewReader(answer))))
	if media := header.Get("Content-Type"); err != nil || media != wire.EventStreamType {
		t.Fatalf("%v, %s: %q", err, media, answer)
	}
	if text := string(events); !strings.HasPrefix(text, "event: messageStart\n") || !strings.Contains(text, "\nevent: metadata\n") ||
		!strings.Contains(text, `"stopReason":"end_turn"`) {
		t.Errorf("the stream is %s", text)
	}

	for name, c := range map[string]struct {
		key, path, body string
		status          int
		kind            string
	}{
		"no key":        {"", "/model/own%2F1/converse", hi, 401, "UnrecognizedClientException"},
		"other key":     {"ak-no", "/model/own%2F1/converse-stream", hi, 401, "UnrecognizedClientException"},
		"no model":      {key, "/model/none:0/converse", hi, 404, "ResourceNotFoundException"},
		"a bad request": {key, "/model/own%2F1/converse", `{"messages":[{"role":"user","content":[{"video":{}}]}]}`, 400, "ValidationException"},
		"other path":    {key, "/model/own%2F1/invoke", hi, 404, "ResourceNotFoundException"},
		"other base":    {key, "/v1/model/own%2F1/converse", hi, 404, ""},
	} {
		status, header, answer := ask(c.key, c.path, c.body)
		if kind := gjson.GetBytes(answer, "__type").Str; status != c.status || kind != c.kind || header.Get("X-Amzn-Errortype") != c.kind {
			t.Errorf("%s: %d %s", name, status, answer)
		}
	}
}
