package passthrough

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/memory"
)

func TestFind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ method, path, pattern, id, allow, below string }{
		{"POST", "/audio/speech", "/audio/speech", "", "", ""},
		{"GET", "/audio/speech", "", "", "POST", ""},
		{"GET", "/files/file-1", "/files/{id}", "file-1", "", "/file-1"},
		{"GET", "/files/file-1/content", "/files/{id}/content", "file-1", "", "/file-1/content"},
		{"POST", "/batches/b/cancel", "/batches/{id}/cancel", "b", "", "/b/cancel"},
		{"PUT", "/files/file-1", "", "", "GET, DELETE", ""},
		{"GET", "/files/..", "", "", "", ""},
		{"GET", "/files/../models", "", "", "", ""},
		{"GET", "/files/a%2fb", "", "", "", ""},
		{"GET", "/files/a?b", "", "", "", ""},
		{"GET", "/files/", "", "", "", ""},
		{"GET", "/models", "", "", "", ""},
	} {
		e, id, allow := Find(c.method, c.path)
		pattern, below := "", ""
		if e != nil {
			pattern, below = e.Pattern, e.PathFor(id)
		}
		if pattern != c.pattern || id != c.id || allow != c.allow || below != c.below {
			t.Errorf("%s %s: got pattern %q, id %q, allow %q, below %q, want %+v", c.method, c.path, pattern, id, allow, below, c)
		}
	}
}

func TestReadObject(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, model, out string }{
		{`{"model":"a","x":1}`, "a", `{"model":"NEW","x":1}`},
		{`{ "x" : {"model":"b"}, "mod\u0065l" : "a" }`, "a", `{ "x" : {"model":"b"}, "mod\u0065l" : "NEW" }`},
		{`{"x":1}`, "", `{"model":"NEW","x":1}`},
		{` { } `, "", ` {"model":"NEW" } `},
		{"{" + strings.Repeat(" ", 100) + "}", "", `{"model":"NEW"` + strings.Repeat(" ", 100) + "}"},
	} {
		o, err := ReadObject([]byte(c.in))
		if err != nil || o.Model != c.model {
			t.Errorf("ReadObject(%s): got %+v, error %v, want the model %q", c.in, o, err, c.model)
			continue
		}
		body, size, err := o.BodyFor("NEW")
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(body)
		if string(got) != c.out || size != int64(len(got)) {
			t.Errorf("%s: got %s and size %d, want %s", c.in, got, size, c.out)
		}
	}
	for _, in := range []string{`{"model":"a","model":"b"}`, `{"model":"a","mod\u0065l":"b"}`, `{"model":1}`, `{"model":""}`, `[]`, `{`, ``} {
		if _, err := ReadObject([]byte(in)); statusOf(err) != http.StatusBadRequest {
			t.Errorf("ReadObject(%s): got error %v, want status 400", in, err)
		}
	}
}

func statusOf(err error) int {
	if e, ok := errors.AsType[*apierror.Error](err); ok {
		return e.Status
	}
	return 0
}

