// Package pagestest uses pages in tests like a browser without scripts: it keeps the cookies of one person, sends the
// forms of the pages, and checks their content.
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

// Browser is the browser of one person.
type Browser struct {
	T testing.TB
	// URL is the URL of the site, without a slash at its end.
	URL string
	// Always are headers that are sent with each request.
	Always http.Header
	Client *http.Client
}

// connections keeps as many idle connections as browsers do, more than the default transport. With the default,
// connections would be closed and opened again and again when several browsers send requests at the same time.
var connections = func() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 16
	return t
}()

// New opens a browser for a site. If follows is set the browser follows redirects within the site.
func New(t testing.TB, site string, follows bool) *Browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &Browser{T: t, URL: site, Always: make(http.Header), Client: &http.Client{
		Transport: connections, Jar: jar,
		CheckRedirect: func(r *http.Request, _ []*http.Request) error {
			if follows && r.URL.Scheme+"://"+r.URL.Host == site {
				return nil
			}
			return http.ErrUseLastResponse
		},
	}}
}

// In returns the same browser for the subtest t.
func (b *Browser) In(t testing.TB) *Browser {
	part := *b
	part.T = t
	return &part
}

// Page is the answer to a request, with its body in Text.
type Page struct {
	*http.Response
	*Browser
	Text string
}

// Get opens a path of the site, or a URL that begins with the site's.
func (b *Browser) Get(path string) *Page {
	b.T.Helper()
	return b.Do(http.MethodGet, path, "")
}

// Post sends a form with fields to a path. header is as for Do.
func (b *Browser) Post(path string, fields url.Values, header ...string) *Page {
	b.T.Helper()
	return b.Do(http.MethodPost, path, fields.Encode(), header...)
}

// Do sends a request. header contains the name of each header, followed by its value. A posted body is sent as a form
// unless header has another content type.
func (b *Browser) Do(method, path, body string, header ...string) *Page {
	b.T.Helper()
	r, err := http.NewRequestWithContext(b.T.Context(), method, b.URL+strings.TrimPrefix(path, b.URL),
		strings.NewReader(body))
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

// Ask sends a request with the browser's cookies and otherwise unchanged.
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

// Where returns the path of the page, with its query.
func (p *Page) Where() string { return p.Request.URL.RequestURI() }

var (
	hidden = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)"`)
	ticked = regexp.MustCompile(`<input type="checkbox" name="([^"]*)" value="([^"]*)" checked`)
)

// Fields returns the fields that the forms of the page would send unchanged: the hidden fields and the ticked boxes.
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

// Hidden returns the first hidden field with a name, or "".
func (p *Page) Hidden(name string) string {
	for _, field := range hidden.FindAllStringSubmatch(p.Text, -1) {
		if field[1] == name {
			return html.UnescapeString(field[2])
		}
	}
	return ""
}

// Send sends a form with the token of the page. fields contains the name of each field, followed by its value.
func (p *Page) Send(path string, fields ...string) *Page {
	p.T.Helper()
	values := url.Values{"token": {p.Hidden("token")}}
	for i := 0; i+1 < len(fields); i += 2 {
		values.Add(fields[i], fields[i+1])
	}
	return p.Post(path, values)
}

// Want checks the status, and that the page contains texts.
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

// Lacks checks that the page does not contain texts.
func (p *Page) Lacks(texts ...string) *Page {
	p.T.Helper()
	for _, text := range texts {
		if strings.Contains(p.Text, text) {
			p.T.Errorf("%s has %q:\n%s", p.Where(), text, p.Text)
		}
	}
	return p
}

// Leads checks that the page redirects to a URL with the prefix, and returns the URL.
func (p *Page) Leads(prefix string) string {
	p.T.Helper()
	location := p.Header.Get("Location")
	if p.StatusCode != http.StatusFound && p.StatusCode != http.StatusSeeOther || !strings.HasPrefix(location, prefix) {
		p.T.Fatalf("%s: %d leads to %q, want %s: %s", p.Where(), p.StatusCode, location, prefix, p.Text)
	}
	return location
}
