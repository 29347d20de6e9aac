package passthrough

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

func freely(int64) error { return nil }

// TestResults sums the usage of results in both formats, whatever pieces they arrive in.
func TestResults(t *testing.T) {
	t.Parallel()
	const file = `{"custom_id":"1","response":{"status_code":200,"body":{"model":"gpt-5.4-mini-2026-03-17","usage":{"prompt_tokens":1000000,"completion_tokens":0,"prompt_tokens_details":{"cached_tokens":500000}}}}}

{"custom_id":"2","response":{"status_code":200,"body":{"model":"gpt-5.4-mini","usage":{"input_tokens":0,"output_tokens":100000,"output_tokens_details":{"reasoning_tokens":7}}}}}
{"custom_id":"3","response":{"status_code":400,"body":{"error":{"message":"no"}}}}
{"custom_id":"4","response":{"status_code":200,"body":{"model":"unheard-of","usage":{"prompt_tokens":5,"completion_tokens":6}}}}
no JSON
{"custom_id":"5","result":{"type":"succeeded","message":{"model":"gpt-5.4-nano","usage":{"input_tokens":10,"cache_read_input_tokens":20,"cache_creation_input_tokens":30,"output_tokens":4,"server_tool_use":{"web_search_requests":2}}}}}`
	o := &Resource{ID: "batch_1", UserID: "alice", Provider: "openai", ProviderKey: "pk"}
	for i := range len(file) {
		r := NewResults(catalog.Embedded(), o, time.Now(), freely)
		for _, piece := range []string{file[:i], file[i:]} {
			if _, err := io.WriteString(r, piece); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for _, row := range r.Records() {
			fmt.Fprintf(&got, "%s in %d cached %d written %d out %d reasoning %d cost %d %v %v\n", row.Model, row.InputTokens, row.CachedTokens,
				row.WrittenTokens, row.OutputTokens, row.ReasoningTokens, row.CostMicroUSD, row.CostKnown, row.ServerTools)
		}
		const want = `gpt-5.4-mini in 1000000 cached 500000 written 0 out 100000 reasoning 7 cost 431250 true map[]
gpt-5.4-nano in 60 cached 20 written 30 out 4 reasoning 0 cost 20007 true map[web_search:2]
unheard-of in 5 cached 0 written 0 out 6 reasoning 0 cost 0 false map[]
`
		if got.String() != want {
			t.Fatalf("cut at %d:\n%s\nwant\n%s", i, got.String(), want)
		}
	}
}

// TestResultsAreBounded checks the bounds on the number of rows, the length of a line and the memory.
func TestResultsAreBounded(t *testing.T) {
	t.Parallel()
	r := NewResults(catalog.Embedded(), &Resource{Provider: "openai"}, time.Now(), freely)
	for i := range 3 * maxModels {
		_, _ = fmt.Fprintf(r, `{"response":{"body":{"model":"m%d","usage":{"prompt_tokens":1}}}}`+"\n", i)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	rows := r.Records()
	for i := range rows {
		sum += rows[i].InputTokens
	}
	if len(rows) != maxModels+1 || sum != 3*maxModels {
		t.Errorf("%d rows with %d tokens", len(rows), sum)
	}
	if none := NewResults(catalog.Embedded(), &Resource{}, time.Now(), freely).Records(); len(none) != 1 || !none[0].CostKnown {
		t.Errorf("a batch that used nothing has %+v", none)
	}

	r = NewResults(catalog.Embedded(), &Resource{}, time.Now(), freely)
	_, _ = fmt.Fprintf(r, `{"response":{"body":{"model":%q,"usage":{"prompt_tokens":1}}}}`+"\n", strings.Repeat("x", 1<<20))
	for name := range r.rows {
		if len(name) > 1000 {
			t.Errorf("a name of %d bytes is kept", len(name))
		}
	}

	r = NewResults(catalog.Embedded(), &Resource{}, time.Now(), freely)
	_, err := io.WriteString(r, "{}\n"+strings.Repeat(" ", maxLine+1))
	if err == nil || !strings.Contains(err.Error(), "line 2 is longer than 16 MiB") || r.Close() == nil {
		t.Errorf("a line without an end: %v", err)
	}
	full := errors.New("no memory")
	r = NewResults(catalog.Embedded(), &Resource{}, time.Now(), func(size int64) error {
		if size > 1000 {
			return full
		}
		return nil
	})
	if _, err := io.WriteString(r, strings.Repeat("x", 400)); err != nil {
		t.Error(err)
	}
	if _, err := io.WriteString(r, strings.Repeat("x", 400)); !errors.Is(err, full) || !errors.Is(r.Close(), full) {
		t.Errorf("without memory: %v", err)
	}
}

// TestCharge checks whether a batch can be charged by its description, or its results must be read.
func TestCharge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		batch string
		exact bool
		cost  int64
		known bool
	}{
		{`{"model":"gpt-5.4-mini","usage":{"input_tokens":1000000,"output_tokens":0}}`, true, 375_000, true},
		{`{"usage":{"input_tokens":1000000,"output_tokens":0}}`, false, 0, false},
		{`{"model":"gpt-5.4-mini"}`, false, 0, false},
		{`{"request_counts":{"completed":3}}`, false, 0, false},
		{`{"request_counts":{"completed":0}}`, true, 0, true},
		{`{"model":"unheard-of","usage":{"input_tokens":1}}`, true, 0, false},
		{`{"model":"gpt-6-luna","usage":{"input_tokens":1000000}}`, false, -1, true}, // long requests cost more
	} {
		row, exact := DescribedUsage(catalog.Embedded(), &Resource{Provider: "openai"}, []byte(c.batch), time.Now())
		if exact != c.exact || row.CostKnown != c.known || c.cost >= 0 && row.CostMicroUSD != c.cost {
			t.Errorf("%s: exact %v, cost %d, known %v", c.batch, exact, row.CostMicroUSD, row.CostKnown)
		}
	}
}

