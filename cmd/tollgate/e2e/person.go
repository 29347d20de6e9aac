package e2e

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/pages/pagestest"
)

// Person is a user with a browser without scripts. The user goes from an application to the authorization server, signs
// in, and returns.
type Person struct {
	*http.Client
	t              *testing.T
	mail, password string
}

// NewPerson returns a person with an account. The person's browser stops at redirectURI.
func NewPerson(t *testing.T, mail, password, redirectURI string) *Person {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &Person{t: t, mail: mail, password: password}
	p.Client = &http.Client{Jar: jar, Timeout: StartLimit, CheckRedirect: func(
		r *http.Request, _ []*http.Request,
	) error {
		if strings.HasPrefix(r.URL.String(), redirectURI) {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	return p
}

// Browser returns the person's browser for a site.
func (p *Person) Browser(site string) *pagestest.Browser {
	return &pagestest.Browser{T: p.t, URL: site, Always: make(http.Header), Client: p.Client}
}

// Approve follows an authorization request, signs in and consents. It returns the redirect URL with the code, at which
// the browser stops.
func (p *Person) Approve(authorize string) *url.URL {
	p.t.Helper()
	start, err := url.Parse(authorize)
	if err != nil {
		p.t.Fatal(err)
	}
	b := p.Browser(start.Scheme + "://" + start.Host)
	page := b.Get(authorize)
	for page.StatusCode == http.StatusOK {
		fields := page.Fields()
		switch path := page.Request.URL.Path; {
		case strings.HasSuffix(path, "/login"):
			fields.Set("email", p.mail)
			fields.Set("password", p.password)
			page = b.Post(path, fields)
		case strings.HasSuffix(path, "/consent"):
			fields.Set("action", "allow")
			page = b.Post(path, fields)
		default:
			p.t.Fatalf("unexpected page %s:\n%s", path, page.Text)
		}
	}
	end, err := page.Location()
	if err != nil || end.Query().Get("code") == "" {
		p.t.Fatalf("the redirects end with status %d and location %v, want a location with a code:\n%s", page.StatusCode, end, page.Text)
	}
	return end
}
