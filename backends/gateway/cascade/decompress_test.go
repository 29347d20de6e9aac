package cascade

import (
	"bufio"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

func gzipText(text string) string {
	var b strings.Builder
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text) // a write to memory does not fail
	_ = w.Close()
	return b.String()
}

// gzipWithBadSize returns text as gzip with a wrong checksum.
func gzipWithBadSize(text string) string {
	b := []byte(gzipText(text))
	b[len(b)-8]++
	return string(b)
}

// gzipped returns a step that compresses the answer of inner with gzip, and flushes when inner flushes.
func gzipped(inner step) step {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		p := &packer{ResponseWriter: w, gzip: gzip.NewWriter(w)}
		inner(p, r)
		_ = p.gzip.Close() // the gateway may have closed the connection
	}
}

type packer struct {
	http.ResponseWriter
	gzip *gzip.Writer
}

func (p *packer) Write(b []byte) (int, error) { return p.gzip.Write(b) }

func (p *packer) FlushError() error {
	if err := p.gzip.Flush(); err != nil {
		return err
	}
	return http.NewResponseController(p.ResponseWriter).Flush()
}

// TestPackedAnswers checks that gzip-compressed answers are accepted although the gateway has not asked for gzip.
func TestPackedAnswers(t *testing.T) {
	t.Parallel()
	for _, encoding := range []string{"gzip", "GZIP", "x-gzip"} {
		r := newRig(t, setup{keys: []string{"alpha"}})
		r.alpha.addSteps(reply(200, gzipText(completion("packed")), "Content-Encoding", encoding))
		e := r.ask("keychain-low")
		e.wantAnswer(t, "alpha/a-low", "packed")
		if e.header.Get("Content-Encoding") != "" || e.Usage.Prompt != 11 {
			t.Errorf("%v, %+v", e.header, e.Usage)
		}
	}
	r := newRig(t, setup{keys: []string{"alpha"}})
	r.alpha.addSteps(gzipped(answers("packed")), gzipped(answers("again")))
	for _, content := range []string{"packed", "again"} {
		e := r.askStream("keychain-low")
		e.wantAnswer(t, "alpha/a-low", content)
		if want := renamed(role, text(content), finish, doneLine); e.body != want {
			t.Errorf("body\n%swant\n%s", e.body, want)
		}
	}
	if n := r.alpha.opened.Load(); n != 1 {
		t.Errorf("%d connections for two streams", n)
	}
}

// TestPackedStreamBreaks checks that invalid gzip data after the commit point is reported in the stream.
func TestPackedStreamBreaks(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: []string{"alpha", "beta"}})
	r.alpha.addSteps(func(w http.ResponseWriter, req *http.Request) {
		gzipped(stream(role, text("one")))(w, req)
		_, _ = io.WriteString(w, "no gzip any more")
	})
	e := r.askStream("keychain-low")
	if e.rawErr != nil || e.Code != "upstream_stream_error" || !strings.Contains(e.body, `"one"`) || !strings.Contains(e.body, `"code":"upstream_stream_error"`) {
		t.Errorf("%v, %+v:\n%s", e.rawErr, e.Result, e.body)
	}
}

// TestPackedComments checks the limit on comments and blank lines, of which a little gzip data can make very many.
func TestPackedComments(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: []string{"alpha", "beta"}})
	// The limit counts bytes. Longer lines are faster, because each line costs time.
	comment := ":" + strings.Repeat(" ", 62) + "\n"
	comments, blanks := strings.Repeat(comment, 2*maxSilentBytes/len(comment)), strings.Repeat("\n", 2*maxSilentBytes)
	for _, noise := range []string{comments, blanks} {
		r.alpha.addSteps(gzipped(stream(noise, role, text("late"), finish, doneLine)))
		r.beta.addSteps(answers("from beta"))
		e := r.askStream("keychain-low")
		e.wantAnswer(t, "beta/b-low", "from beta")
		if len(e.Failed) != 1 || e.Failed[0].Code != "broken_answer" {
			t.Errorf("failed %s", e.failedList())
		}
		r = newRig(t, setup{keys: []string{"alpha", "beta"}})
		r.alpha.addSteps(gzipped(stream(role, text("one"), noise, text("late"), finish, doneLine)))
		e = r.askStream("keychain-low")
		if e.Code != "upstream_stream_error" || !strings.Contains(e.body, `"one"`) || strings.Contains(e.body, "late") {
			t.Errorf("%+v:\n%s", e.Result, e.body)
		}
		r = newRig(t, setup{keys: []string{"alpha", "beta"}})
	}
	some := comments[:maxSilentBytes/2/len(comment)*len(comment)]
	r.alpha.addSteps(gzipped(stream(some, role, text("one"), some, text("two"), some, text("three"), finish, doneLine)))
	e := r.askStream("keychain-low")
	e.wantAnswer(t, "alpha/a-low", "three")
}

// TestPackedStreamIsNotHeldBack checks that the client gets everything that the upstream has flushed before the
// upstream sends more.
func TestPackedStreamIsNotHeldBack(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: []string{"alpha"}})
	next := make(chan struct{})
	r.alpha.addSteps(gzipped(func(w http.ResponseWriter, req *http.Request) {
		for _, e := range []string{role + text("one"), text("two"), finish + doneLine} {
			stream(e)(w, req)
			select {
			case <-next:
			case <-req.Context().Done():
				return
			}
		}
	}))
	resp, err := r.serve().post(t.Context(), t, true)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for _, want := range []string{"one", "two", "[DONE]"} {
		for !strings.Contains(lines.Text(), want) {
			if !lines.Scan() {
				t.Fatalf("waiting for %s: %v", want, lines.Err())
			}
		}
		if want != "[DONE]" {
			next <- struct{}{}
		}
	}
	close(next)
}

// TestPackedCount checks that a provider's compressed answer to a request to count tokens is decoded.
func TestPackedCount(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: []string{"alpha"}, members: map[string]string{"alpha": `"wires":["messages"]`}})
	r.alpha.addSteps(reply(200, gzipText(`{"input_tokens":4321}`), "Content-Encoding", "gzip"))
	n, err := r.engine.CountTokens(t.Context(), r.parseRequest(hub.Messages, question(hub.Messages, "keychain-low", false)))
	if err != nil || n != 4321 {
		t.Errorf("%d, %v", n, err)
	}
}
