package web_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/web"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestInvalidBytes checks that bytes which no text has, in an address or a form, are refused, or stored in the way in
// which they are shown. PostgreSQL accepts neither U+0000 nor invalid UTF-8.
func TestInvalidBytes(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		const odd = "a\x00@\xff.png"
		fields := make(url.Values)
		for name := range strings.FieldsSeq("action actor after answer answers author back bio color current date days description do edit email group label" +
			" link_url message name next note once password pattern post q reason replacement scope secret state stamp text timeZone title token topics type url user username version which") {
			fields.Set(name, odd)
		}
		ids := regexp.MustCompile(`\{[a-zA-Z]+Id\}`)
		asked := 0
		for _, as := range []string{"", "bob", "ada"} {
			b := s.as(as)
			token := b.Get("/login").Hidden("token")
			for _, page := range web.AllRoutes {
				path := strings.ReplaceAll(ids.ReplaceAllString(strings.TrimSuffix(page.Path, "{$}"), "1"), "{name}", url.PathEscape(odd))
				if path == "/logout" || strings.HasSuffix(path, "/password") {
					continue // nothing more can be requested after signing out
				}
				asked++
				if page.Method == http.MethodGet {
					if p := b.Get(path + "?" + fields.Encode()); p.StatusCode >= 500 {
						t.Errorf("%q GET %s: %d\n%s", as, path, p.StatusCode, p.Text)
					}
					continue
				}
				for _, do := range []string{odd, "approve", "ban", "title", "delete"} {
					form := make(url.Values)
					for name := range fields {
						form.Set(name, odd)
					}
					form.Set("token", token)
					form.Set("do", do)
					form.Set("days", "1")
					if p := b.Post(path, form); p.StatusCode >= 500 {
						t.Errorf("%q POST %s: %d\n%s", as, path, p.StatusCode, p.Text)
					}
				}
			}
		}
		if asked < 250 {
			t.Errorf("only %d pages", asked)
		}
	})
}
