package pages

import (
	"bytes"
	"cmp"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"testing/iotest"
	"time"
	"unicode/utf8"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/inbound/inboundtest"
	"github.com/tollgate-gateway/tollgate/internal/look"
	"github.com/tollgate-gateway/tollgate/internal/origin"
	"github.com/tollgate-gateway/tollgate/internal/rest"
	"github.com/tollgate-gateway/tollgate/internal/signed"
)

// A shop is the smallest service: an index, a thing that members change, a file, and
// a page that breaks.

var shopFiles = fstest.MapFS{
	"static/shop.css":  {Data: []byte(".thing { color: red; }")},
	"static/extra.css": {Data: []byte("p {}")},
	"templates/parts.html": {Data: []byte(`{{define "head"}}<meta name="who" content="{{.Site.User}}">
{{end}}{{define "home"}}To the shop{{end}}{{define "one"}}<li>{{.Data}} of {{.Site.User}}</li>{{end}}`)},
	"templates/index.html": {Data: []byte(`{{define "main"}}<h1>Things</h1><ul>{{range .Data}}{{template "one" ($.With .)}}{{end}}</ul>` +
		`<link href="{{.At (asset "extra.css")}}">{{template "more" link "/?after=2" "Older"}}{{end}}`)},
	"templates/thing.html": {Data: []byte(`{{define "main"}}<h1>{{.Title}}</h1>{{template "problems" .}}` +
		`<form method="post" action="{{.At "/things/7"}}">{{template "token" .}}<input type="hidden" name="once" value="{{.Once}}">{{template "version" .Data}}` +
		`<input id="title" name="title" value="{{.Data.Title}}" {{.Invalid "title"}}>{{template "note" .Note "title"}}` +
		`<select name="kind">{{template "options" .Data.Kinds}}</select></form>{{template "diff" .Data.Changes}}{{$.When .Data.At}}{{end}}`)},
	"templates/broken.html": {Data: []byte(`{{define "main"}}before {{.Data.None}}{{end}}`)},
}

type thing struct {
	Edit
	Title   string
	Kinds   Select
	Changes []Change
	At      int64
}

type shop struct {
	*Call
	service *shopService
	user    string
}

type shopService struct {
	down  error
	title string
	files []string
}

// testSite is a shop and the way to request its pages.
type testSite struct {
	t       *testing.T
	service *shopService
	handler http.Handler
	logs    *observer.ObservedLogs
	hidden  []string
}

func newSite(t *testing.T, mount, base string, set ...func(*Options[*shop])) *testSite {
	t.Helper()
	core, logs := observer.New(zap.WarnLevel)
	s := &testSite{t: t, service: &shopService{title: "A thing"}, logs: logs}
	everybody := func(*shop) error { return nil }
	table := []Page[*shop]{
		{Method: http.MethodGet, Path: "/{$}", Admit: everybody, Serve: func(c *shop) error { return c.Show("index", "", []string{"<b>first</b>", "second"}) }},
		{Method: http.MethodGet, Path: "/things/{thingId}", Serve: (*shop).thing},
		{Method: http.MethodPost, Path: "/things/{thingId}", Serve: (*shop).save},
		{Method: http.MethodPost, Path: "/files", Serve: (*shop).upload, Upload: 4 * MaxForm},
		{Method: http.MethodGet, Path: "/login", Admit: everybody, Serve: func(c *shop) error {
			return c.Show("thing", "Sign in", thing{Title: Local(c.Query.Text("next"))})
		}},
		{Method: http.MethodPost, Path: "/login", Admit: everybody, Serve: func(c *shop) error {
			c.SignIn("ada", time.Hour)
			return c.Redirect("/", "Welcome, <ada>.")
		}},
		{Method: http.MethodPost, Path: "/logout", Serve: func(c *shop) error {
			c.SignOut()
			return c.Redirect("/", "")
		}},
		{Method: http.MethodGet, Path: "/settings", Admit: func(c *shop) error { return c.ToConfirm("/confirm") }, Serve: (*shop).thing},
		{Method: http.MethodPost, Path: "/settings", Admit: func(c *shop) error { return c.ToConfirm("/confirm") }, Serve: (*shop).thing},
		{Method: http.MethodGet, Path: "/secret", Secret: true, Admit: everybody, Serve: func(c *shop) error { return c.Show("index", "", nil) }},
		{Method: http.MethodGet, Path: "/feed", Public: true, Admit: everybody, Serve: func(c *shop) error { return c.Show("index", "", []string{c.user}) }},
		{Method: http.MethodPost, Path: "/proof", NoToken: true, Admit: everybody, Serve: func(c *shop) error {
			if c.Form.Has("x") {
				return NotFound()
			}
			if err := c.ReadForm(); err != nil {
				return err
			}
			return c.Show("index", "", []string{c.Form.Text("x")})
		}},
		{Method: http.MethodGet, Path: "/consent", Admit: everybody, Serve: func(c *shop) error {
			c.AllowForms("https://client.example")
			c.AllowImages("https:")
			return c.Show("index", "", nil)
		}},
		{Method: http.MethodGet, Path: "/forms", Admit: everybody, Serve: func(c *shop) error {
			c.AllowForms(c.Query.Text("to"))
			return c.Show("index", "", nil)
		}},
		{Method: http.MethodGet, Path: "/hidden", Secret: true, Serve: func(c *shop) error { return c.Show("index", "", nil) }},
		{Method: http.MethodGet, Path: "/broken", Admit: everybody, Serve: func(c *shop) error { return c.Show("broken", "", 7) }},
		{Method: http.MethodGet, Path: "/unknown", Admit: everybody, Serve: func(c *shop) error { return c.Show("nothing", "", nil) }},
	}
	options := Options[*shop]{
		Look: NewLook("shop", shopFiles, nil), Table: table, Called: "the shop", Mount: mount, BaseURL: base, Logger: zap.New(core),
		Signer:  func() signed.Signer { return signed.Signer{Key: bytes.Repeat([]byte{7}, 32), Label: "form"} },
		Conceal: func(r *http.Request) { s.hidden = append(s.hidden, r.URL.Path) },
		Begin: func(c *Call) (*shop, error) {
			if s.service.down != nil {
				return nil, s.service.down
			}
			own := &shop{Call: c, service: s.service}
			if c.Session() == "ada" || c.Session() == "eve" {
				c.SignedIn(c.Session())
				own.user = c.Session()
			}
			c.Name, c.Site = "The Shop", map[string]string{"User": own.user}
			return own, nil
		},
		Admit: func(c *shop) error {
			if c.user == "" {
				return c.ToLogin("/login")
			}
			return nil
		},
	}
	for _, set := range set {
		set(&options)
	}
	s.handler = New(options)
	return s
}

