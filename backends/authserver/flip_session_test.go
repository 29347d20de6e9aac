package authserver_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// page is what a browser is told beside the text.
type page struct {
	status   int
	location string
	cookies  []*http.Cookie
}

// browse sends a request of the browser.
func (f *flipped) browse(r *http.Request) page {
	f.t.Helper()
	response, err := f.people.Do(r)
	if err != nil {
		f.t.Fatal(err)
	}
	defer response.Body.Close()
	return page{response.StatusCode, response.Header.Get("Location"), response.Cookies()}
}

// visit asks for a page.
func (f *flipped) visit(path string) page {
	f.t.Helper()
	r, err := http.NewRequestWithContext(f.t.Context(), http.MethodGet, f.url+path, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	return f.browse(r)
}

// in tells whether the browser is signed in: the login page has no form for it then.
func (f *flipped) in() string {
	f.t.Helper()
	return strconv.FormatBool(f.visit("/login").status == http.StatusFound)
}

// sessionFlips are of the session of a browser, and of its pages.
func sessionFlips(t *testing.T) map[string]flip {
	t.Helper()
	brand := t.TempDir()
	err := os.Mkdir(filepath.Join(brand, "static"), 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(brand, "static", "authserver.css"), []byte("main { color: #a1b2c3 }"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	// cookie is what a member of the cookie of a login is.
	cookie := func(base keys, member func(c *http.Cookie) string) func(t *testing.T, key keys) string {
		return func(t *testing.T, key keys) string {
			t.Helper()
			for _, c := range begin(t, base, key).tries("ann@example.com", right).cookies {
				if strings.Contains(c.Name, "session") {
					return member(c)
				}
			}
			return "no cookie"
		}
	}
	sameSites := map[http.SameSite]string{http.SameSiteLaxMode: "lax", http.SameSiteStrictMode: "strict", http.SameSiteNoneMode: "none"}
	return map[string]flip{
		"session.cookie_name": {nil, "other_session", cookie(nil, func(c *http.Cookie) string { return c.Name }), "authserver_session", "other_session"},
		"session.same_site":   {nil, "strict", cookie(nil, func(c *http.Cookie) string { return sameSites[c.SameSite] }), "lax", "strict"},
		"session.secure":      {nil, true, cookie(nil, func(c *http.Cookie) string { return strconv.FormatBool(c.Secure) }), "false", "true"},
		"session.max_age": {nil, "1h", func(t *testing.T, key keys) string {
			t.Helper()
			f := begin(t, key)
			f.tries("ann@example.com", right)
			f.clock.Pass(2 * time.Hour)
			return f.in()
		}, "true", "false"},
		"session.fail_closed": {nil, false, func(t *testing.T, key keys) string {
			t.Helper()
			f := begin(t, key)
			f.tries("ann@example.com", right)
			if err := f.db.Close(); err != nil {
				t.Fatal(err)
			}
			return f.in()
		}, "false", "true"},
		"session.second_factor": {nil, "required", func(t *testing.T, key keys) string {
			t.Helper()
			f := begin(t, key)
			f.tries("ann@example.com", right)
			_, query, _ := strings.Cut(f.app().AuthCodeURL("s"), "?")
			consent := f.visit("/oauth/authorize?" + query + "&code_challenge_method=S256&code_challenge=" + strings.Repeat("c", 43)).location
			to, _, _ := strings.Cut(f.visit(consent).location, "?")
			return "leads to " + to
		}, "leads to ", "leads to /security"},
		// A session is known to another process by the secret that they share.
		"session.secret": {nil, "0123456789abcdef0123456789abcdef", func(t *testing.T, key keys) string {
			t.Helper()
			first := begin(t, key)
			first.tries("ann@example.com", right)
			second, err := start(t, first.db, key)
			if err != nil {
				t.Fatal(err)
			}
			first.server = second.server // what answers at its address
			return first.in()
		}, "false", "true"},
		"pages.folder": {nil, brand, func(t *testing.T, key keys) string {
			t.Helper()
			return strconv.FormatBool(strings.Contains(begin(t, key).public(http.MethodGet, "/assets/authserver.css", "").Body.String(), "a1b2c3"))
		}, "false", "true"},
	}
}
