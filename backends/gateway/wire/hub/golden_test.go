package hub_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/chat"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/messages"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/responses"
)

var update = flag.Bool("update", false, "write what comes out into the golden files")

// goldenCase is a folder of testdata/golden. Its name begins with a number. It has the
// stream of a chat upstream and the streams for clients of each format.
type goldenCase struct {
	dir, name string
	provider  string // in whose form reasoning state is read; empty: none
	upstream  []byte
	requests  map[hub.Format]*hub.Request
}

// goldenCases returns the cases that have streams.
func goldenCases(t testing.TB) []*goldenCase {
	t.Helper()
	files, err := filepath.Glob("testdata/golden/*/chunks.sse")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden cases: %v", err)
	}
	cases := make([]*goldenCase, 0, len(files))
	for _, file := range files {
		cases = append(cases, readCase(t, filepath.Dir(file)))
	}
	return cases
}

func readCase(t testing.TB, dir string) *goldenCase {
	t.Helper()
	c := &goldenCase{
		dir: dir, name: filepath.Base(dir),
		provider: strings.TrimSpace(string(readOr(t, nil, dir, "provider"))),
		upstream: mustRead(t, dir, "chunks.sse"),
	}
	c.requests = map[hub.Format]*hub.Request{
		hub.Messages:  readRequest(t, hub.Messages, clientBody(t, dir, "messages"), hub.ReadOptions{}),
		hub.Responses: readRequest(t, hub.Responses, clientBody(t, dir, "responses"), hub.ReadOptions{}),
		hub.Chat:      {Format: hub.Chat, Model: "keychain-medium", Stream: true, IncludeUsage: true},
	}
	return c
}

// clientBody returns the request to which a case's answer belongs: the case's own, or the common one.
func clientBody(t testing.TB, dir, format string) []byte {
	t.Helper()
	name := format + ".request.json"
	return readOr(t, func() []byte { return mustRead(t, filepath.Dir(dir), name) }, dir, name)
}

func mustRead(t testing.TB, path ...string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// readOr reads a file, or calls otherwise if the file does not exist.
func readOr(t testing.TB, otherwise func() []byte, path ...string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(path...))
	switch {
	case errors.Is(err, os.ErrNotExist) && otherwise != nil:
		return otherwise()
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		t.Fatal(err)
	}
	return raw
}

