package authserver

import (
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// Who signs in, and where applications get their answers.
const (
	annMail     = "ann@example.com"
	annPassword = "a long pass phrase of Ann"
	back        = "http://127.0.0.1:1/back"
)

// addAnn adds Ann by the command, and returns what it prints.
func addAnn(n *e2e.Node, args ...string) string {
	n.T.Helper()
	cmd := exec.CommandContext(n.T.Context(), e2e.Binary, append([]string{"authserver", "user", "add", annMail}, args...)...)
	cmd.Dir, cmd.Env = n.Dir, n.Env
	cmd.Stdin = strings.NewReader(annPassword + "\n")
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		n.T.Fatalf("%v\n%s%s", err, out, errs.String())
	}
	return string(out)
}

// person is a browser in which Ann goes from an application to the authorization
// server and to the address back.
type person struct {
	t *testing.T
	c *http.Client
}

func newPerson(t *testing.T) *person {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &person{t: t}
	p.c = &http.Client{Jar: jar, Timeout: e2e.StartLimit, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
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

// page reads what came: the end of the way, or a page with its form.
func (p *person) page(response *http.Response, err error) (end *url.URL, at *url.URL, form url.Values, text string) {
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

// approve goes the whole way: sign in, allow. It returns the code.
func (p *person) approve(authorize string) (code string) {
	p.t.Helper()
	return p.approves(authorize).Get("code")
}

// approves is approve that returns all of the answer.
func (p *person) approves(authorize string) (answer url.Values) {
	p.t.Helper()
	end, at, form, text := p.page(p.c.Get(authorize)) //nolint:noctx // page does
	for range 3 {
		if end != nil {
			break
		}
		switch {
		case form.Has("password"):
			form.Set("email", annMail)
			form.Set("password", annPassword)
		case form.Has("scopes"):
			form.Set("action", "allow")
		default:
			p.t.Fatalf("a page that nobody expects:\n%s", text)
		}
		end, at, form, text = p.page(p.c.PostForm(at.String(), form)) //nolint:noctx // page does
	}
	if end == nil || end.Query().Get("code") == "" {
		p.t.Fatalf("the way ends at %v:\n%s", end, text)
	}
	return end.Query()
}
