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

// TestInvalidBytes checks that bytes that no text can contain are refused in an address or a form, or are stored as
// they are shown. PostgreSQL accepts neither U+0000 nor invalid UTF-8.
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
		count := 0
		for _, user := range []string{"", "bob", "ada"} {
			b := s.as(user)
			token := b.Get("/login").Hidden("token")
			for _, page := range web.AllRoutes {
				path := strings.ReplaceAll(ids.ReplaceAllString(strings.TrimSuffix(page.Path, "{$}"), "1"), "{name}", url.PathEscape(odd))
				if path == "/logout" || strings.HasSuffix(path, "/password") {
					continue // nothing more can be requested after signing out
				}
				count++
				if page.Method == http.MethodGet {
					if p := b.Get(path + "?" + fields.Encode()); p.StatusCode >= 500 {
						t.Errorf("%q GET %s: %d\n%s", user, path, p.StatusCode, p.Text)
					}
					continue
				}
				for _, action := range []string{odd, "approve", "ban", "title", "delete"} {
					form := make(url.Values)
					for name := range fields {
						form.Set(name, odd)
					}
					form.Set("token", token)
					form.Set("do", action)
					form.Set("days", "1")
					if p := b.Post(path, form); p.StatusCode >= 500 {
						t.Errorf("%q POST %s: %d\n%s", user, path, p.StatusCode, p.Text)
					}
				}
			}
		}
		if count < 250 {
			t.Errorf("only %d pages", count)
		}
	})
}