func (c *shop) thing() error {
	form := c.form(c.service.title)
	var err error
	form.Edit, err = c.Edit(nil, c.now)
	return c.ShowForm(err, "thing", "Thing", form)
}

// now returns the current version of the thing, and the differences between it and the title in the form.
func (c *shop) now() (string, any, error) {
	title := c.service.title
	if title == "gone" {
		return "", nil, NotFound()
	}
	return rest.ETag([]byte(title)), []struct{ What, From, To string }{{"title", title, c.Form.Text("title")}}, nil
}

func (c *shop) form(title string) *thing {
	t := &thing{Title: title, At: 1_750_000_000_000_000}
	t.Kinds.Add("1", "one", true)
	t.Kinds.Add("2", "two", false)
	return t
}

func (c *shop) save() error {
	if c.ID("thingId") != 7 {
		return NotFound()
	}
	title, kind := c.Form.Text("title"), c.Form.Number("kind")
	if err := c.Form.Err(); err != nil {
		return err
	}
	form := c.form(title)
	refusal := c.Match().Check(rest.ETag([]byte(c.service.title)))
	switch {
	case refusal != nil:
		form.Changes = Diff(c.service.title, title)
	case title == "":
		refusal = &apierror.Error{Status: http.StatusUnprocessableEntity, Message: "no", Details: []apierror.Detail{{Field: "title", Message: "a title is needed"}}}
	case kind == 2:
		refusal = &apierror.Error{Status: http.StatusTooManyRequests, Message: "too many things", RetryAfter: 90 * time.Second}
	}
	if refusal != nil {
		form.Edit, refusal = c.Edit(refusal, c.now)
		return c.ShowForm(refusal, "thing", "Thing", form)
	}
	c.service.title = title
	return c.Redirect("/things/7", "Saved.")
}

func (c *shop) upload() error {
	if !c.Uploads() {
		return c.Redirect("/", "no files")
	}
	form, err := c.ReadFiles(2*MaxForm, nil)
	if err != nil {
		return err
	}
	defer form.RemoveAll() //nolint:errcheck // in the folder of the test
	for _, file := range form.File["file"] {
		c.service.files = append(c.service.files, Valid(file.Filename)+" "+c.Form.Text("title"))
	}
	return c.Redirect("/", "")
}

// browser is an HTTP client that keeps cookies.
type browser struct {
	*testSite
	cookies  map[string]string
	set      []*http.Cookie
	sameSite map[string]http.SameSite // of cookies that are not lax
}

func (s *testSite) browser() *browser {
	return &browser{testSite: s, cookies: make(map[string]string)}
}

type answer struct {
	*browser
	*httptest.ResponseRecorder
}

func (b *browser) do(method, target, body string, header ...string) *answer {
	b.t.Helper()
	r := httptest.NewRequestWithContext(b.t.Context(), method, target, strings.NewReader(body))
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, value := range b.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value}) //nolint:gosec // of a request
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	for _, c := range w.Result().Cookies() {
		if b.cookies[c.Name] = c.Value; c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		}
		if !c.HttpOnly || c.SameSite != cmp.Or(b.sameSite[c.Name], http.SameSiteLaxMode) || c.Path != "/" {
			b.t.Errorf("the cookie %s", c)
		}
		b.set = append(b.set, c)
	}
	return &answer{b, w}
}

func (b *browser) get(target string) *answer { b.t.Helper(); return b.do(http.MethodGet, target, "") }

func (a *answer) want(status int, texts ...string) *answer {
	a.t.Helper()
	if a.Code != status {
		a.t.Fatalf("status %d, want %d:\n%s", a.Code, status, a.Body)
	}
	for _, text := range texts {
		if !strings.Contains(a.Body.String(), text) {
			a.t.Errorf("the page does not have %q:\n%s", text, a.Body)
		}
	}
	return a
}

