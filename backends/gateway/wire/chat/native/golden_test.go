package native

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
)

var update = flag.Bool("update", false, "write what comes out into the golden files")

// golden is a file of testdata: a comment, options, and sections.
type golden struct {
	path, head   string
	includeUsage bool
	in, out, end string
}

func goldens(t *testing.T, folder string) []*golden {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", folder, "*.txt"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	all := make([]*golden, 0, len(paths))
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		head, rest, ok := strings.Cut(string(raw), "-- in --\n")
		if !ok {
			t.Fatalf("%s has no input", path)
		}
		g := &golden{path: path, head: head, includeUsage: strings.Contains(head, "include_usage: true\n")}
		g.in, rest, _ = strings.Cut(rest, "-- out --\n")
		g.out, g.end, _ = strings.Cut(rest, "-- end --\n")
		all = append(all, g)
	}
	return all
}

// check compares the output with the file, or writes the file.
func (g *golden) check(t *testing.T, out, end string) {
	t.Helper()
	if *update {
		g.out, g.end = out, end
		text := g.head + "-- in --\n" + g.in + "-- out --\n" + out + "-- end --\n" + end
		if err := os.WriteFile(g.path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if out != g.out {
		t.Errorf("out:\n%s\nwant:\n%s", out, g.out)
	}
	if end != g.end {
		t.Errorf("end: %swant: %s", end, g.end)
	}
}

var (
	madeID   = regexp.MustCompile(`^chatcmpl-[0-9A-Za-z]{24}$`)
	madeCall = regexp.MustCompile(`call_[0-9A-Za-z]{24}`)
)

// steady replaces generated values, which differ each time.
func steady(t *testing.T, text string, f *corrector) string {
	t.Helper()
	if strings.HasPrefix(f.id, "chatcmpl-") {
		if !madeID.MatchString(f.id) {
			t.Errorf("made the id %q", f.id)
		}
		text = strings.ReplaceAll(text, f.id, "chatcmpl-MADE")
	}
	for _, tools := range f.tools {
		for _, tool := range tools {
			if tool.replacement == "" {
				continue
			}
			if madeCall.FindString(tool.replacement) != tool.replacement {
				t.Errorf("made the id %q", tool.replacement)
			}
			text = strings.ReplaceAll(text, tool.replacement, "call_MADE"+strconv.Itoa(tool.number))
		}
	}
	if f.created != 0 {
		text = strings.ReplaceAll(text, fmt.Sprintf(`"created":%d`, f.created), `"created":NOW`)
	}
	return text
}

func errorName(err error) string {
	switch e, ok := errors.AsType[*wire.UpstreamError](err); {
	case err == nil:
		return "none"
	case ok:
		return fmt.Sprintf("upstream, code %q, %q", e.Code, e.Message)
	case errors.Is(err, wire.ErrNoFinish):
		return "no finish"
	case errors.Is(err, wire.ErrNoChoices):
		return "no choices"
	case errors.Is(err, wire.ErrBroken):
		return "broken"
	}
	return err.Error()
}

func usageText(u wire.Usage) string {
	if !u.Known {
		return "unknown"
	}
	return fmt.Sprintf("%d in, %d read, %d written, %d out, %d reasoning", u.Prompt, u.CacheRead, u.CacheWrite, u.Completion, u.Reasoning)
}

// split returns a reader that returns text in two pieces, cut at a byte offset.
func split(text string, offset int) io.Reader {
	return io.MultiReader(strings.NewReader(text[:offset]), strings.NewReader(text[offset:]))
}

// relayStream relays a stream like the cascade. out is the output for the client, end the state after the stream.
func relayStream(t *testing.T, r io.Reader, includeUsage bool) (out, end string) {
	t.Helper()
	events := wire.NewEventReader(r)
	defer events.Release()
	chat := NewStream("asked/\"model\"", includeUsage)
	var dst []byte
	proof, n := "never", 0
	var err error
	for {
		var event wire.Event
		event, err = events.Next()
		if errors.Is(err, io.EOF) {
			dst, err = chat.End(dst)
			break
		}
		if err != nil {
			break
		}
		if event.Comment {
			continue
		}
		n++
		var progress wire.Progress
		before := len(dst)
		dst, progress, err = chat.Event(dst, event.Data)
		if progress.Proof && proof == "never" {
			proof = fmt.Sprintf("event %d", n)
		}
		if err != nil && (len(dst) != before || progress != (wire.Progress{})) {
			t.Errorf("an error, but %d bytes and %+v", len(dst)-before, progress)
		}
		if err != nil || progress.Done {
			break
		}
	}
	checkLines(t, string(dst))
	end = fmt.Sprintf("error: %s\nproof: %s\nfinish: %q\nusage: %s\ntext: %d bytes\n", errorName(err), proof, chat.Finish(), usageText(chat.Usage()), chat.TextBytes())
	return steady(t, string(dst), &chat.corrector), end
}

// checkLines checks the properties on which every client relies: each event has one data line with valid JSON, all have
// the same id and model, and nothing follows [DONE].
func checkLines(t *testing.T, out string) {
	t.Helper()
	if out == "" {
		return
	}
	id, done := "", false
	text, ok := strings.CutSuffix(out, "\n\n")
	if !ok {
		t.Fatalf("out does not end in a blank line: %q", out)
	}
	for event := range strings.SplitSeq(text, "\n\n") {
		data, ok := strings.CutPrefix(event, "data: ")
		if !ok || strings.ContainsAny(data, "\n\r") || done {
			t.Fatalf("event %q", event)
		}
		if data == "[DONE]" {
			done = true
			continue
		}
		var chunk map[string]json.RawMessage // a struct would ignore the case of names
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			t.Fatalf("chunk %s: %v", data, err)
		}
		if id == "" {
			id = string(chunk["id"])
		}
		if len(id) < 3 || id[0] != '"' || string(chunk["id"]) != id || string(chunk["model"]) != `"asked/\"model\""` ||
			chunk["object"] == nil || chunk["created"] == nil || !strings.HasPrefix(string(chunk["choices"]), "[") {
			t.Fatalf("chunk %s: id is not %s, another model, or something is missing", data, id)
		}
	}
}

func TestChatStreamGolden(t *testing.T) {
	t.Parallel()
	for _, g := range goldens(t, "stream") {
		t.Run(strings.TrimSuffix(filepath.Base(g.path), ".txt"), func(t *testing.T) {
			t.Parallel()
			out, end := relayStream(t, strings.NewReader(g.in), g.includeUsage)
			g.check(t, out, end)
			same := func(name string, r io.Reader) {
				t.Helper()
				if out, end := relayStream(t, r, g.includeUsage); out != g.out || end != g.end {
					t.Fatalf("%s: out\n%s%s", name, out, end)
				}
			}
			for offset := range len(g.in) + 1 {
				same(fmt.Sprintf("cut at byte %d", offset), split(g.in, offset))
			}
			same("byte by byte", iotest.OneByteReader(strings.NewReader(g.in)))
			same("CRLF", strings.NewReader(strings.ReplaceAll(g.in, "\n", "\r\n")))
			same("CR", strings.NewReader(strings.ReplaceAll(g.in, "\n", "\r")))
			same("byte order mark", strings.NewReader("\ufeff"+g.in))
			same("comments", strings.NewReader(": c\n\n"+strings.ReplaceAll(g.in, "\n\n", "\n: c\n\n: d\n\n")))
			same("no space behind the colon", strings.NewReader(strings.ReplaceAll(g.in, "data: {", "data:{")))
		})
	}
}

// TestChatStreamLargeEvents checks item 17: events of 1 MB are passed on, in pieces of any size.
func TestChatStreamLargeEvents(t *testing.T) {
	t.Parallel()
	large := strings.Repeat(`0123456789\n\"ü`, 1<<20/16)
	chunk := func(delta, finish string) string {
		return `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"up","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}]}` + "\n\n"
	}
	in := chunk(`{"role":"assistant","content":"`+large+`"}`, "null") +
		chunk(`{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"`+large+`"}}]}`, "null") + chunk(`{}`, `"tool_calls"`) + "data: [DONE]\n\n"
	want := strings.ReplaceAll(in, `"up"`, `"asked/\"model\""`)
	for _, size := range []int{1 << 20, 4093, 1} {
		out, end := relayStream(t, &pieces{in, size}, false)
		if out != want {
			t.Errorf("pieces of %d bytes: %d bytes came out, want %d\n%s", size, len(out), len(want), end)
		}
	}
}

type pieces struct {
	text string
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if p.text == "" {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), p.size)], p.text)
	p.text = p.text[n:]
	return n, nil
}

