// Package pagestest uses pages in tests as a browser without script does: it keeps the
// cookies of one person, sends the forms of what is shown, and checks what is there.
package pagestest

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

// Browser is that of one person.
type Browser struct {
	T testing.TB
	// URL is the site, without a slash at its end.
	URL string
	// Always are headers that go with each request.
	Always http.Header
	Client *http.Client
}

// connections are kept as browsers keep them: people who ask at the same time would have
// the default ones closed, and opened for each request.
var connections = func() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 16
	return t
}()

// New opens a browser. One that follows goes where an answer leads, as long as that is on
// the site.
func New(t testing.TB, site string, follows bool) *Browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &Browser{T: t, URL: site, Always: make(http.Header), Client: &http.Client{Transport: connections, Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if follows && r.URL.Scheme+"://"+r.URL.Host == site {
			return nil
		}
		return http.ErrUseLastResponse
	}}}
}

// In is the same browser in a part of the test.
func (b *Browser) In(t testing.TB) *Browser {
	part := *b
	part.T = t
	return &part
}

// Page is what a request was answered by; its body is read.
type Page struct {
	*http.Response
	*Browser
	Text string
}

// Get opens a path of the site, or an address that begins with the site's.
func (b *Browser) Get(path string) *Page {
	b.T.Helper()
	return b.Do(http.MethodGet, path, "")
}

// Post sends a form.
func (b *Browser) Post(path string, fields url.Values, header ...string) *Page {
	b.T.Helper()
	return b.Do(http.MethodPost, path, fields.Encode(), header...)
}

// Do sends a request; header are names and values. What is posted is a form where they say
// nothing else.
func (b *Browser) Do(method, path, body string, header ...string) *Page {
	b.T.Helper()
	r, err := http.NewRequestWithContext(b.T.Context(), method, b.URL+strings.TrimPrefix(path, b.URL), strings.NewReader(body))
	if err != nil {
		b.T.Fatal(err)
	}
	r.Header = b.Always.Clone()
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return b.Ask(r)
}

// Ask sends a request as it is, with the cookies.
func (b *Browser) Ask(r *http.Request) *Page {
	b.T.Helper()
	response, err := b.Client.Do(r)
	if err != nil {
		b.T.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		b.T.Fatal(err)
	}
	return &Page{response, b, string(text)}
}

// Where is the path of the page, with its query.
func (p *Page) Where() string { return p.Request.URL.RequestURI() }

var (
	hidden = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)"`)
	ticked = regexp.MustCompile(`<input type="checkbox" name="([^"]*)" value="([^"]*)" checked`)
)

// Fields are what the forms of the page send when nobody changes anything: its hidden
// fields, and the boxes that are ticked.
func (p *Page) Fields() url.Values {
	v := make(url.Values)
	for _, field := range hidden.FindAllStringSubmatch(p.Text, -1) {
		v.Set(field[1], html.UnescapeString(field[2]))
	}
	for _, field := range ticked.FindAllStringSubmatch(p.Text, -1) {
		v.Add(field[1], html.UnescapeString(field[2]))
	}
	return v
}

// Hidden is the first hidden field of a name; empty: there is none.
func (p *Page) Hidden(name string) string {
	for _, field := range hidden.FindAllStringSubmatch(p.Text, -1) {
		if field[1] == name {
			return html.UnescapeString(field[2])
		}
	}
	return ""
}

// Send sends a form with the token of the page; fields are names and values.
func (p *Page) Send(path string, fields ...string) *Page {
	p.T.Helper()
	values := url.Values{"token": {p.Hidden("token")}}
	for i := 0; i+1 < len(fields); i += 2 {
		values.Add(fields[i], fields[i+1])
	}
	return p.Post(path, values)
}

// Want checks the status, and texts that the page has.
func (p *Page) Want(status int, texts ...string) *Page {
	p.T.Helper()
	if p.StatusCode != status {
		p.T.Fatalf("%s: status %d, want %d:\n%s", p.Where(), p.StatusCode, status, p.Text)
	}
	for _, text := range texts {
		if !strings.Contains(p.Text, text) {
			p.T.Fatalf("%s does not have %q:\n%s", p.Where(), text, p.Text)
		}
	}
	return p
}

// Lacks checks texts that the page must not have.
func (p *Page) Lacks(texts ...string) *Page {
	p.T.Helper()
	for _, text := range texts {
		if strings.Contains(p.Text, text) {
			p.T.Errorf("%s has %q:\n%s", p.Where(), text, p.Text)
		}
	}
	return p
}

// Leads is where the page leads, which begins with prefix.
func (p *Page) Leads(prefix string) string {
	p.T.Helper()
	to := p.Header.Get("Location")
	if p.StatusCode != http.StatusFound && p.StatusCode != http.StatusSeeOther || !strings.HasPrefix(to, prefix) {
		p.T.Fatalf("%s: %d leads to %q, want %s: %s", p.Where(), p.StatusCode, to, prefix, p.Text)
	}
	return to
}
