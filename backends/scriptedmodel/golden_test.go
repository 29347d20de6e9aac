package scriptedmodel

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

var update = flag.Bool("update", false, "write the golden files anew")

// newTestServer serves s on a loopback port with a client of its own.
func newTestServer(t testing.TB, s *Server) *httptest.Server {
	t.Helper()
	ts := httptest.NewServer(s)
	t.Cleanup(ts.Close)
	return ts
}

// chatBody returns a request for a model, with further members as JSON text.
func chatBody(model, say, more string) string {
	b := jsontext.AppendQuoted([]byte(`{"model":`), model)
	b = append(b, `,"messages":[{"role":"user","content":`...)
	b = jsontext.AppendQuoted(b, say)
	b = append(b, `}]`...)
	return string(b) + more + "}"
}

func post(t testing.TB, ts *httptest.Server, body string) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, ts.URL+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return ts.Client().Do(req)
}

// dump returns what was received as text; a closed connection is marked.
func dump(resp *http.Response, err error) string {
	if err != nil {
		return "<no answer>\n"
	}
	defer resp.Body.Close()
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", resp.Status)
	resp.Header.Del("Date")
	for _, name := range slices.Sorted(maps.Keys(resp.Header)) {
		for _, v := range resp.Header[name] {
			fmt.Fprintf(&b, "%s: %s\n", name, v)
		}
	}
	body, err := io.ReadAll(resp.Body)
	fmt.Fprintf(&b, "\n%s", body)
	if err != nil {
		b.WriteString("<cut>")
	}
	if !bytes.HasSuffix(body, []byte("\n")) {
		b.WriteString("\n")
	}
	return b.String()
}

func TestGolden(t *testing.T) {
	t.Parallel()
	const (
		hi         = "scripted?text=Hi+there,+you&"
		streamed   = `,"stream":true`
		askedUsage = `,"stream":true,"stream_options":{"include_usage":true}`
	)
	tests := []struct{ name, model, say, more string }{
		{"whole_default", "scripted", "What is the capital of France?", ""},
		{"whole_honest", "scripted", "", ""},
		{"whole_any_model", "llama-3.1-8b-instant?text=ok", "x", ""},
		{"whole_reasoner", "scripted-reasoner", "Why?", ""},
		{"whole_tools", `scripted?tool=get_time&tool=add:{"a":1,"b":"x"}`, "x", ""},
		{"whole_text_and_tools", `scripted?text=Let+me+see.&tool=f:`, "x", ""},
		{"whole_escapes", "scripted?text=%22q%22+%5C+%0A%09%01+%3Cb%3E+%F0%9F%98%80+%ff", "x", ""},
		{"whole_usage", hi + "prompt_tokens=100&completion_tokens=7&cached_tokens=64&reasoning=hm", "x", ""},
		{"whole_usage_off", hi + "usage=off&finish=length", "x", ""},
		{"whole_line", "scripted", "please\nscripted?text=from+the+line&finish=length\nnow", ""},
		{"whole_line_loses", "scripted?text=from+the+name", "scripted?text=from+the+line&finish=length", ""},
		{"whole_error_429", "scripted?status=429&retry_after=2", "x", ""},
		{"whole_error_quota", "scripted?status=429&code=insufficient_quota&message=Pay+up", "x", ""},
		{"whole_error_503", "scripted?status=503", "x", ""},
		{"whole_body", `scripted?status=400&body=[{"error":{"code":400}}]&header=X-One:1&header=X-One:2`, "x", ""},
		{"whole_unknown_key", "scripted?txt=typo", "x", ""},

		{"stream_default", "scripted", "Hello?", streamed},
		{"stream_usage", hi, "x", askedUsage},
		{"stream_usage_finish", hi + "usage=finish", "x", askedUsage},
		{"stream_usage_last_unasked", hi + "usage=last", "x", streamed},
		{"stream_usage_off", hi + "usage=off", "x", askedUsage},
		{"stream_reasoning", hi + "reasoning=hm,+well", "x", streamed},
		{"stream_tools", `scripted?tool=get_time&tool=add:{"a":1,"b":"x"}`, "x", askedUsage},
		{"stream_text_and_tools", `scripted?text=ok&tool=f:{"a":"héé"}&chunk_bytes=3`, "x", streamed},
		{"stream_words", hi + "words=2", "x", streamed},
		{"stream_chunks", hi + "chunks=2", "x", streamed},
		{"stream_unflushed", hi + "flush=0", "x", streamed},
		{"stream_empty_text", "scripted?text=", "x", streamed},
		{"stream_error_429", "scripted?status=429", "x", streamed},
		{"stream_body", "scripted?body=data:+%7B%7D%0A%0A", "x", streamed},
	}
	for name := range faultNames {
		if name == "hang" || name == "stall" {
			continue // they end with the client, see TestClientLeaves
		}
		script := hi + "bytes=600&delay=10ms&fault=" + name
		tests = append(tests,
			struct{ name, model, say, more string }{"fault_" + name + "_whole", script, "x", ""},
			struct{ name, model, say, more string }{"fault_" + name + "_stream", script, "x", askedUsage})
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ts := newTestServer(t, New(Options{}))
			got := dump(post(t, ts, chatBody(test.model, test.say, test.more)))
			file := filepath.Join("testdata", test.name+".golden")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// TestGoldenFiles finds golden files that no test reads any more.
func TestGoldenFiles(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/fault_*.golden")
	if err != nil {
		t.Fatal(err)
	}
	if want := 2 * (len(faultNames) - 2); len(files) != want {
		t.Errorf("%d golden files of faults, want %d", len(files), want)
	}
}
