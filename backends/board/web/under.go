package web

import (
	"bytes"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/look"
)

// addresses are the attributes of HTML that hold addresses.
var addresses = []string{"href", "src", "action", "formaction", "data-names"}

// under serves pages under a path of a host, such as /forum, which has been taken from the requests. The pages, and the
// texts of posts, have addresses as at the root of a host. Where such an address is written, in a Location header or in
// an attribute of HTML, under puts the path before it.
type under struct {
	path  string
	pages http.Handler
	put   *strings.Replacer
}

// newUnder returns a handler that serves pages under a path without a slash at the end.
func newUnder(path string, pages http.Handler) *under {
	pairs := make([]string, 0, 4*len(addresses))
	for _, name := range addresses {
		begin := " " + name + `="/`
		pairs = append(pairs, begin+"/", begin+"/", begin, " "+name+`="`+path+"/") // "//" begins the name of a host
	}
	return &under{path, pages, strings.NewReplacer(pairs...)}
}

// bar returns a bar for the pages. Addresses on the same host, which other services have, get the name of the host, so
// that they do not get the path.
func (u *under) bar(of func(*http.Request) look.Bar) func(*http.Request) look.Bar {
	if of == nil {
		return nil
	}
	return func(r *http.Request) look.Bar {
		bar := of(r)
		for i, s := range bar.Services {
			if strings.HasPrefix(s.URL, "/") && !strings.HasPrefix(s.URL, "//") {
				bar.Services[i].URL = "//" + r.Host + s.URL
			}
		}
		return bar
	}
}

func (u *under) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if from, err := url.Parse(r.Referer()); err == nil && strings.HasPrefix(from.Path, u.path+"/") {
		r = r.Clone(r.Context())
		from.Path = strings.TrimPrefix(from.Path, u.path)
		r.Header.Set("Referer", from.String())
	}
	page := &underWriter{ResponseWriter: w, under: u}
	u.pages.ServeHTTP(page, r)
	page.end(r.Method == http.MethodHead)
}

// underWriter holds back HTML until it is complete. Everything else, such as files, passes through.
type underWriter struct {
	http.ResponseWriter
	under  *under
	status int
	html   bool
	body   bytes.Buffer
}

// Unwrap returns the writer behind it, for http.ResponseController.
func (w *underWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *underWriter) WriteHeader(status int) {
	header := w.Header()
	if to := header.Get("Location"); strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "//") {
		header.Set("Location", w.under.path+to)
	}
	w.html = strings.HasPrefix(header.Get("Content-Type"), "text/html")
	if w.status = status; !w.html {
		w.ResponseWriter.WriteHeader(status)
	}
}

func (w *underWriter) Write(part []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if w.html {
		return w.body.Write(part)
	}
	return w.ResponseWriter.Write(part)
}

// end writes the HTML.
func (w *underWriter) end(head bool) {
	if !w.html {
		return
	}
	body := w.under.put.Replace(w.body.String())
	if head {
		w.Header().Del("Content-Length") // nothing was written that could be counted
	} else {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.ResponseWriter.WriteHeader(w.status)
	_, _ = w.ResponseWriter.Write([]byte(body)) // the client may be gone
}