func (a *answer) lacks(text string) *answer {
	a.t.Helper()
	if strings.Contains(a.Body.String(), text) {
		a.t.Errorf("the page has %q:\n%s", text, a.Body)
	}
	return a
}

func (a *answer) header(name, want string) *answer {
	a.t.Helper()
	if got := a.Header().Get(name); got != want {
		a.t.Errorf("%s is %q, want %q", name, got, want)
	}
	return a
}

// field returns the value of a hidden field, or an empty string if there is none.
func (a *answer) field(name string) string {
	match := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(a.Body.String())
	if match == nil {
		return ""
	}
	return strings.ReplaceAll(match[1], "&#34;", `"`)
}

// send submits the form of a page.
func (a *answer) send(target string, fields ...string) *answer {
	a.t.Helper()
	values := url.Values{"token": {a.field("token")}}
	for i := 0; i+1 < len(fields); i += 2 {
		values.Set(fields[i], fields[i+1])
	}
	return a.do(http.MethodPost, target, values.Encode())
}

// signedIn returns the browser of somebody who has signed in.
func (s *testSite) signedIn(mount string) *browser {
	s.t.Helper()
	b := s.browser()
	b.get(mount+"/login").want(200).send(mount+"/login").want(303).header("Location", mount+"/")
	return b
}

func TestPage(t *testing.T) {
	t.Parallel()
	s := newSite(t, "", "")
	p := s.browser().get("/").want(200, "<!doctype html>", "<title>The Shop</title>", "<li>&lt;b&gt;first&lt;/b&gt; of </li>", `<meta name="who" content="">`,
		`rel="next" href="/?after=2">Older<`, "All times are in UTC")
	p.header("Content-Type", "text/html; charset=utf-8").header("Cache-Control", "no-cache").header("Vary", "Cookie").
		header("X-Content-Type-Options", "nosniff").header("Referrer-Policy", "same-origin").header("Cross-Origin-Opener-Policy", "same-origin").
		header("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	if p.Header().Get("Set-Cookie") != "" {
		t.Error("a page without a form sets a cookie")
	}
	head := s.browser().do(http.MethodHead, "/", "").want(200).header("Content-Length", p.Header().Get("Content-Length"))
	if head.Body.Len() != 0 || p.Body.Len() == 0 {
		t.Errorf("HEAD has %d bytes, GET %d", head.Body.Len(), p.Body.Len())
	}
	s.browser().do(http.MethodPut, "/", "").want(405).header("Allow", "GET, HEAD, POST")
	s.browser().get("/nothing").want(404, "<title>Page not found – The Shop</title>", "There is nothing here that you may see.", `<a href="/">To the shop</a>`)
	s.browser().get("/logout").want(404) // a page that changes something does not accept GET
	s.browser().get("/consent").want(200).header("Content-Security-Policy",
		"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' https:; form-action 'self' https://client.example; frame-ancestors 'none'; base-uri 'none'")
	if len(s.hidden) != 0 {
		t.Errorf("%v are not logged", s.hidden)
	}
	s.browser().get("/secret").want(200).header("Referrer-Policy", "strict-origin")
	if len(s.hidden) != 1 {
		t.Error("a secret address is logged")
	}
}

// TestRules checks that the rule of a page is applied before the page is served, and that the page to which the rule
// redirects leads back.
func TestRules(t *testing.T) {
	t.Parallel()
	s := newSite(t, "", "")
	b := s.browser()
	b.get("/things/7-a-thing?x=1").want(303).header("Location", "/login?next=%2Fthings%2F7-a-thing%3Fx%3D1")
	token := b.get("/login?next=/things/7").want(200, `value="/things/7"`).field("token")
	b.do(http.MethodPost, "/things/7", url.Values{"token": {token}, "title": {"x"}}.Encode()).want(403, "You are signed out.")
	if s.service.title != "A thing" {
		t.Error("a guest changed the thing")
	}
	b = s.signedIn("")
	p := b.get("/things/7").want(200, `<meta name="who" content="ada">`).header("Cache-Control", "private, no-store")
	for _, path := range []string{"/things/x", "/things/0", "/things/+7", "/things/-7", "/things/99999999999999999999"} {
		b.get(path).want(404)
	}
	b.get("/settings?a=b").want(303).header("Location", "/confirm?next=%2Fsettings%3Fa%3Db")
	form := url.Values{"token": {p.field("token")}}.Encode()
	b.do(http.MethodPost, "/settings", form, "Referer", "http://example.com/settings?c=d").want(303).header("Location", "/confirm?next=%2Fsettings%3Fc%3Dd")
	b.do(http.MethodPost, "/settings", form, "Referer", "http://evil.example/settings").want(303).header("Location", "/confirm?next=%2F")
	// A page that is the same for everybody does not look up the user.
	feed := b.get("/feed").want(200, `content=""`)
	if feed.Header().Get("Set-Cookie") != "" {
		t.Error("a public page sets a cookie")
	}
}