// TestChatStreamHostileFrame checks that the stored frame of a chunk is bounded.
func TestChatStreamHostileFrame(t *testing.T) {
	t.Parallel()
	chat := NewStream("m", false)
	chunk := `{"x":"` + strings.Repeat("x", 1<<20) + `","choices":[{"index":0,"delta":{"content":"a"}}]}`
	for range 2 {
		if _, _, err := chat.Event(nil, []byte(chunk)); err != nil {
			t.Fatal(err)
		}
	}
	size := cap(chat.last.head) + cap(chat.last.tail) + cap(chat.last.outHead) + cap(chat.last.outTail)
	if size > 16*maxFrame {
		t.Errorf("%d bytes are kept", size)
	}
}

// TestChatStreamHostileIDs checks that the ids which a hostile upstream makes the gateway store and repeat are bounded.
func TestChatStreamHostileIDs(t *testing.T) {
	t.Parallel()
	chat := NewStream("m", false)
	huge := strings.Repeat("x", 1<<20)
	if _, _, err := chat.Event(nil, []byte(`{"id":"`+huge+`","choices":[]}`)); err != nil {
		t.Fatal(err)
	}
	out, _, err := chat.Event(nil, []byte(`{"choices":[]}`))
	if err != nil || len(out) > 1000 {
		t.Fatalf("a chunk of 14 bytes became one of %d, %v", len(out), err)
	}
	for i := range 2 * maxTools {
		chunk := fmt.Sprintf(`{"choices":[{"index":0,"delta":{"tool_calls":[{"id":"%d%s"}]}},{"index":1000000,"delta":{"tool_calls":[{"id":"a"}]}}]}`, i, huge[:2*maxID])
		if _, _, err := chat.Event(nil, []byte(chunk)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(chat.corrector.tools); n != 1 {
		t.Errorf("keeps %d choices", n)
	}
	size := 0
	for _, tool := range chat.corrector.tools[0] {
		size += len(tool.id)
	}
	if n := len(chat.corrector.tools[0]); n != maxTools || size > maxTools*maxID {
		t.Errorf("keeps %d ids of %d bytes", n, size)
	}
}

// TestMaxEntries checks that the number of call entries in a chunk is bounded, because each entry is searched
// for among all calls.
func TestMaxEntries(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]error{maxEntries: nil, maxEntries + 1: wire.ErrBroken} {
		entries := strings.Repeat(`,{"index":0}`, n)[1:]
		_, _, err := NewStream("m", false).Event(nil, []byte(`{"choices":[{"delta":{"tool_calls":[`+entries+`]}}]}`))
		if !errors.Is(err, want) {
			t.Errorf("%d entries: %v", n, err)
		}
	}
}

func TestReadChatReplyGolden(t *testing.T) {
	t.Parallel()
	for _, g := range goldens(t, "reply") {
		t.Run(strings.TrimSuffix(filepath.Base(g.path), ".txt"), func(t *testing.T) {
			t.Parallel()
			body, reply, err := ReadReply(nil, []byte(g.in), `asked/"model"`)
			end := "error: " + errorName(err) + "\n"
			out := ""
			if err == nil {
				end += fmt.Sprintf("finish: %q\nusage: %s\ntext: %d bytes\n", reply.Finish, usageText(reply.Usage), reply.TextBytes)
				out = steadyReply(t, string(body))
			}
			g.check(t, out, end)
		})
	}
}

var (
	anyMadeID = regexp.MustCompile(`chatcmpl-[0-9A-Za-z]{24}`)
	anyNow    = regexp.MustCompile(`"created":[0-9]+`)
)

func steadyReply(t *testing.T, body string) string {
	t.Helper()
	var reply struct {
		ID, Object, Model string
		Created           int64
		Choices           []struct{ Index *int }
	}
	if err := json.Unmarshal([]byte(body), &reply); err != nil || reply.ID == "" || reply.Object == "" || reply.Model != `asked/"model"` || reply.Created == 0 {
		t.Errorf("reply %s: %v", body, err)
	}
	for i, c := range reply.Choices {
		if c.Index == nil || *c.Index != i {
			t.Errorf("choice %d of %s has another index", i, body)
		}
	}
	body = madeCall.ReplaceAllString(body, "call_MADE")
	if reply.Created != 1700000000 {
		body = anyNow.ReplaceAllString(body, `"created":NOW`)
	}
	return anyMadeID.ReplaceAllString(body, "chatcmpl-MADE")
}

func FuzzChatStream(f *testing.F) {
	for _, path := range func() []string { p, _ := filepath.Glob("testdata/stream/*.txt"); return p }() {
		raw, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(raw), "-- in --\n")
		in, _, _ := strings.Cut(rest, "-- out --\n")
		f.Add([]byte(in), true, 7)
		f.Add([]byte(in), false, 100)
	}
	f.Fuzz(func(t *testing.T, in []byte, includeUsage bool, offset int) {
		out, end := relayStream(t, strings.NewReader(string(in)), includeUsage)
		if len(in) == 0 {
			return
		}
		offset = int(uint(offset) % uint(len(in)))
		if out2, end2 := relayStream(t, split(string(in), offset), includeUsage); out2 != out || end2 != end {
			t.Fatalf("cut at %d: %q, %q, want %q, %q", offset, out2, end2, out, end)
		}
		if strings.Contains(end, "error: none") != strings.HasSuffix(out, "data: [DONE]\n\n") {
			t.Fatalf("out %q ends with %s", out, end)
		}
	})
}

func FuzzReadChatReply(f *testing.F) {
	for _, path := range func() []string { p, _ := filepath.Glob("testdata/reply/*.txt"); return p }() {
		raw, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(raw), "-- in --\n")
		in, _, _ := strings.Cut(rest, "-- out --\n")
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		before := slices.Clone(in)
		body, _, err := ReadReply(nil, in, "m\"")
		if string(before) != string(in) {
			t.Fatalf("the upstream's body was changed: %q", before)
		}
		if err != nil {
			if strings.HasPrefix(errorName(err), "upstream") || errors.Is(err, wire.ErrNoChoices) || errors.Is(err, wire.ErrBroken) {
				return
			}
			t.Fatalf("%q: unknown error %v", in, err)
		}
		var got map[string]json.RawMessage
		if json.Unmarshal(body, &got) != nil || string(got["model"]) != `"m\""` {
			t.Fatalf("%q became %q", in, body)
		}
	})
}
