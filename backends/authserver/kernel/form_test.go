package kernel

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/inbound/inboundtest"
)

func TestReadForm(t *testing.T) {
	t.Parallel()
	const form = "application/x-www-form-urlencoded"
	for name, test := range map[string]struct {
		kind, body string
		status     int // 0: the form is accepted
	}{
		"good":          {form, "a=1&b=%20+x&resource=1&resource=2&empty=", 0},
		"charset":       {form + "; charset=utf-8", "a=1", 0},
		"none":          {form, "", 0},
		"json":          {"application/json", `{"a":1}`, 400},
		"no type":       {"", "a=1", 400},
		"twice":         {form, "a=1&a=2", 400},
		"twice, empty":  {form, "a=1&a=", 400},
		"twice, hidden": {form, "a=1&%61=2", 400},
		"bad escape":    {form, "a=%zz", 400},
		"not UTF-8":     {form, "a=%ff", 400},
		"NUL":           {form, "a=%00", 400},
		"large":         {form, "a=" + strings.Repeat("x", MaxBody), 413},
		"many":          {form, strings.Repeat("resource=1&", 600), 400},
	} {
		for _, chunked := range []bool{false, true} {
			r := httptest.NewRequest(http.MethodPost, "/?a=9&b=9", strings.NewReader(test.body))
			r.Header.Set("Content-Type", test.kind)
			if chunked {
				r.ContentLength = -1
			}
			w := inboundtest.New()
			f, err := ReadForm(w, r, "resource")
			refusal, _ := apierror.From(err)
			switch {
			case test.status == 0 && err != nil, test.status != 0 && (refusal == nil || refusal.Status != test.status || refusal.Code != InvalidRequest):
				t.Errorf("%s: error %v", name, err)
			case name == "good" && (f.Get("a") != "1" || f.Get("b") != "  x" || len(f.All("resource")) != 2 || len(f) != 4):
				t.Errorf("%+v", f)
			case name == "good" && !w.Paced():
				t.Errorf("a slow body is accepted, chunked %t", chunked)
			}
		}
	}
}

func FuzzParseForm(f *testing.F) {
	f.Add("a=1&b=%20")
	f.Fuzz(func(t *testing.T, text string) {
		form, err := ParseForm(text)
		if err != nil {
			return
		}
		want, err := url.ParseQuery(text)
		if err != nil {
			if strings.Contains(text, ";") { // the library refuses semicolons
				return
			}
			t.Fatalf("%q: %v", text, err)
		}
		for _, field := range form {
			if want.Get(field.Name) != field.Value {
				t.Fatalf("%q: %+v, want %v", text, form, want)
			}
		}
	})
}