// TestForms checks that a form has no effect unless a page made it for this browser.
func TestForms(t *testing.T) {
	t.Parallel()
	s := newSite(t, "", "")
	b := s.signedIn("")
	page := b.get("/things/7").want(200)
	good := page.field("token")
	eve := s.browser()
	eve.cookies["shop_session"] = "eve"
	guest := s.browser()
	form := func(token string) string { return url.Values{"token": {token}, "title": {"changed"}}.Encode() }
	for name, test := range map[string]struct {
		body   string
		header []string
		status int
		target string
	}{
		"no token":              {form(""), nil, 403, ""},
		"wrong token":           {form("x" + good[1:]), nil, 403, ""},
		"token of another":      {form(eve.get("/things/7").field("token")), nil, 403, ""},
		"token of a guest":      {form(guest.get("/login").field("token")), nil, 403, ""},
		"token in the address":  {"title=changed", nil, 403, "?token=" + good},
		"another site":          {form(good), []string{"Origin", "https://evil.example"}, 403, ""},
		"another site, told so": {form(good), []string{"Sec-Fetch-Site", "cross-site"}, 403, ""},
		"plain text":            {form(good), []string{"Content-Type", "text/plain"}, 400, ""},
		"no type":               {form(good), []string{"Content-Type", ""}, 400, ""},
		"files":                 {form(good), []string{"Content-Type", "multipart/form-data; boundary=x"}, 400, ""},
		"not a form":            {"token=%zz", nil, 400, ""},
		"too large":             {form(good) + "&x=" + strings.Repeat("x", MaxForm), nil, 413, ""},
	} {
		p := b.do(http.MethodPost, "/things/7"+test.target, test.body, test.header...)
		if p.Code != test.status {
			t.Errorf("%s: %d, want %d", name, p.Code, test.status)
		}
		if s.service.title != "A thing" {
			t.Fatalf("%s changed the thing", name)
		}
	}
	page.send("/things/7", "title", "changed").want(303).header("Location", "/things/7")
	if s.service.title != "changed" {
		t.Error("a good form changes nothing")
	}
	s.browser().do(http.MethodPost, "/proof", "x=sent", "Origin", "https://evil.example").want(200, "<li>sent of ")
	s.browser().do(http.MethodPost, "/proof", "x=%zz").want(400)

	// The form of a guest is bound to the browser, and valid until somebody signs in.
	p := guest.get("/login").header("Cache-Control", "private, no-store")
	s.browser().do(http.MethodPost, "/login", form(p.field("token"))).want(403)
	secret := guest.cookies["shop_form"]
	p.send("/login").want(303)
	if secret == "" || guest.cookies["shop_form"] != secret || guest.cookies["shop_session"] == "" {
		t.Errorf("the cookies are %v", guest.cookies)
	}
	p.send("/login").want(403)
	guest.get("/things/7").send("/logout").want(303)
	guest.get("/things/7").want(303)
}

// TestFormOfAnotherPerson submits forms that were made in the same browser before somebody signed in, or for another
// person.
func TestFormOfAnotherPerson(t *testing.T) {
	t.Parallel()
	s := newSite(t, "", "", func(o *Options[*shop]) {
		for i := range o.Table {
			if row := &o.Table[i]; row.Method == http.MethodPost && row.Path == "/things/{thingId}" {
				row.Else = func(c *shop) error { return c.Redirect("/else/"+c.Form.Text("title"), "") }
			}
		}
	})
	b := s.signedIn("")
	p := b.get("/things/7").want(200)
	secret := b.cookies["shop_form"]
	p.send("/logout").want(303)
	b.get("/login").want(200).send("/login").want(303)
	if p.send("/things/7", "title", "again").want(303).header("Location", "/things/7"); s.service.title != "again" {
		t.Error("the form is not good after a further sign-in of the same person")
	}
	b.cookies["shop_session"] = "eve"
	p.send("/things/7", "title", "eve").want(303).header("Location", "/else/eve")
	p.send("/logout").want(403)
	delete(b.cookies, "shop_session")
	p.send("/things/7", "title", "guest").want(403) // the rule of the page is checked first
	b.cookies["shop_form"] = "x" + secret[1:]
	p.send("/things/7", "title", "other").want(403)
	delete(b.cookies, "shop_form")
	p.send("/things/7", "title", "other").want(403)
	if s.service.title != "again" {
		t.Errorf("the title is %q", s.service.title)
	}
}

// TestProblems checks that a refused form is shown again with the submitted values and their problems.
func TestProblems(t *testing.T) {
	t.Parallel()
	s := newSite(t, "", "")
	p := s.signedIn("").get("/things/7").want(200, `<option value="1" selected>one</option>`, `value="A thing" >`, `<time datetime="2025-06-15T15:06:40Z" title="Sunday, 15 June 2025, 15:06:40 UTC">15 Jun 2025, 15:06</time>`).lacks("This was not done")
	p.send("/things/7", "title", "").want(422, "Please correct this first:", `<a href="#title">A title is needed.</a>`, `aria-invalid="true" aria-describedby="title-problem"`, `<p class="problem" id="title-problem">A title is needed.</p>`)
	p.send("/things/7", "title", "<x>", "kind", "2").want(429, "<li>Too many things (90 seconds)</li>", `value="&lt;x&gt;"`).header("Retry-After", "90")
	p.send("/things/7", "title", "x", "kind", "-1").want(400, "Kind must be a number.")
	p.send("/things/8", "title", "x").want(404, "Page not found")
	if s.service.title != "A thing" {
		t.Error("a refused form changed the thing")
	}
}

