package e2e

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// LongForm returns the text of a file in docs/reference/services.
func LongForm(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(Repo("docs/reference/services", name+".caddyfile"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Services returns the names of all services that have a file for LongForm.
func Services(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob(Repo("docs/reference/services", "*.caddyfile"))
	if err != nil || len(files) == 0 {
		t.Fatal("there are no services", err)
	}
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".caddyfile"); !strings.Contains(name, ".") {
			names = append(names, name)
		}
	}
	return names
}

// Swap replaces a text that must occur exactly once.
func Swap(t *testing.T, text, old, replacement string) string {
	t.Helper()
	if n := strings.Count(text, old); n != 1 {
		t.Fatalf("%q occurs %d times, want once, in\n%s", old, n, text)
	}
	return strings.Replace(text, old, replacement, 1)
}

// Dial opens a connection to the http URL base, which is closed at the end of the test.
func Dial(t *testing.T, base string) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(WaitLimit)); err != nil {
		t.Fatal(err)
	}
	return conn
}

var (
	FormToken     = regexp.MustCompile(`name="token" value="([^"]+)"`)
	WebhookSecret = regexp.MustCompile(`whsec_[A-Za-z0-9_-]+`)
)

// CostLines returns the lines of a Caddyfile with the option cost, without indentation.
func CostLines(text string) (lines []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "cost ") {
			lines = append(lines, line)
		}
	}
	return lines
}

// Surface is one of the APIs that clients of the gateway use.
type Surface struct{ Name, Path string }

var Surfaces = []Surface{{"chat", "/v1/chat/completions"}, {"messages", "/v1/messages"}, {"responses", "/v1/responses"}}

// Body returns the body of a request in the API's format. text is the user's message.
func (s Surface) Body(model string, stream bool, text string) string {
	head := fmt.Sprintf(`{"model":%q,"stream":%t,`, model, stream)
	switch s.Name {
	case "responses":
		return head + fmt.Sprintf(`"input":%q}`, text)
	case "messages":
		head += `"max_tokens":100,`
	}
	return head + fmt.Sprintf(`"messages":[{"role":"user","content":%q}]}`, text)
}

// Says returns the text of a response in the API's format. It fails the test if the status is not 200, if a streamed
// response does not end properly, or if stream does not state whether the response is streamed.
func (s Surface) Says(t *testing.T, a *Answer, stream bool) string {
	t.Helper()
	if kind := a.Header.Get("Content-Type"); a.Status != 200 || strings.HasPrefix(kind, "text/event-stream") != stream {
		t.Errorf("status %d, %s: %s", a.Status, kind, a.Body)
		return ""
	}
	if !stream {
		path := map[string]string{
			"chat": "choices.0.message.content", "messages": "content.0.text",
			"responses": `output.#(type=="message").content.0.text`,
		}[s.Name]
		return gjson.Get(a.Body, path).Str
	}
	ends := map[string]string{
		"chat": "data: [DONE]", "messages": "event: message_stop\n", "responses": "event: response.completed\n",
	}
	if strings.Count(a.Body, ends[s.Name]) != 1 {
		t.Errorf("the stream has no end:\n%s", a.Body)
	}
	var text strings.Builder
	for line := range strings.Lines(a.Body) {
		data, ok := strings.CutPrefix(line, "data: ")
		event := gjson.Parse(data)
		switch {
		case !ok: // not a line with data
		case s.Name == "chat":
			text.WriteString(event.Get("choices.0.delta.content").Str)
		case s.Name == "messages":
			text.WriteString(event.Get("delta.text").Str)
		case event.Get("type").Str == "response.output_text.delta":
			text.WriteString(event.Get("delta").Str)
		}
	}
	return text.String()
}

// Open sends a request for a stream, and returns the response with its body unread.
func (s Surface) Open(t *testing.T, base, key string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+s.Path,
		strings.NewReader(s.Body("keychain-high", true, "Hi")))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+key)
	resp, err := Client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", s.Name, resp.Status)
	}
	return resp
}
