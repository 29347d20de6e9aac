package rest

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// TestMatch checks If-Match against RFC 9110, section 13.1.1: strong comparison, lists, and *.
func TestMatch(t *testing.T) {
	t.Parallel()
	const tag = `"abc"`
	for _, test := range []struct {
		lines  []string
		status int // 0: the request passes
	}{
		{nil, 0},
		{[]string{"*"}, 0},
		{[]string{" * "}, 0},
		{[]string{`"abc"`}, 0},
		{[]string{`"x" , "abc"`}, 0},
		{[]string{`"x"`, `"abc"`}, 0},
		{[]string{`,, "abc" ,`}, 0},
		{[]string{`"a,b", "abc"`}, 0},
		{[]string{`"x-gzip", "abc-zstd"`}, 0},
		{[]string{`"abc-gzip-gzip"`}, 412},
		{[]string{`W/"abc-gzip"`}, 412},
		{[]string{`W/"abc"`}, 412},
		{[]string{`"ABC"`}, 412},
		{[]string{`"x,"`, `"\abc"`}, 412},
		{[]string{""}, 412},
		{[]string{`abc`}, 400},
		{[]string{`"abc`}, 400},
		{[]string{`w/"abc"`}, 400},
		{[]string{`W/ "abc"`}, 400},
		{[]string{`"abc""x"`}, 400},
		{[]string{`*, "abc"`}, 400},
		{[]string{"\"a b\""}, 400},
	} {
		r := httptest.NewRequest("PATCH", "/", nil)
		r.Header["If-Match"] = test.lines
		if test.lines == nil {
			delete(r.Header, "If-Match")
		}
		match, err := (&Call{R: r}).Match()
		if err == nil {
			err = match.Check(tag)
		}
		status := 0
		if e, ok := apierror.From(err); ok {
			status = e.Status
		}
		if status != test.status {
			t.Errorf("%q: %d, want %d", test.lines, status, test.status)
		}
	}
	if ETag([]byte("a")) == ETag([]byte("b")) || ETag(nil) != ETag([]byte{}) {
		t.Error("tags are not of the content")
	}
}

// FuzzTags checks that no header breaks the parser, and that the tags it finds are in the header.
func FuzzTags(f *testing.F) {
	for _, text := range []string{"*", `"a"`, `W/"a", "b"`, `"`, ",", `"a" W/"`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tags, ok := parseTags(text)
		if tags.any && (!ok || strings.TrimSpace(text) != "*") {
			t.Errorf("%q is *", text)
		}
		for tag := range tags.strong {
			if !strings.Contains(text, tag) || len(tag) < 2 {
				t.Errorf("%q has %q", text, tag)
			}
		}
	})
}