// TestConflictingEdit checks that the second of two people to save sees both versions, and can then overwrite the
// first.
func TestConflictingEdit(t *testing.T) {
	t.Parallel()
	s := newSite(t, "", "")
	p := s.signedIn("").get("/things/7")
	version := p.field("version")
	p.send("/things/7", "title", "first", "version", version).want(303)
	second := p.send("/things/7", "title", "second", "version", version).want(409, "Somebody else has changed this", "<del>first</del>", "<ins>second</ins>",
		"<del>first\n</del><ins>second\n</ins>", `value="second"`)
	if s.service.title != "first" || second.field("version") == version {
		t.Errorf("the title is %s, the version %s", s.service.title, second.field("version"))
	}
	if retry := second.send("/things/7", "title", "", "version", version).want(409); retry.field("version") == version {
		t.Error("the form does not contain the other version")
	}
	s.service.title = "A thing"
	if other := second.send("/things/7", "title", "", "version", version).want(422).lacks("<del>"); other.field("version") != version {
		t.Error("a form loses the version that it was made of")
	}
	s.service.title = "gone"
	second.send("/things/7", "title", "x", "version", version).want(404)
	s.service.title = "first"
	second.send("/things/7", "title", "second", "version", second.field("version")).want(303)
	if s.service.title != "second" {
		t.Error("nothing was saved on top")
	}
}

// TestNotice checks that the result of a form is shown once, on the next page.
func TestNotice(t *testing.T) {
	t.Parallel()
	s := newSite(t, "", "")
	b := s.signedIn("")
	b.get("/feed").want(200).lacks("Welcome")
	b.get("/").want(200, `<p class="notice" role="status">Welcome, &lt;ada&gt;.</p>`)
	b.get("/").want(200).lacks("notice")
	for _, broken := range []string{"%", "AA==", "_w"} {
		b.cookies["shop_notice"] = broken
		b.get("/").want(200).lacks("notice")
	}
}

// TestLongNotice checks that a notice that is cut is shown, in any script.
func TestLongNotice(t *testing.T) {
	t.Parallel()
	for n := range 4 {
		notice := strings.Repeat("x", n) + strings.Repeat("файл", 100)
		if cut := short(notice); !utf8.ValidString(cut) || len(cut) > maxNotice || len(cut) < maxNotice-8 || !strings.HasSuffix(cut, "…") {
			t.Errorf("%d: %d bytes, %q", n, len(cut), cut)
		}
	}
	if short("Saved.") != "Saved." {
		t.Error("a short notice is cut")
	}
}

// TestFaults checks that errors are pages too, and reveal nothing internal.
func TestFaults(t *testing.T) {
	t.Parallel()
	s := newSite(t, "", "")
	s.browser().get("/broken").want(500, "Something went wrong").lacks("before")
	s.browser().get("/unknown").want(500, "Something went wrong")
	if s.logs.Len() != 2 {
		t.Errorf("%d lines are logged", s.logs.Len())
	}
	s.service.down = apierror.Unavailable("the shop", io.ErrUnexpectedEOF)
	p := s.browser().get("/things/7").want(503, "<h1>Not available right now</h1>", "The shop is not available right now, try again shortly.", "Try again in 1 second.", "To the shop").
		header("Retry-After", "1").header("Content-Type", "text/html; charset=utf-8").lacks("EOF")
	if policy := p.Header().Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'") {
		t.Errorf("the policy is %q", policy)
	}
	s.browser().get("/assets/shop.css").want(200) // for the error page
	s.service.down = io.ErrUnexpectedEOF
	s.browser().get("/").want(500, "Something went wrong").lacks("EOF")
}

// TestMount checks that all addresses are below the mount, and that cookies are marked on https.
func TestMount(t *testing.T) {
	t.Parallel()
	s := newSite(t, "/shop", "https://example.com/")
	b := s.signedIn("/shop")
	if b.cookies["__Host-shop_session"] == "" {
		t.Errorf("the cookies are %v", b.cookies)
	}
	p := b.get("/shop/").want(200, `href="/shop/assets/shop.css?v=`, `<a class="brand" href="/shop/"><img src="/shop/assets/logo.svg?v=`, `<span>The Shop</span></a>`, `<link href="/shop/assets/extra.css?v=`)
	b.get(regexp.MustCompile(`href="([^"]*extra[^"]*)"`).FindStringSubmatch(p.Body.String())[1]).want(200, "p {}").header("Cache-Control", "public, max-age=31536000, immutable")
	b.get("/shop/assets/extra.css?v=0").want(200).header("Cache-Control", "no-cache")
	b.get("/shop/assets/shop.css").want(200, ".thing { color: red; }").header("Content-Type", "text/css; charset=utf-8")
	b.get("/shop/assets/look.css").want(200, "color-scheme: light dark").header("Content-Type", "text/css; charset=utf-8")
	b.get("/shop/assets/nothing").want(404, "<title>Page not found")
	b.get("/").want(404)
	s.browser().get("/shop/things/7?x=1").want(303).header("Location", "/shop/login?next=%2Fthings%2F7%3Fx%3D1")
	token := b.get("/shop/things/7").want(200, `action="/shop/things/7"`).field("token")
	b.do(http.MethodPost, "/shop/settings", "token="+url.QueryEscape(token), "Referer", "http://example.com/shop/settings").want(303).header("Location", "/shop/confirm?next=%2Fsettings")
	b.do(http.MethodPost, "/shop/settings", "token="+url.QueryEscape(token), "Referer", "https://elsewhere.example/shop/settings").want(303).header("Location", "/shop/confirm?next=%2F")
	b.do(http.MethodPost, "/shop/settings", "token="+url.QueryEscape(token), "Referer", "http://example.com/blog").want(303).header("Location", "/shop/confirm?next=%2F")
	// No redirect leads back to an address that holds a secret, since the address of the login page would contain it.
	s.browser().get("/shop/hidden?token=x").want(303).header("Location", "/shop/login?next=%2F")
	s.service.down = io.EOF
	b.get("/shop/").want(500, `href="/shop/assets/shop.css?v=`, `<a href="/shop/">To the shop</a>`)
}

