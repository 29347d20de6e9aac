package rest

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

var testObjects = Objects{MaxBytes: 1000, Code: "bad_body", TooLarge: "too_large"}

// TestObject checks that all faults of the members are reported together, and that each reader accepts its kind of
// value.
func TestObject(t *testing.T) {
	t.Parallel()
	read := func(b *Object) {
		b.Text("text")
		b.OptionalText("reason")
		b.Flag("flag")
		b.Required("number")
		b.Nullable("id")
	}
	for body, want := range map[string]string{
		`{"text":"a","number":1}`:                                    "",
		`{"text":"a","number":1,"reason":"b","flag":true,"id":null}`: "",
		`{}`: "text required, number required",
		`{"text":1,"number":1.5,"flag":null,"reason":[],"id":"x"}`: "text type, reason type, flag type, number type, id type",
		`{"text":"a","number":1,"zoo":1,"ape":{}}`:                 "ape unknown, zoo unknown",
		`{"number":1,"ape":{}}`:                                    "text required, ape unknown",
		`{"text":"a","text":"b","number":1}`:                       "text duplicate",
		`{"text":"a","number":1}{}`:                                " trailing",
		`{"text":"a","number":1`:                                   " syntax",
		`["text"]`:                                                 " not_an_object",
		`null`:                                                     " not_an_object",
		" ":                                                        " missing",
		"\xff":                                                     " encoding",
		strings.Repeat(`{"a":`, 40):                                " nesting",
	} {
		b, err := testObjects.Parse([]byte(body))
		if err == nil {
			read(b)
			err = b.Err()
		}
		var reasons []string
		if e, ok := apierror.From(err); ok {
			for _, d := range e.Details {
				reasons = append(reasons, d.Field+" "+d.Reason)
			}
			if e.Status != 400 || e.Code != "bad_body" || e.Message != e.Details[0].Message {
				t.Errorf("%s: got %+v, want status 400, code bad_body and the message of the first detail", body, e)
			}
		}
		if got := strings.Join(reasons, ", "); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
	b, _ := testObjects.Parse([]byte(`{"text":"a","number":7,"flag":true,"zero":0,"null":null}`))
	if b.Text("text") != "a" || b.Required("number") != 7 || !*b.Flag("flag") || b.Integer("none") != nil || *b.Nullable("zero") != -1 || *b.Nullable("null") != 0 || b.Nullable("none") != nil || b.Err() != nil {
		t.Errorf("a method returned another value than is in %+v", b)
	}
}

// TestReadChecksRequest checks the requirements on a request whose body is read.
func TestReadChecksRequest(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind, body string
		status     int // 0: the body is read
	}{
		{"", "{}", 0},
		{"application/json; charset=utf-8", "{}", 0},
		{"application/problem+json", "{}", 0},
		{"text/plain", "{}", 400},
		{"application/json", "", 400},
		{"application/json", `{"a":"` + strings.Repeat("x", 1000) + `"}`, 413},
	} {
		for _, chunked := range []bool{false, true} {
			r := httptest.NewRequest("POST", "/", strings.NewReader(test.body))
			r.Header.Set("Content-Type", test.kind)
			if chunked {
				r.ContentLength = -1
			}
			_, err := testObjects.Read(&Call{W: httptest.NewRecorder(), R: r})
			status := 0
			if e, ok := apierror.From(err); ok {
				status = e.Status
			}
			if status != test.status {
				t.Errorf("%+v: got the error %v, want the status %d", test, err, test.status)
			}
		}
	}
	for _, length := range []int64{0, -1} {
		r := httptest.NewRequest("POST", "/", strings.NewReader(""))
		r.ContentLength = length
		if b, err := testObjects.ReadIfAny(&Call{W: httptest.NewRecorder(), R: r}); err != nil || b.Err() != nil {
			t.Errorf("without a body, of length %d: %v", length, err)
		}
	}
	if _, err := testObjects.ReadIfAny(&Call{W: httptest.NewRecorder(), R: httptest.NewRequest("POST", "/", strings.NewReader(" "))}); err == nil {
		t.Error("a space counts as a missing body")
	}
}

// slow is a connection on which nothing arrives before its deadline.
type slow struct {
	*httptest.ResponseRecorder
	deadline time.Time
}

func (s *slow) SetReadDeadline(deadline time.Time) error {
	s.deadline = deadline
	return nil
}

func (s *slow) Read([]byte) (int, error) {
	if s.deadline.IsZero() {
		return 0, errors.New("it would wait for ever")
	}
	return 0, os.ErrDeadlineExceeded
}

// TestSlowBody checks that no body can hold a request forever, however it is read.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(c *Call) error{
		"Decode":      func(c *Call) error { return c.Decode(new(struct{})) },
		"DecodeIfAny": func(c *Call) error { return c.DecodeIfAny(new(struct{})) },
		"Read":        func(c *Call) error { _, err := testObjects.Read(c); return err },
		"ReadIfAny":   func(c *Call) error { _, err := testObjects.ReadIfAny(c); return err },
	} {
		line := &slow{ResponseRecorder: httptest.NewRecorder()}
		err := read(&Call{W: line, R: httptest.NewRequest("POST", "/", line)})
		if e, ok := apierror.From(err); !ok || e.Status != http.StatusRequestTimeout {
			t.Errorf("%s: got the error %v, want status 408", name, err)
		}
	}
}

// FuzzObject checks that the reader either accepts a body or returns a refusal.
func FuzzObject(f *testing.F) {
	for _, text := range []string{`{"a":1}`, `{"a":{"b":[1,2,{"c":null}]}}`, `[`, `{"a":1,"a":2}`, `{}{}`, `"x"`, "", "]", `{"a":1}]`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, err := testObjects.Parse([]byte(text))
		if valid := json.Valid([]byte(text)); err == nil && !valid {
			t.Errorf("%q passes and is not JSON", text)
		}
	})
}

// TestPublished checks that a document is made once, and that a client that has cached it gets a 304.
func TestPublished(t *testing.T) {
	t.Parallel()
	count := 0
	p := Publish(func() ([]byte, error) { count++; return []byte(`{"openapi":"3.1.0"}`), nil })
	rt := NewRouter("", []Route{{Method: "GET", Path: "/openapi.json", Guest: true, Serve: p.Serve}})
	ask := func(method, tags string) *httptest.ResponseRecorder {
		r, w := httptest.NewRequest(method, "/openapi.json", nil), httptest.NewRecorder()
		if tags != "" {
			r.Header.Set("If-None-Match", tags)
		}
		found, _ := rt.Find(r)
		if err := found.Serve(w, nil); err != nil {
			t.Error(err)
		}
		return w
	}
	first := ask("GET", "")
	tag := first.Header().Get("ETag")
	if first.Code != 200 || first.Body.String() != `{"openapi":"3.1.0"}` || tag == "" || first.Header().Get("Content-Type") != "application/json" {
		t.Errorf("got %d %v %s, want 200 with an ETag and the document", first.Code, first.Header(), first.Body)
	}
	for _, test := range []struct {
		method, tags string
		status, size int
	}{{"GET", `"other", ` + tag, 304, 0}, {"HEAD", tag, 304, 0}, {"HEAD", "", 200, 0}, {"GET", `"other"`, 200, 19}} {
		if w := ask(test.method, test.tags); w.Code != test.status || w.Body.Len() != test.size || w.Header().Get("ETag") != tag {
			t.Errorf("got %d %v %s, want %+v", w.Code, w.Header(), w.Body, test)
		}
	}
	if count != 1 {
		t.Errorf("the document was made %d times", count)
	}
}
