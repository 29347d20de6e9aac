package budget

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

func TestPattern(t *testing.T) {
	t.Parallel()
	for text, paths := range map[string]struct{ yes, no []string }{
		"*":                    {yes: []string{"/", "/a", "/a/b/", "*"}},
		"/":                    {yes: []string{"/", "/a", "/a/b/"}},
		"/{$}":                 {yes: []string{"/"}, no: []string{"/a"}},
		"/a":                   {yes: []string{"/a", "/%61", "//a", "/./a", "/b/../a", "/b/%2e%2E/a"}, no: []string{"/", "/a/", "/ab", "/A", "/a/b"}},
		"/v1/":                 {yes: []string{"/v1/", "/v1/x/y"}, no: []string{"/v1", "/v2/"}},
		"/v1/{$}":              {yes: []string{"/v1/"}, no: []string{"/v1", "/v1/x"}},
		"/f/{rest...}":         {yes: []string{"/f/", "/f/a/b"}, no: []string{"/f"}},
		"/forums/{id}/threads": {yes: []string{"/forums/1/threads", "/forums//1//threads", "/forums/a%2Fb/threads"}, no: []string{"/forums/threads", "/forums//threads", "/forums/1/threads/", "/forums/1/2/threads"}},
		"/{a}/{b}":             {yes: []string{"/x/y"}, no: []string{"/x", "/x/", "/x/y/"}},
		"/a%2Fb":               {yes: []string{"/a%2Fb"}, no: []string{"/a/b"}},
		"/a%2A":                {yes: []string{"/a*", "/a%2a"}, no: []string{"/ab"}},
		"/100%25":              {yes: []string{"/100%25"}, no: []string{"/100"}},
	} {
		p, err := compilePattern(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for want, list := range map[bool][]string{true: paths.yes, false: paths.no} {
			for _, path := range list {
				u, err := url.ParseRequestURI(path)
				if path == "*" {
					u, err = &url.URL{Path: "*"}, nil
				}
				if err != nil {
					t.Fatal(err)
				}
				if got := p.matches(matchPath(u)); got != want {
					t.Errorf("%s matches %s: %v, want %v", text, path, got, want)
				}
			}
		}
	}
	for _, text := range []string{
		"", "a", "//", "/a//b", "/./a", "/a/..", "/{", "/}", "/{}", "/{a", "/a{b}", "/{a}b", "/{a.b}", "/{1}",
		"/{a}/{a}", "/{$}/a", "/{a...}/b", "/{...}", "/%zz", "/{a}/{a...}", "/a*", "/a/*", "/*/b", "/*.txt",
	} {
		if _, err := compilePattern(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

// FuzzPattern compares patterns with those of http.ServeMux, whose syntax they use.
func FuzzPattern(f *testing.F) {
	f.Add("/forums/{id}/threads", "/forums/1/threads")
	f.Add("/v1/", "/v1/x")
	f.Add("/v1/{$}", "/v1/")
	f.Add("/a%2Fb/{r...}", "/a%2fb/c/d")
	f.Add("/{a}", "/%25")
	f.Fuzz(func(t *testing.T, text, path string) {
		u, err := url.ParseRequestURI(path)
		if err != nil || u.Host != "" || u.Scheme != "" || strings.Contains(u.EscapedPath(), "//") || strings.ContainsAny(text, " \t") {
			return
		}
		p, err := compilePattern(text)
		if text == "*" {
			return
		}
		matched := false
		mux := http.NewServeMux()
		refused := func() (refused bool) {
			defer func() { refused = recover() != nil }()
			mux.HandleFunc(text, func(http.ResponseWriter, *http.Request) { matched = true })
			return false
		}()
		if err == nil && refused {
			// The mux is stricter only about the characters of wildcard names.
			t.Fatalf("%q: the mux refuses it", text)
		}
		if err != nil {
			return
		}
		for segment := range strings.SplitSeq(strings.ToLower(u.EscapedPath()), "/") {
			if s := strings.ReplaceAll(segment, "%2e", "."); s == "." || s == ".." {
				return // resolved here, redirected or left alone by the mux
			}
		}
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.URL = u
		mux.ServeHTTP(httptest.NewRecorder(), r)
		if got := p.matches(matchPath(u)); got != matched {
			t.Fatalf("%q matches %q: %v, the mux says %v", text, path, got, matched)
		}
	})
}

func TestCost(t *testing.T) {
	t.Parallel()
	h := provision(t, &Handler{Limit: "1", Costs: []Cost{
		{Cost: "0", Method: "GET", Pattern: "/health"},
		{Cost: "10", Method: "POST", Pattern: "/forums/{id}/threads"},
		{Cost: "{http.vars.cost}", Method: "PUT", Pattern: "*"},
		{Cost: "5", Method: "post", Pattern: "/forums/"},
		{Cost: "2", Pattern: "/forums/"},
		{Cost: "3", Method: "*", Pattern: "/any"},
	}}, nil)
	for request, want := range map[string]int64{
		"GET /health":             0,
		"HEAD /health":            0,
		"POST /health":            1,
		"POST /forums/1/threads":  10,
		"POST /forums//1/threads": 10,
		"POST /forums/1":          5,
		"PUT /forums/1":           42,
		"GET /forums/1":           2,
		"DELETE /any":             3,
		"GET /":                   1,
	} {
		method, path, _ := strings.Cut(request, " ")
		r := newRequest(method, path, "10.0.0.1", "cost", "42")
		if got, err := h.cost(r, replacer(r)); got != want || err != nil {
			t.Errorf("%s: %d, %v; want %d", request, got, err, want)
		}
	}
}