// TestBar checks that pages and error pages have the menu of services and the brand of the operator, and that the files
// of the brand are served.
func TestBar(t *testing.T) {
	t.Parallel()
	brand := &look.Brand{Name: "Acme", Accent: "#7a1f5c", Footer: "Run by <Acme>.", Logo: []byte("<svg xmlns=\"http://www.w3.org/2000/svg\"/>"), CSS: []byte("h1 { color: plum; }")}
	s := newSite(t, "/shop", "", func(o *Options[*shop]) {
		o.Bar = func(r *http.Request) look.Bar {
			return look.Bar{Brand: brand, Current: "shop", Services: []look.Service{{Name: "shop", Title: "Shop", URL: "/shop/"}, {Name: "board", Title: "Forum & more", URL: "https://forum.example/"}}}
		}
	})
	b := s.browser()
	common := []string{
		`<link rel="stylesheet" href="/shop/assets/brand.css?v=`, `<link rel="icon" href="/shop/assets/brand.svg?v=`, `<img src="/shop/assets/brand.svg?v=`, "<p>Run by &lt;Acme&gt;.</p>",
		`<li><a href="/shop/" aria-current="true">Shop</a></li>`, `<li><a href="https://forum.example/">Forum &amp; more</a></li>`,
	}
	p := b.get("/shop/").want(200, append(common, "<title>The Shop</title>")...)
	s.service.down = io.EOF
	b.get("/shop/").want(500, append(common, "<title>Something went wrong – Acme</title>")...)
	for _, match := range regexp.MustCompile(`(?:href|src)="(/shop/assets/[^"#]*)`).FindAllStringSubmatch(p.Body.String(), -1) {
		if b.get(match[1]).want(200).Body.Len() == 0 {
			t.Errorf("%s is empty", match[1])
		}
	}
	b.get("/shop/assets/brand.css").want(200, "--accent: #7a1f5c", "h1 { color: plum; }").header("Content-Type", "text/css; charset=utf-8")
	b.get("/shop/assets/brand.svg").want(200).header("Content-Security-Policy", "default-src 'none'; sandbox").header("Content-Type", "image/svg+xml")
	s.service.down = nil
	b.get("/shop/assets/brand.png").want(404)
}

// TestConfiguredNames checks that configured names of cookies, fields and parameters, as a contract requires them,
// replace the defaults.
func TestConfiguredNames(t *testing.T) {
	t.Parallel()
	s := newSite(t, "", "https://id.example.com", func(o *Options[*shop]) {
		o.SessionCookie, o.TokenField, o.Back = "sid", "csrf_token", "redirect"
	})
	b := s.browser()
	b.get("/things/7").want(303).header("Location", "/login?redirect=%2Fthings%2F7")
	p := b.get("/login").want(200)
	b.do(http.MethodPost, "/login", url.Values{"token": {p.field("csrf_token")}}.Encode()).want(403)
	b.do(http.MethodPost, "/login", url.Values{"csrf_token": {p.field("csrf_token")}}.Encode()).want(303)
	if b.cookies["sid"] != "ada" {
		t.Errorf("the cookies are %v", b.cookies)
	}
	b.get("/things/7").want(200)
}

