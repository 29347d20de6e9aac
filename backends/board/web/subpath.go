package web

import (
	"bytes"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/look"
)

// urlAttributes lists the HTML attributes whose values are URLs.
var urlAttributes = []string{"href", "src", "action", "formaction", "data-names"}

// under serves pages under a path of a host, such as /forum. The path has been removed from the requests. Pages, and
// the texts of posts, contain URLs as if they were at the root of the host. In Location headers and in attributes of
// HTML, under adds the path to these URLs.
type under struct {
	path     string
	pages    http.Handler
	prefixer *strings.Replacer
}

// newUnder returns a handler that serves pages under a path. The path has no slash at its end.
func newUnder(path string, pages http.Handler) *under {
	pairs := make([]string, 0, 4*len(urlAttributes))
	for _, name := range urlAttributes {
		prefix := " " + name + `="/`
		// A URL that begins with "//" has a host and stays unchanged.
		pairs = append(pairs, prefix+"/", prefix+"/", prefix, " "+name+`="`+path+"/")
	}
	return &under{path, pages, strings.NewReplacer(pairs...)}
}

// bar returns a function that returns the same bar as inner, but makes the URLs of other services on the same host
// absolute, so that the path is not added to these URLs. inner returns the bar of a page. If inner is nil, bar
// returns nil.
func (u *under) bar(inner func(*http.Request) look.Bar) func(*http.Request) look.Bar {
	if inner == nil {
		return nil
	}
	return func(r *http.Request) look.Bar {
		bar := inner(r)
		for i, s := range bar.Services {
			if strings.HasPrefix(s.URL, "/") && !strings.HasPrefix(s.URL, "//") {
				bar.Services[i].URL = "//" + r.Host + s.URL
			}
		}
		return bar
	}
}

// ServeHTTP implements http.Handler. It also removes the path from the Referer header.
func (u *under) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if referer, err := url.Parse(r.Referer()); err == nil && strings.HasPrefix(referer.Path, u.path+"/") {
		r = r.Clone(r.Context())
		referer.Path = strings.TrimPrefix(referer.Path, u.path)
		r.Header.Set("Referer", referer.String())
	}
	page := &underWriter{ResponseWriter: w, under: u}
	u.pages.ServeHTTP(page, r)
	page.end(r.Method == http.MethodHead)
}

// underWriter buffers HTML until it is complete. Other responses, such as files, pass through.
type underWriter struct {
	http.ResponseWriter
	under  *under
	status int  // 0 before WriteHeader
	html   bool // the response is buffered in body
	body   bytes.Buffer
}

// Unwrap returns the underlying writer, for http.ResponseController.
func (w *underWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements http.ResponseWriter. For HTML, end sends the header.
func (w *underWriter) WriteHeader(status int) {
	header := w.Header()
	if location := header.Get("Location"); strings.HasPrefix(location, "/") && !strings.HasPrefix(location, "//") {
		header.Set("Location", w.under.path+location)
	}
	w.html = strings.HasPrefix(header.Get("Content-Type"), "text/html")
	w.status = status
	if !w.html {
		w.ResponseWriter.WriteHeader(status)
	}
}

// Write implements io.Writer.
func (w *underWriter) Write(part []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if w.html {
		return w.body.Write(part)
	}
	return w.ResponseWriter.Write(part)
}

// end writes the buffered HTML. head is whether the request is a HEAD request.
func (w *underWriter) end(head bool) {
	if !w.html {
		return
	}
	body := w.under.prefixer.Replace(w.body.String())
	if head {
		w.Header().Del("Content-Length") // no HTML was written, so its length is unknown
	} else {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.ResponseWriter.WriteHeader(w.status)
	_, _ = w.ResponseWriter.Write([]byte(body)) // the client may be gone
}