// TestRename checks that the model names in a batch of messages are replaced.
func TestRename(t *testing.T) {
	t.Parallel()
	cat, err := catalog.Embedded().With(catalog.Options{Aliases: map[string]string{"smart": "anthropic/claude-sonnet-5-5"}})
	if err != nil {
		t.Fatal(err)
	}
	names := &Names{Catalog: cat, Account: new(keychain.Account), Provider: "anthropic"}
	rename := func(body string) (string, error) {
		out, err := Rename([]byte(body), names, freely)
		return string(out), err
	}
	body := ` { "x": 1, "requests": [ {"custom_id":"a","params":{"model":"smart","n":[{"model":"smart"}]}},{"params": {"max_tokens":1,"model" : "claude-new"}}, {"params":{"model":"anthropic\/other"}}] }`
	want := strings.Replace(strings.Replace(body, `"smart"`, `"claude-sonnet-5-5"`, 1), `"anthropic\/other"`, `"other"`, 1)
	if got, err := rename(body); err != nil || got != want {
		t.Errorf("%v, got\n%s, want\n%s", err, got, want)
	}
	for body, message := range map[string]string{
		`{"requests":[],"requests":[]}`:                            "requests is given twice",
		`{"requests":[{"params":{"model":"a","model":"b"}}]}`:      "requests.0: model is given twice",
		`{"requests":[{"params":{"model":"a","mod\u0065l":"b"}}]}`: "requests.0: model is given twice",
		`{"requests":[{"params":{"model":"a"},"params":{}}]}`:      "requests.0: params is given twice",
		`{"requests":[{"params":{"model":"a"}},{"params":{}}]}`:    "requests.1: params.model must be a text",
		`{"requests":[7]}`: "requests.0: params.model must be a text",
		`{"requests":[{"params":{"model":"keychain-high"}}]}`:       "is a tier",
		`{"requests":[{"params":{"model":"openai/gpt-5.4-mini"}}]}`: `the model "openai/gpt-5.4-mini" is openai/gpt-5.4-mini, but the batch goes to anthropic`,
	} {
		if _, err := rename(body); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%s: %v, want %s", body, err, message)
		}
	}
	names.Forbids = func(c *keychain.Candidate) string { return "the key's allowed_models" }
	_, err = rename(`{"requests":[{"params":{"model":"smart"}}]}`)
	if refusal, ok := apierror.From(err); !ok || refusal.Status != 403 {
		t.Errorf("a model that is not allowed: %v", err)
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("{\"a\":1}\n\n{\"body\":{\"model\":\"x\"}}"), 3)
	f.Fuzz(func(t *testing.T, text []byte, i int) {
		if i < 0 || i > len(text) {
			return
		}
		collect := func(pieces ...[]byte) (got []string) {
			l := lines{grow: freely, line: func(number int, line []byte) error {
				got = append(got, fmt.Sprint(number, " ", string(line)))
				return nil
			}}
			for _, piece := range pieces {
				if _, err := l.Write(piece); err != nil {
					t.Fatal(err)
				}
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			return got
		}
		if whole, cut := collect(text), collect(text[:i], text[i:]); strings.Join(whole, "\n") != strings.Join(cut, "\n") {
			t.Errorf("%q gives %q, and cut at %d it gives %q", text, whole, i, cut)
		}
		names := &Names{Catalog: catalog.Embedded(), Account: new(keychain.Account), Provider: "openai"}
		_, _ = NewInput(names, freely).Write(text)
		_, _ = Rename(text, names, freely)
	})
}