// form returns a form with fields and files. A value of "@" and n further characters stands for a file of about n² KB.
func form(t *testing.T, parts ...string) (contentType, body string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for pair := range slices.Chunk(parts, 2) {
		name, value := pair[0], pair[1]
		if size, isFile := strings.CutPrefix(value, "@"); isFile {
			file, err := w.CreateFormFile(name, "f.bin")
			if err != nil {
				t.Fatal(err)
			}
			_, _ = file.Write(bytes.Repeat([]byte("\r\n--x name=\"model\"\r\n\r\n0123456789abcdef"), 24*len(size)*len(size)))
			continue
		}
		if err := w.WriteField(name, value); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w.FormDataContentType(), b.String()
}

const (
	small = "@1"
	large = "@1xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
)

func TestReadForm(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		parts   []string
		once    bool
		status  int // status of the error while reading
		refused int // status of the error while passing the form on
	}{
		{name: "model first", parts: []string{"model", "a", "file", small}},
		{name: "model last", parts: []string{"file", small, "prompt", "p", "model", "a"}},
		{name: "model alone", parts: []string{"model", "a"}},
		{name: "large behind the model", parts: []string{"model", "a", "file", large, "prompt", "p", "file", small}, once: true},
		{name: "large before the model", parts: []string{"file", large, "model", "a", "prompt", "p"}},
		{name: "two models", parts: []string{"model", "a", "model", "b"}, status: 400},
		{name: "two models in other letters", parts: []string{"model", "a", "MODEL", "b"}, status: 400},
		{name: "two models around what is passed on", parts: []string{"model", "a", "file", large, "model", "b"}, once: true, refused: 400},
		{name: "a model that is a file", parts: []string{"model", "a", "model", small}, status: 400},
		{name: "an empty model", parts: []string{"model", ""}, status: 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			contentType, text := form(t, c.parts...)
			share := memory.New(1 << 30).Share("alice")
			defer share.Free()
			f, err := ReadForm(t.Context(), contentType, strings.NewReader(text), 64<<20, true, &share)
			if statusOf(err) != c.status || (err != nil) != (c.status != 0) {
				t.Fatal(err)
			}
			if err != nil {
				return
			}
			body, size, err := f.BodyFor("NEW")
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(body)
			if statusOf(f.Refused()) != c.refused || c.refused == 0 && err != nil {
				t.Fatal(f.Refused(), err)
			}
			if c.refused != 0 {
				return
			}
			if f.Consumed() != c.once || !c.once && size != int64(len(got)) {
				t.Errorf("once %v, size %d of %d", f.Consumed(), size, len(got))
			}
			if want, got := parse(t, contentType, text), parse(t, f.ContentType(), string(got)); strings.Replace(want, "model=a", "model=NEW", 1) != got {
				t.Errorf("passed on as\n%.300s\nwant\n%.300s", got, want)
			}
			if _, _, err := f.BodyFor("AGAIN"); (err != nil) != c.once {
				t.Error("a second time:", err)
			}
		})
	}
	t.Run("too large", func(t *testing.T) {
		t.Parallel()
		contentType, text := form(t, "model", "a", "file", small)
		share := memory.New(1 << 30).Share("alice")
		if _, err := ReadForm(t.Context(), contentType, strings.NewReader(text), 500, true, &share); statusOf(err) != http.StatusRequestEntityTooLarge {
			t.Error(err)
		}
		if _, err := ReadForm(t.Context(), contentType, strings.NewReader(text[:len(text)-30]), 64<<20, true, &share); statusOf(err) != http.StatusBadRequest {
			t.Error("half a form:", err)
		}
		if _, err := ReadForm(t.Context(), "application/json", strings.NewReader("{}"), 500, true, &share); statusOf(err) != http.StatusUnsupportedMediaType {
			t.Error(err)
		}
	})
}

// parse lists the parts of a form. The model's part comes first.
func parse(t *testing.T, contentType, body string) string {
	t.Helper()
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		t.Fatal(err)
	}
	r := multipart.NewReader(strings.NewReader(body), params["boundary"])
	model, rest := "", ""
	for {
		part, err := r.NextPart()
		if errors.Is(err, io.EOF) {
			return model + rest
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(part)
		if err != nil {
			t.Fatal(err)
		}
		line := part.FormName() + part.FileName() + part.Header.Get("Content-Type") + "=" + string(text) + "\n"
		if part.FormName() == "model" {
			model = line
		} else {
			rest += line
		}
	}
}

func FuzzReadForm(f *testing.F) {
	f.Add("--b\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\na\r\n--b--\r\n")
	f.Add("--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x\"\r\n\r\n\r\n--b\r\n\r\n")
	f.Fuzz(func(t *testing.T, body string) {
		share := memory.New(1 << 30).Share("alice")
		defer share.Free()
		form, err := ReadForm(t.Context(), "multipart/form-data; boundary=b", strings.NewReader(body), 1<<20, false, &share)
		if err != nil {
			return
		}
		passed, _, err := form.BodyFor("NEW")
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(passed)
		if err != nil {
			return
		}
		renamed, err := ReadForm(t.Context(), form.ContentType(), bytes.NewReader(got), 4<<20, true, &share)
		if err != nil || renamed.Model != "NEW" {
			t.Fatalf("%q becomes %q: %v", body, got, err)
		}
	})
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tail           string
		prompt, output int64
		calls          map[string]int64
	}{
		{`AAA"}],"usage":{"input_tokens":5,"output_tokens":7,"input_tokens_details":{"cached_tokens":2}}}`, 5, 7, nil},
		{`{"text":"say \"usage\":{\"input_tokens\":9}","usage":{"type":"duration","seconds":12}}`, 0, 0, map[string]int64{"second": 12}},
		{"data: {\"type\":\"transcript.text.done\",\"usage\":{\"input_tokens\":1,\"output_tokens\":2}}\n\n", 1, 2, nil},
		{`{"results":[],"meta":{"billed_units":{"search_units":3}}}`, 0, 0, map[string]int64{"search": 3}},
		{`{"usage":{"total_tokens":4}}`, 4, 0, nil},
		{`{"usage":null}`, 0, 0, nil},
		{`{"usage":{"input_tokens":-4}}`, 0, 0, nil},
		{`{"usage":{"input_to`, 0, 0, nil},
	} {
		u := Usage([]byte(c.tail))
		known := c.prompt+c.output > 0 || c.calls != nil
		if u.Prompt != c.prompt || u.Completion != c.output || u.Known != known {
			t.Errorf("%s: %+v", c.tail, u)
		}
		for unit, n := range c.calls {
			if u.Served == nil || u.Served.Calls[unit] != n {
				t.Errorf("%s: %+v", c.tail, u.Served)
			}
		}
	}
}
