package cms

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/cms/content"
	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

const (
	// sitemapsAtOnce limits how many sitemaps are written at the same time: each reads up to 50,000 pages.
	sitemapsAtOnce = 2
	// maxSegments limits the depth of a path that is looked up among the previous paths of pages, because each level
	// costs a query.
	maxSegments = 32
)

// ServeSite serves paths outside of the endpoint, if the settings enable this: the sitemap, and redirects from the
// previous paths of pages to their current paths. It reports whether it has answered the request. If it has not, the
// caller passes the request to another handler.
func (s *Server) ServeSite(w http.ResponseWriter, r *http.Request) bool {
	current := s.settings.Current()
	if current.SiteURL == "" && !current.Redirects || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	if part, ok := sitemapPart(r.URL.Path); ok && current.SiteURL != "" {
		s.sitemap(w, r, current.SiteURL, part)
		return true
	}
	return current.Redirects && s.redirect(w, r)
}

// sitemapPart returns the number of the sitemap's part at a path, beginning with 1, or 0 for the path of the entire
// sitemap. ok is false for any other path.
func sitemapPart(path string) (part int, ok bool) {
	name, ok := strings.CutPrefix(path, "/sitemap")
	if !ok {
		return 0, false
	}
	if name == ".xml" {
		return 0, true
	}
	digits, dash := strings.CutPrefix(strings.TrimSuffix(name, ".xml"), "-")
	part, err := strconv.Atoi(digits)
	return part, dash && err == nil && part > 0 && "-"+strconv.Itoa(part)+".xml" == name
}

// sitemap answers with one part of the sitemap. part is the result of sitemapPart. For part 0, sitemap writes the
// entire sitemap, or an index if the sitemap has several parts. base is the address of the site.
func (s *Server) sitemap(w http.ResponseWriter, r *http.Request, base string, part int) {
	select {
	case s.sitemaps <- struct{}{}:
		defer func() { <-s.sitemaps }()
	default:
		w.Header().Set("Retry-After", "1")
		http.Error(w, "busy, try again", http.StatusServiceUnavailable)
		return
	}
	out := &countingWriter{Writer: w}
	parts, err := s.content.SitemapParts(r.Context())
	if err == nil && part > parts {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/xml; charset=utf-8")
	rest.NoSniff(w.Header())
	w.Header().Set("Cache-Control", "public, max-age=300")
	switch {
	case err != nil || r.Method == http.MethodHead: // an error is handled below; HEAD has no body
	case part == 0 && parts > 1:
		err = content.SitemapIndex(parts, func(part int) string {
			return strings.TrimSuffix(base, "/") + "/sitemap-" + strconv.Itoa(part+1) + ".xml"
		}, out)
	default: // s.content numbers the parts from 0
		err = s.content.Sitemap(r.Context(), base, max(part-1, 0), out)
	}
	if err == nil || r.Context().Err() != nil {
		return
	}
	s.Logger().Error("sitemap not written", zap.Error(err))
	if out.n > 0 {
		panic(http.ErrAbortHandler) // aborts the connection, so that the client detects the incomplete answer
	}
	w.Header().Del("Cache-Control")
	http.Error(w, "the sitemap is not available at the moment", http.StatusServiceUnavailable)
}

// countingWriter counts the written bytes.
type countingWriter struct {
	io.Writer
	n int
}

// Write implements io.Writer.
func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.n += n
	return n, err
}

// redirect redirects the previous path of a page to its current path, if guests may see the page. It reports whether it
// has answered the request. The answer must not be cached, because another page may be created at the previous path.
func (s *Server) redirect(w http.ResponseWriter, r *http.Request) bool {
	if strings.Count(r.URL.Path, "/") > maxSegments {
		return false
	}
	guest, err := s.accounts.Guest(r.Context())
	var location string
	if err == nil {
		location, err = s.content.Moved(r.Context(), guest, r.URL.Path)
	}
	if err != nil {
		clientGone := errors.Is(err, r.Context().Err())
		if !kernel.IsNotFound(err) && !clientGone {
			s.Logger().Warn("redirects of moved pages cannot be read", zap.Error(err))
		}
		return false
	}
	if _, err := s.content.At(r.Context(), guest, r.URL.Path); err == nil { // another page has the path now
		return false
	}
	if r.URL.RawQuery != "" {
		location += "?" + r.URL.RawQuery
	}
	rest.NoSniff(w.Header())
	w.Header().Set("Location", location)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusMovedPermanently)
	return true
}
