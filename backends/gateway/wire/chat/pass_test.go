package chat

import (
	"errors"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

const (
	passText  = `{"id":"c","object":"chat.completion.chunk","created":1,"model":"theirs","choices":[{"index":0,"delta":{"role":"assistant","content":"Hello"},"finish_reason":null}]}`
	passEnd   = `{"id":"c","object":"chat.completion.chunk","created":1,"model":"theirs","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	passUsage = `{"id":"c","object":"chat.completion.chunk","created":1,"model":"theirs","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2,"total_tokens":9}}`
	passWhole = `{"id":"c","object":"chat.completion","created":1,"model":"theirs","choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":2,"total_tokens":9}}`
)

func TestPassStream(t *testing.T) {
	t.Parallel()
	for _, wants := range []bool{true, false} {
		p := NewPass("asked", wants, 5)
		var got []byte
		for i, data := range []string{passText, passText, passEnd, passUsage, "[DONE]"} {
			out, progress, err := p.Event(got, nil, []byte(data))
			if err != nil {
				t.Fatal(err)
			}
			if progress.Proof != (i < 3) || progress.Done != (i == 4) {
				t.Errorf("event %d: %+v", i, progress)
			}
			got = out
		}
		want := []string{passText, passText, passEnd, passUsage, "[DONE]"}
		if !wants {
			want = []string{passText, passText, passEnd, "[DONE]"}
		}
		for i := range want {
			want[i] = "data: " + strings.Replace(want[i], "theirs", "asked", 1) + "\n\n"
		}
		if string(got) != strings.Join(want, "") {
			t.Errorf("usage wanted %v:\n%s", wants, got)
		}
		if u := p.Usage(); u.Prompt != 7 || u.Completion != 2 || p.TextBytes() != 10 {
			t.Errorf("usage %+v, %d bytes", u, p.TextBytes())
		}
	}
}

func TestPassEnds(t *testing.T) {
	t.Parallel()
	p := NewPass("asked", false, 0)
	if _, _, err := p.Event(nil, nil, []byte(passText)); err != nil {
		t.Fatal(err)
	}
	if got, err := p.End(nil); !errors.Is(err, wire.ErrNoFinish) || len(got) > 0 {
		t.Errorf("without a finish reason: %q, %v", got, err)
	}
	if _, _, err := p.Event(nil, nil, []byte(passEnd)); err != nil {
		t.Fatal(err)
	}
	if got, err := p.End(nil); err != nil || string(got) != "data: [DONE]\n\n" {
		t.Errorf("with a finish reason: %q, %v", got, err)
	}
	got := string(p.Fail(nil, hub.Failure{Message: `a "b"`}))
	if want := `data: {"error":{"message":"a \"b\"","type":"api_error","code":"upstream_stream_error","param":null}}` + "\n\n"; got != want {
		t.Errorf("failure %s", got)
	}
	if got := string(p.KeepAlive(nil)); got != ": keep-alive\n\n" {
		t.Errorf("keep-alive %q", got)
	}
}

func TestPassWhole(t *testing.T) {
	t.Parallel()
	p := NewPass("asked", false, 0)
	got, err := p.Whole(nil, []byte(passWhole))
	if err != nil || string(got) != strings.Replace(passWhole, "theirs", "asked", 1) {
		t.Errorf("%s, error %v", got, err)
	}
	if u := p.Usage(); u.Prompt != 7 || u.Completion != 2 || p.TextBytes() != 5 {
		t.Errorf("usage %+v, %d bytes", u, p.TextBytes())
	}
}

// TestPassErrors checks that an upstream's error is returned with its message, and that nothing is written.
func TestPassErrors(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ data, message string }{
		"object":       {`{"error":{"message":"slow down","code":"slow_down"}}`, "slow down"},
		"list":         {`[{"error":{"message":"no such model","code":404}}]`, "no such model"},
		"cut off":      {`{"choices":[{"index":0`, ""},
		"broken list":  {`[`, ""},
		"no JSON":      {`<html>`, ""},
		"another list": {`[1]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, _, inStream := NewPass("asked", false, 0).Event(nil, nil, []byte(test.data))
			_, atOnce := NewPass("asked", false, 0).Whole(nil, []byte(test.data))
			if len(out) > 0 {
				t.Errorf("wrote %s", out)
			}
			for _, err := range []error{inStream, atOnce} {
				if err == nil {
					t.Fatal("no error")
				}
				if e, ok := errors.AsType[*wire.UpstreamError](err); test.message != "" && (!ok || e.Message != test.message) {
					t.Errorf("error %v", err)
				}
			}
		})
	}
}

// TestPassEstimatesUsage checks that a client which asks for the usage chunk gets an estimate if the upstream reports
// no usage.
func TestPassEstimatesUsage(t *testing.T) {
	t.Parallel()
	const want = `"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7,` +
		`"prompt_tokens_details":{"cached_tokens":0,"cache_write_tokens":0},"completion_tokens_details":{"reasoning_tokens":0}}}` + "\n\ndata: [DONE]\n\n"
	for _, c := range []struct {
		wants, told, estimated bool
	}{{true, false, true}, {true, true, false}, {false, false, false}} {
		p := NewPass("asked", c.wants, 5)
		events := []string{passText, passEnd}
		if c.told {
			events = append(events, passUsage)
		}
		var got []byte
		for _, data := range append(events, "[DONE]") {
			var err error
			if got, _, err = p.Event(got, nil, []byte(data)); err != nil {
				t.Fatal(err)
			}
		}
		if strings.HasSuffix(string(got), want) != c.estimated || strings.Contains(string(got), `"usage"`) != c.wants {
			t.Errorf("%+v: %s", c, got)
		}
		if p.Usage().Known != c.told {
			t.Errorf("%+v: an estimate must not count as reported by the upstream", c)
		}
	}
}