func readRequest(t testing.TB, f hub.Format, body []byte, o hub.ReadOptions) *hub.Request {
	t.Helper()
	read := messages.Format{}.Read
	if f == hub.Responses {
		read = responses.Format{}.Read
	}
	r, err := read(body, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// checkGolden compares output with a file, or writes the file.
func checkGolden(t *testing.T, got []byte, path ...string) {
	t.Helper()
	file := filepath.Join(path...)
	if *update {
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want := mustRead(t, file); !bytes.Equal(got, want) {
		t.Errorf("%s: got\n%s\nwant\n%s", file, got, want)
	}
}

// sealReadably returns unencrypted tokens, which can be read in golden files.
func sealReadably(s hub.State) string { return "kcs1." + string(s.Form) + ":" + s.Data }

// reply returns a reply with fixed ids. Its time is in the future: an answer is completed at that time or later, so
// that both times of an answer are equal.
func reply(r *hub.Request, seal func(hub.State) string) hub.Reply {
	n := 0
	return hub.Reply{
		Created:     time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC),
		InputTokens: hub.CountTokens(r),
		NewID: func(prefix string) string {
			n++
			return fmt.Sprintf("%s%d", prefix, n)
		},
		Seal: seal,
	}
}

// stateForm returns the form in which chat answers of a provider carry reasoning state.
func stateForm(provider string) hub.Form {
	p, ok := catalog.Embedded().Provider(provider)
	if !ok {
		return ""
	}
	switch p.Shape.ReasoningState {
	case catalog.StateThought:
		return hub.FormThought
	case catalog.StateDetails:
		return hub.FormDetails
	}
	return ""
}

// newPass returns the translation of a chat upstream's answer for the client that sent a request.
func newPass(r *hub.Request, form hub.Form, seal func(hub.State) string) hub.Pass {
	switch r.Format {
	case hub.Messages:
		return hub.Translate(chat.NewReader(form, false), messages.Format{}.NewWriter(r, reply(r, seal)))
	case hub.Responses:
		return hub.Translate(chat.NewReader(form, false), responses.Format{}.NewWriter(r, reply(r, seal)))
	case hub.Chat:
	}
	return chat.NewPass(r.Model, r.IncludeUsage, hub.CountTokens(r))
}

// relay relays an upstream's bytes to a client like the cascade. Nothing is written before the commit point, and a
// stream that breaks after it ends in the way of the client's format. An error means that nothing was written.
func relay(pass hub.Pass, upstream io.Reader) (out []byte, err error) {
	events := wire.NewEventReader(upstream)
	defer events.Release()
	committed := false
	for {
		var progress wire.Progress
		event, err := events.Next()
		switch {
		case errors.Is(err, io.EOF):
			out, err = pass.End(out)
			progress.Done = true
		case err == nil && !event.Comment:
			out, progress, err = pass.Event(out, event.Name, event.Data)
			spoil(event) // the pass must have copied what it keeps
		}
		if err != nil {
			if !committed {
				return nil, err
			}
			return pass.Fail(out, hub.Failure{Code: "upstream_stream_error", Type: "api_error", Message: "the upstream's stream broke: " + reason(err), RequestID: "req_1"}), nil
		}
		committed = committed || progress.Proof || progress.Done
		if progress.Done {
			return out, nil
		}
	}
}

// spoil overwrites the bytes of an event, which are valid only until the next call.
func spoil(event wire.Event) {
	for _, text := range [][]byte{event.Name, event.Data} {
		for i := range text {
			text[i] = '#'
		}
	}
}

// eventsOf returns the events in an upstream's bytes and the final error. An answer is made from nothing else.
func eventsOf(upstream io.Reader) (out []byte) {
	events := wire.NewEventReader(upstream)
	defer events.Release()
	for {
		event, err := events.Next()
		if err != nil {
			return append(out, err.Error()...)
		}
		out = append(append(append(append(out, event.Name...), '\n'), event.Data...), "\n\n"...)
		if event.Comment {
			out = append(out, ':')
		}
	}
}

// checkCut checks that an upstream's bytes give the same events when they are cut at each of the places, and byte by
// byte.
func checkCut(t *testing.T, upstream []byte, places []int) {
	t.Helper()
	want := eventsOf(bytes.NewReader(upstream))
	if got := eventsOf(iotest.OneByteReader(bytes.NewReader(upstream))); !bytes.Equal(got, want) {
		t.Errorf("byte by byte the events are\n%.2000s\nat once\n%.2000s", got, want)
	}
	for _, offset := range places {
		if got := eventsOf(io.MultiReader(bytes.NewReader(upstream[:offset]), bytes.NewReader(upstream[offset:]))); !bytes.Equal(got, want) {
			t.Fatalf("cut at byte %d of %d the events are\n%.2000s\nat once\n%.2000s", offset, len(upstream), got, want)
		}
	}
}

// reason returns the part of an error that a client may see.
func reason(err error) string {
	if e, ok := errors.AsType[*wire.UpstreamError](err); ok {
		return e.Message
	}
	for _, known := range [...]error{wire.ErrNoFinish, wire.ErrNoChoices} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return wire.ErrBroken.Error()
}

var madeIDs = regexp.MustCompile(`"call_[0-9A-Za-z]{24}"`)

// steady returns out with fixed ids in place of the call ids that the gateway generated.
func (c *goldenCase) steady(out []byte) []byte {
	if !bytes.Contains(out, []byte(`"call_`)) { // faster than the regular expression
		return out
	}
	names := map[string]string{}
	return madeIDs.ReplaceAllFunc(out, func(id []byte) []byte {
		if bytes.Contains(c.upstream, id) {
			return id
		}
		name := names[string(id)]
		if name == "" {
			name = fmt.Sprintf(`"call_made_%d"`, len(names)+1)
			names[string(id)] = name
		}
		return []byte(name)
	})
}

// answer returns the bytes that a client of a format gets for an upstream's bytes, or the error if the answer fails
// before its commit point.
func (c *goldenCase) answer(f hub.Format, upstream io.Reader) []byte {
	out, err := relay(newPass(c.requests[f], stateForm(c.provider), sealReadably), upstream)
	if err != nil {
		return []byte("not committed: " + err.Error() + "\n")
	}
	return c.steady(out)
}

// TestGoldenStreams checks that each client gets exactly the bytes of its golden file. It also checks that the events
// do not depend on how the upstream's bytes are divided. A case with a file chat.sse uses the identity path too.
func TestGoldenStreams(t *testing.T) {
	t.Parallel()
	for _, c := range goldenCases(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, f := range [...]hub.Format{hub.Messages, hub.Responses, hub.Chat} {
				file := string(f) + ".sse"
				if _, err := os.Stat(filepath.Join(c.dir, file)); f == hub.Chat && err != nil {
					continue
				}
				whole := c.answer(f, bytes.NewReader(c.upstream))
				checkGolden(t, whole, c.dir, file)
				if !bytes.HasPrefix(whole, []byte("not committed: ")) {
					if err := checkStream(f, whole, true); err != nil {
						t.Errorf("%s: %v in\n%s", file, err, whole)
					}
				}
				if got := c.answer(f, iotest.OneByteReader(bytes.NewReader(c.upstream))); !bytes.Equal(got, whole) {
					t.Errorf("%s: byte by byte it is\n%s\nat once\n%s", file, got, whole)
				}
			}
			everywhere := make([]int, len(c.upstream))
			for offset := range everywhere {
				everywhere[offset] = offset
			}
			checkCut(t, c.upstream, everywhere)
		})
	}
}

