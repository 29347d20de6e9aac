package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// storing returns a text of the shipped Caddyfile and a replacement that stores responses within bounds.
func storing(bounds string) (old, replacement string) {
	return "\ttollgate gateway\n", "\ttollgate gateway {\n\t\tcascade {\n\t\t\tstore_responses 7d {\n" + bounds + "\t\t\t}\n\t\t}\n\t}\n"
}

// TestStoredResponses checks stored responses and conversations with OpenAI's client for Node.js.
func TestStoredResponses(t *testing.T) {
	t.Parallel()
	program := e2e.NodeProgram(t)
	up := e2e.NewUpstream(t)
	up.Answer = up.ForNode
	old, replacement := storing("")
	g := e2e.NewGateway(t, "", old, replacement)
	key, other := g.User("nora", up, "scripted", "scripted"), g.User("otto", up, "scripted")
	second, err := g.CreateKey(t.Context(), "nora", keychain.KeyOptions{Label: "second"})
	if err != nil {
		t.Fatal(err)
	}
	e2e.RunNode(t, program, "stored.mjs",
		"TOLLGATE_URL="+g.Base, "TOLLGATE_KEY="+key, "TOLLGATE_LIMITED_KEY="+key, "TOLLGATE_SECOND_KEY="+second.Key, "TOLLGATE_OTHER_KEY="+other, "TOLLGATE_UPSTREAM="+up.URL,
		"TOLLGATE_MODEL=own/1", "TOLLGATE_FAILING_MODEL=own/2", "TOLLGATE_BREAKING_MODEL=own/2", "TOLLGATE_STATEFUL_MODEL=own/2")
}

// asks sends a request with a key, and returns the status and the answer.
func asks(t *testing.T, method, url, key, body string) (int, gjson.Result) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, gjson.ParseBytes(text)
}

// awaitStatus waits until a response has a status.
func awaitStatus(t *testing.T, url, key, status string) (answer gjson.Result) {
	t.Helper()
	e2e.Eventually(t, time.Minute, url+" is "+status, func() error {
		if _, answer = asks(t, http.MethodGet, url, key, ""); answer.Get("status").Str != status {
			return fmt.Errorf("the response is %s", answer.Raw)
		}
		return nil
	})
	return answer
}

// background returns a request that is answered in the background after a delay.
func background(delay string) string {
	text, _ := json.Marshal("scripted?text=ONE&delay=" + delay)
	return `{"model":"own/1","background":true,"input":` + string(text) + `}`
}

// TestBackgroundOutlives checks that an answer in the background continues after a reload and without its client, is
// charged like any other, and is marked as failed when its process is killed or stopped.
func TestBackgroundOutlives(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	old, replacement := storing("\t\t\t\tbackground_time 2m\n")
	g := e2e.NewGateway(t, "", old, replacement)
	key := g.User("nora", up, "scripted")
	start := func(delay string) string {
		status, begun := asks(t, http.MethodPost, g.Base+"/v1/responses", key, background(delay))
		if status != http.StatusOK || begun.Get("status").Str != "queued" {
			t.Fatalf("%d %s", status, begun.Raw)
		}
		url := g.Base + "/v1/responses/" + begun.Get("id").Str
		awaitStatus(t, url, key, "in_progress")
		return url
	}

	url := start("2s")
	g.Load(strings.Replace(g.Config, "background_time 2m", "background_time 3m", 1))
	if answer := awaitStatus(t, url, key, "completed"); answer.Get("output.0.content.0.text").Str != "ONE" {
		t.Errorf("after a reload the answer is %s", answer.Raw)
	}
	e2e.Eventually(t, time.Minute, "it is in the usage log", func() error {
		for _, usage := range g.UsageLog() {
			if usage.User == "nora" && usage.Status == http.StatusOK && usage.Output > 0 {
				return nil
			}
		}
		return fmt.Errorf("the log has %v", g.UsageLog())
	})

	killed := start("10m")
	g.Kill()
	g.Start()
	g.Healthy()
	if answer := awaitStatus(t, killed, key, "failed"); answer.Get("error.code").Str != "server_error" {
		t.Errorf("after a kill the response is %s", answer.Raw)
	}
	awaitStatus(t, url, key, "completed")

	stopped := start("10m")
	g.Stop()
	g.Start()
	g.Healthy()
	if _, answer := asks(t, http.MethodGet, stopped, key, ""); answer.Get("status").Str != "failed" || !strings.Contains(answer.Get("error.message").Str, "stopped") {
		t.Errorf("after a stop the response is %s", answer.Raw)
	}
	for _, file := range []string{"tollgate.db", "tollgate.db-wal"} {
		text, err := readIf(g.Path("data", file))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte("scripted?text=ONE")) {
			t.Errorf("%s contains the text of a request", file)
		}
	}
}

// readIf reads a file if it exists.
func readIf(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}