// TestCookies checks that an operator's settings for cookies are applied, and that no cookie is sent that a browser
// would not accept.
func TestCookies(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		base      string
		set       func(*Options[*shop])
		session   string
		sameSite  http.SameSite
		signed    bool // the cookie of the session is Secure
		others    bool // the other cookies are Secure
		formNamed string
	}{
		"http":  {"http://id.example.com", func(*Options[*shop]) {}, "shop_session", http.SameSiteLaxMode, false, false, "shop_form"},
		"https": {"https://id.example.com", func(*Options[*shop]) {}, "__Host-shop_session", http.SameSiteLaxMode, true, true, "__Host-shop_form"},
		"strict, not secure": {"https://id.example.com", func(o *Options[*shop]) {
			o.SessionCookie, o.SameSite, o.Secure = "sid", http.SameSiteStrictMode, new(false)
		}, "sid", http.SameSiteStrictMode, false, false, "shop_form"},
		"secure behind http": {"http://id.example.com", func(o *Options[*shop]) { o.Secure = new(true) }, "__Host-shop_session", http.SameSiteLaxMode, true, true, "__Host-shop_form"},
		"none, not secure": {"http://localhost", func(o *Options[*shop]) {
			o.SameSite, o.Secure = http.SameSiteNoneMode, new(false)
		}, "__Host-shop_session", http.SameSiteNoneMode, true, false, "shop_form"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newSite(t, "", test.base, test.set).browser()
			b.sameSite = map[string]http.SameSite{test.session: test.sameSite}
			p := b.get("/login").want(200)
			if b.cookies[test.formNamed] == "" {
				t.Errorf("the cookies are %v", b.cookies)
			}
			p.send("/login").want(303)
			if b.cookies[test.session] != "ada" {
				t.Errorf("the cookies are %v", b.cookies)
			}
			b.get("/things/7").want(200).send("/logout").want(303)
			if b.cookies[test.session] != "" || len(b.cookies) != 1 {
				t.Errorf("the cookies are %v", b.cookies)
			}
			for _, c := range b.set {
				want := test.others
				if c.Name == test.session {
					want = test.signed
				}
				if c.Secure != want {
					t.Errorf("the cookie %s", c)
				}
			}
		})
	}
}

// TestPolicy checks that each source that an operator adds to the Content-Security-Policy is a single source and cannot
// add a directive.
func TestPolicy(t *testing.T) {
	t.Parallel()
	s := newSite(t, "", "")
	const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'%; frame-ancestors 'none'; base-uri 'none'"
	for source, want := range map[string]string{
		"https://client.example": " https://client.example", "http://127.0.0.1:8080": " http://127.0.0.1:8080", "com.example.app:": " com.example.app:",
		"https://a;script-src": "", "https://a,b": "", "https://a *": "", "https://a\t*": "", "https://a\r\nX:y": "", "'unsafe-inline'": "", "https://ä.example": "", "": "",
	} {
		a := s.browser().get("/forms?to=" + url.QueryEscape(source)).want(200)
		a.header("Content-Security-Policy", strings.Replace(policy, "%", want, 1))
	}
}

func TestUpload(t *testing.T) {
	t.Parallel()
	s := newSite(t, "", "")
	b := s.signedIn("")
	token := b.get("/things/7").field("token")
	send := func(status int, size int, fields ...string) {
		t.Helper()
		var body bytes.Buffer
		w := multipart.NewWriter(&body)
		for i := 0; i+1 < len(fields); i += 2 {
			_ = w.WriteField(fields[i], fields[i+1])
		}
		file, _ := w.CreateFormFile("file", "a\xff.txt")
		_, _ = io.WriteString(file, strings.Repeat("x", size))
		_ = w.Close()
		b.do(http.MethodPost, "/files", body.String(), "Content-Type", w.FormDataContentType()).want(status)
	}
	send(403, 1, "token", "wrong")
	send(403, 1, "title", "first", "token", token)
	send(413, 3*MaxForm, "token", token)
	send(413, 5*MaxForm, "token", token)
	send(413, 1, "token", token, "title", strings.Repeat("x", MaxForm+1))
	b.do(http.MethodPost, "/files", "--x\r\n", "Content-Type", "multipart/form-data; boundary=x").want(400)
	b.do(http.MethodPost, "/files", "", "Content-Type", "multipart/form-data").want(400)
	if len(s.service.files) != 0 {
		t.Fatalf("%q came", s.service.files)
	}
	send(303, 10, "token", token, "title", "a file")
	if len(s.service.files) != 1 || s.service.files[0] != "a\uFFFD.txt a file" {
		t.Errorf("%q came", s.service.files)
	}
	b.do(http.MethodPost, "/files", "token="+url.QueryEscape(token)).want(303) // as a browser without files sends it
}