// TestGoldenLargeEvents checks that an event of 1 MB is translated like a small one.
func TestGoldenLargeEvents(t *testing.T) {
	t.Parallel()
	const mark = "MARK"
	const size = 1 << 20
	for name, delta := range map[string]string{
		"text":      `{"content":"` + mark + `"}`,
		"reasoning": `{"reasoning_content":"` + mark + `"}`,
		"arguments": `{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"` + mark + `\"}"}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := readCase(t, "testdata/golden/01-plain-text")
			piece := `0123456789 \"é東\" `
			if name == "arguments" { // a quote would end the string within the arguments
				piece = `0123456789 é東 `
			}
			big := strings.Repeat(piece, size/len(piece)+1)
			chunk := func(delta, rest string) string {
				return `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1795237200,"model":"m","choices":[{"index":0,"delta":` + delta + rest + "}\n\n"
			}
			small := chunk(`{"role":"assistant","content":""}`, `,"finish_reason":null}]`) + chunk(delta, `,"finish_reason":null}]`) + chunk(`{"content":"."}`, `,"finish_reason":null}]`) +
				chunk(`{}`, `,"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":9,"total_tokens":18}`) + "data: [DONE]\n\n"
			upstream := []byte(strings.Replace(small, mark, big, 1))
			i := bytes.Index(upstream, []byte(big))
			j := i + len(big)
			for _, f := range [...]hub.Format{hub.Messages, hub.Responses, hub.Chat} {
				want := []byte(strings.ReplaceAll(string(c.answer(f, strings.NewReader(small))), mark, big))
				if err := checkStream(f, want, true); err != nil {
					t.Error(err)
				}
				if got := c.answer(f, bytes.NewReader(upstream)); !bytes.Equal(got, want) {
					t.Fatalf("%s: there are %d bytes, want %d", f, len(got), len(want))
				}
			}
			checkCut(t, upstream, []int{
				0, 1, 5, i - 12, i - 1, i, i + 1, i + 13, i + 14, 1<<12 - 1, 1 << 12, 1<<15 - 1, 1 << 15, 1<<15 + 1, 1 << 16,
				size / 2, size, j - 2, j - 1, j, j + 1, j + 2, bytes.LastIndex(upstream, []byte("data:")), len(upstream) - 1,
			})
		})
	}
}

// TestGoldenWholeErrors checks that a whole answer with status 200 and an error as its body fails in each format, so
// that the next candidate is tried.
func TestGoldenWholeErrors(t *testing.T) {
	t.Parallel()
	const dir = "testdata/golden/13-error-in-body"
	for _, c := range []struct {
		file     string
		upstream *wire.UpstreamError
		other    error
	}{
		{file: "openai.json", upstream: &wire.UpstreamError{Status: 200, Message: "The server had an error while processing your request.", Type: "server_error"}},
		{file: "gemini.json", upstream: &wire.UpstreamError{Status: 200, Message: "You exceeded your current quota.", Code: "RESOURCE_EXHAUSTED", RetryDelay: "34s", Daily: true}},
		{file: "openrouter.json", upstream: &wire.UpstreamError{Status: 200, Message: "Provider returned error", Code: "429"}},
		{file: "error-in-choice.json", upstream: &wire.UpstreamError{Status: 200, Message: "Upstream provider error", Code: "502"}},
		{file: "no-choices.json", other: wire.ErrNoChoices},
		{file: "proxy.html", other: wire.ErrBroken},
	} {
		t.Run(c.file, func(t *testing.T) {
			t.Parallel()
			golden := readCase(t, "testdata/golden/01-plain-text")
			for f, r := range golden.requests {
				out, err := newPass(r, "", sealReadably).Whole(nil, mustRead(t, dir, c.file))
				if err == nil {
					t.Errorf("%s: got %s", f, out)
					continue
				}
				got, isUpstream := errors.AsType[*wire.UpstreamError](err)
				switch {
				case c.upstream != nil && (!isUpstream || *got != *c.upstream):
					t.Errorf("%s: got %#v, want %#v", f, err, c.upstream)
				case c.other != nil && !errors.Is(err, c.other):
					t.Errorf("%s: got %v, want %v", f, err, c.other)
				}
			}
		})
	}
}
