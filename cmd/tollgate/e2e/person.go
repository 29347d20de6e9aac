package e2e

import (
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// Person is a browser without script in which somebody goes from an application to the
// authorization server, signs in, and goes back.
type Person struct {
	*http.Client
	t              *testing.T
	mail, password string
}

// NewPerson is one with an account. back is the redirect URI, where the way ends.
func NewPerson(t *testing.T, mail, password, back string) *Person {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &Person{t: t, mail: mail, password: password}
	p.Client = &http.Client{Jar: jar, Timeout: StartLimit, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(r.URL.String(), back) {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	return p
}

var (
	formAction  = regexp.MustCompile(`<form[^>]*method="post"[^>]*action="([^"]*)"|<form[^>]*action="([^"]*)"[^>]*method="post"`)
	formInput   = regexp.MustCompile(`<input[^>]*>`)
	inputMember = regexp.MustCompile(`(name|value|type)="([^"]*)"`)
)

// Page reads what came: the end of the way, or a page with its form.
func (p *Person) Page(response *http.Response, err error) (end *url.URL, at *url.URL, form url.Values, text string) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		p.t.Fatal(err)
	}
	if location, err := response.Location(); err == nil {
		return location, nil, nil, ""
	}
	text, form = string(body), make(url.Values)
	at = response.Request.URL
	if action := formAction.FindStringSubmatch(text); action != nil {
		if at, err = at.Parse(html.UnescapeString(action[1] + action[2])); err != nil {
			p.t.Fatal(err)
		}
	}
	for _, input := range formInput.FindAllString(text, -1) {
		member := make(map[string]string)
		for _, m := range inputMember.FindAllStringSubmatch(input, -1) {
			member[m[1]] = html.UnescapeString(m[2])
		}
		if member["name"] != "" {
			form.Add(member["name"], member["value"])
		}
	}
	return nil, at, form, text
}

// Approve goes the whole way from an authorization request: sign in, allow. It returns
// where it ends, which has a code.
func (p *Person) Approve(authorize string) *url.URL {
	p.t.Helper()
	end, at, form, text := p.Page(p.Get(authorize)) //nolint:noctx // Page does
	for range 3 {
		if end != nil {
			break
		}
		switch {
		case form.Has("password"):
			form.Set("email", p.mail)
			form.Set("password", p.password)
		case form.Has("scopes"):
			form.Set("action", "allow")
		default:
			p.t.Fatalf("a page that nobody expects:\n%s", text)
		}
		end, at, form, text = p.Page(p.PostForm(at.String(), form)) //nolint:noctx // Page does
	}
	if end == nil || end.Query().Get("code") == "" {
		p.t.Fatalf("the way ends at %v:\n%s", end, text)
	}
	return end
}