// TestSlowForms checks that forms and files must arrive at a minimum pace.
func TestSlowForms(t *testing.T) {
	t.Parallel()
	s := newSite(t, "", "")
	b := s.signedIn("")
	token := b.get("/things/7").field("token")
	var files bytes.Buffer
	parts := multipart.NewWriter(&files)
	_ = parts.WriteField("token", token)
	file, _ := parts.CreateFormFile("file", "a.txt")
	_, _ = io.WriteString(file, "x")
	_ = parts.Close()
	for target, form := range map[string]struct{ body, kind string }{
		"/things/7": {url.Values{"token": {token}, "title": {"changed"}}.Encode(), "application/x-www-form-urlencoded"},
		"/files":    {files.String(), parts.FormDataContentType()},
	} {
		for late, status := range map[bool]int{false: http.StatusSeeOther, true: http.StatusRequestTimeout} {
			body := iotest.DataErrReader(strings.NewReader(form.body)) // as a server reads a body of known length
			if late {
				body = io.MultiReader(strings.NewReader(form.body[:10]), iotest.ErrReader(os.ErrDeadlineExceeded))
			}
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, target, body)
			r.Header.Set("Content-Type", form.kind)
			for name, value := range b.cookies {
				r.AddCookie(&http.Cookie{Name: name, Value: value}) //nolint:gosec // of a request
			}
			w := inboundtest.New()
			s.handler.ServeHTTP(w, r)
			if w.Code != status || !late && !w.Paced() {
				t.Errorf("%s, late %t: %d, paced %t", target, late, w.Code, w.Paced())
			}
		}
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	f := Fields{values: url.Values{"n": {"7"}, "list": {"1", "2", "0", "1"}, "text": {"a\xffb"}, "empty": {""}}}
	if f.Number("n") != 7 || f.Number("empty") != 0 || f.Number("none") != 0 || len(f.Numbers("list")) != 2 || f.Text("text") != "a\uFFFDb" || !f.Has("empty") || f.Has("none") || f.Flag("empty") || !f.Flag("n") || len(f.Values("list")) != 4 {
		t.Error("a field is read wrongly")
	}
	if f.Err() != nil {
		t.Errorf("the fields are valid, but %v", f.Err())
	}
	for _, text := range []string{"-1", "x", "1.5", "99999999999999999999", " 1"} {
		f := Fields{values: url.Values{"n": {text}, "m": {"y"}}}
		if n := f.Number("n"); n != 0 || f.Err() == nil {
			t.Errorf("%q is %d", text, n)
		}
		if f.Numbers("m"); f.Err().Error() != "bad_request: n must be a number." {
			t.Errorf("%q: got the error %v, want the first fault", text, f.Err())
		}
	}
	many := Fields{values: url.Values{"n": make([]string, maxNumbers+1)}}
	if many.Numbers("n"); many.Err() == nil {
		t.Error("any number of fields is read")
	}
}

// TestFormSentTwice checks that the same form submitted twice has the same key, and that another text has another key.
func TestFormSentTwice(t *testing.T) {
	t.Parallel()
	once := func(path, word string, texts ...string) string {
		c := newCall(&site{look: new(Look)}, nil, httptest.NewRequest(http.MethodPost, path, nil))
		c.Form.values = url.Values{"once": {word}}
		return c.Once(texts...)
	}
	key := once("/a", "word", "x", "y")
	if key == "" || key != once("/a", "word", "x", "y") {
		t.Errorf("the key is %q, then %q", key, once("/a", "word", "x", "y"))
	}
	for _, other := range []string{once("/b", "word", "x", "y"), once("/a", "another", "x", "y"), once("/a", "word", "x", "z"), once("/a", "word", "xy", "")} {
		if other == key {
			t.Error("two forms have the same key")
		}
	}
	if once("/a", "", "x") != "" || once("/a", strings.Repeat("x", maxToken+1), "x") != "" {
		t.Error("a form without a word has a key")
	}
}

func TestLocal(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/": "/", "/a?b=c#d": "/a?b=c#d", "": "/", "a": "/", "//evil.example": "/", `/\evil.example`: "/", "https://evil.example": "/", "/a\nb": "/", "/%zz": "/",
		"/" + strings.Repeat("a", 2000): "/",
	} {
		if got := Local(path); got != want {
			t.Errorf("%.30q leads to %q", path, got)
		}
	}
}

// FuzzLocal checks that a return address stays on this site, as browsers interpret it.
func FuzzLocal(f *testing.F) {
	for _, path := range []string{"/", "//a", `/\a`, "/a?b", "/\t/a", "https://a", "/a:b"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		got := Local(path)
		u, err := url.Parse("https://here.example")
		if err != nil {
			t.Fatal(err)
		}
		ref, err := u.Parse(strings.NewReplacer("\t", "", "\r", "", "\n", "", `\`, "/").Replace(strings.TrimSpace(got)))
		if err != nil || ref.Host != "here.example" || ref.Scheme != "https" {
			t.Errorf("%q leads to %q, %v", path, got, err)
		}
	})
}

// TestBehindProxy checks that a site counts as https if its address or a trusted proxy has that scheme, and that the
// site's forms are accepted even if the proxy sends another host name.
func TestBehindProxy(t *testing.T) {
	t.Parallel()
	s := newSite(t, "", "")
	ask := func(scheme string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, "http://example.com/login", http.NoBody)
		r.Header.Set("X-Forwarded-Proto", "https")
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, origin.Pass(r, scheme))
		return w
	}
	for scheme, cookie := range map[string]string{"": "shop_form", "https": "__Host-shop_form", "http": "shop_form"} {
		if cookies := ask(scheme).Result().Cookies(); len(cookies) != 1 || cookies[0].Name != cookie || cookies[0].Secure != (scheme == "https") {
			t.Errorf("a proxy says %q: %v", scheme, cookies)
		}
	}

	s = newSite(t, "", "https://id.example.com")
	b := s.browser() // its requests have the host example.com
	form := "token=" + url.QueryEscape(b.get("/login").want(200).field("token"))
	b.do(http.MethodPost, "/login", form, "Origin", "https://other.example").want(403)
	b.do(http.MethodPost, "/login", form, "Origin", "https://id.example.com").want(303)
	token := b.get("/things/7").want(200).field("token")
	b.do(http.MethodPost, "/settings", "token="+url.QueryEscape(token), "Referer", "https://id.example.com/settings").want(303).header("Location", "/confirm?next=%2Fsettings")
}
