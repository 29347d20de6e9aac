package pages

import (
	"bytes"
	"cmp"
	"html/template"
	"net/http"
	"strconv"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/look"
	"github.com/tollgate-gateway/tollgate/internal/secret"
)

// maxReused limits the size of a buffer that is reused for another page, in bytes.
const maxReused = 256 << 10

// View is the data of a page's template.
type View struct {
	Title    string
	Name     string // of the site, or else of the brand
	Site     any    // Call.Site
	Data     any
	Problems []apierror.Detail // faults of the form that was sent
	Notice   string
	Path     string // of this page, for the sign-in page to return to

	bar  look.Bar
	call *Call
}

// Select is a list of options, for {{template "options" .List}}.
type Select []Option

// Option is an option of a Select.
type Option struct {
	Value, Label string
	Selected     bool
}

// Add appends an option.
func (s *Select) Add(value, label string, selected bool) {
	*s = append(*s, Option{value, label, selected})
}

// Token returns the token that forms send back.
func (v *View) Token() string { return v.call.token() }

// TokenField returns the name of the field for the token.
func (v *View) TokenField() string { return v.call.site.tokenField }

// Once returns a new random text by which the service detects that a form is sent twice.
func (v *View) Once() string { return secret.New() }

// Bar returns the content of the bar at the top of the page; see Options.Bar.
func (v *View) Bar() look.Bar { return v.bar }

// Top returns the data of the template "brand", with which the bar begins: the name and the menu of services.
func (v *View) Top() look.Top {
	site := v.call.site
	top := look.Top{Bar: v.bar, Name: v.Name, Part: site.part, Home: v.At("/"), Translate: v.translate}
	top.At = func(name string) string { return site.look.address(site.mount, v.bar.Brand, name) }
	return top
}

// translate returns a text in the language of the page.
func (v *View) translate(english string) string { return v.call.T(english) }

// Links returns the style sheets, the icon and the script of the page.
func (v *View) Links() template.HTML { return v.call.site.look.links(v.call.site.mount, v.bar.Brand) }

// Icon returns a picture of look.Icons, to be shown beside a text with the same meaning.
func (v *View) Icon(name string) template.HTML { return look.Icon(v.Top().Address(look.Icons), name) }

// At returns the URL path of a page of this site: the mount followed by path.
func (v *View) At(path string) string { return v.call.At(path) }

// Zone returns the time zone in which the page shows times.
func (v *View) Zone() *time.Location { return v.call.Zone }

// With returns a copy of the view with other data, for a template that pages share.
func (v *View) With(data any) *View {
	part := *v
	part.Data = data
	return &part
}

// Problem returns the fault of a field, or "".
func (v *View) Problem(field string) string {
	for _, p := range v.Problems {
		if p.Field == field {
			return sentence(v.call.language.Message(p.Message))
		}
	}
	return ""
}

// Invalid returns the attributes that mark a field with a problem.
func (v *View) Invalid(field string) template.HTMLAttr {
	if v.Problem(field) == "" {
		return ""
	}
	return template.HTMLAttr(`aria-invalid="true" aria-describedby="` + field + `-problem"`) //nolint:gosec // from a template
}

// Note returns the problem of a field, to be shown beside it by the template "note".
func (v *View) Note(field string) Note { return Note{field, v.Problem(field)} }

// Note is the problem of a field.
type Note struct{ Field, Text string }

// Show shows a page: the template with the given name, with a title and its data. If a parameter of the URL was
// malformed, it shows nothing and returns the error of Query.
func (c *Call) Show(name, title string, data any) error {
	return c.ThenShow(nil, name, title, data)
}

// ThenShow works like Show if err is nil, and returns err otherwise.
func (c *Call) ThenShow(err error, name, title string, data any) error {
	if err = cmp.Or(c.Query.Err(), err); err != nil {
		return err
	}
	return c.show(http.StatusOK, name, title, data, nil)
}

// ShowForm shows a form. If refusal is not nil it shows the form again, with the status and the faults of the refusal.
// It returns a refusal that does not concern the form, for example because the record does not exist.
func (c *Call) ShowForm(refusal error, name, title string, data any) error {
	if refusal == nil && c.outdated {
		refusal = errOutdated
	}
	if refusal == nil {
		return c.Show(name, title, data)
	}
	e, ok := apierror.From(refusal)
	if !ok || e.Status == http.StatusNotFound || e.Status >= http.StatusInternalServerError {
		return refusal
	}
	problems := e.Details
	if len(problems) == 0 {
		message := e.Message
		if e.RetryAfter > 0 {
			c.W.Header().Set("Retry-After", seconds(e.RetryAfter))
			message = c.language.Message(message) + " (" + duration(c.language, e.RetryAfter) + ")"
		}
		problems = []apierror.Detail{{Message: message}}
	}
	return c.show(e.Status, name, title, data, problems)
}

// show answers with a page; see Show. problems are the faults of the form that was sent. If the template cannot be
// executed, show writes nothing and returns an error.
func (c *Call) show(status int, name, title string, data any, problems []apierror.Detail) error {
	t, err := c.site.look.page(c.language, name)
	if err != nil {
		return err
	}
	v := &View{
		Title: title, Name: c.Name, Site: c.Site, Data: data, Problems: problems,
		Notice: c.notice(), Path: c.Here(), bar: c.site.bar(c.R), call: c,
	}
	v.Name = cmp.Or(v.Name, v.bar.Brand.Called())
	if c.R.Method == http.MethodPost {
		v.Path = "/" // nobody can return to the target of a form
	}
	out, ok := c.site.buffers.Get().(*bytes.Buffer)
	if !ok {
		out = new(bytes.Buffer)
	}
	defer func() {
		if out.Cap() <= maxReused {
			out.Reset()
			c.site.buffers.Put(out)
		}
	}()
	if err := t.ExecuteTemplate(out, "layout", v); err != nil {
		return err
	}
	c.answered = true
	c.W.Header().Set("Content-Type", "text/html; charset=utf-8")
	if len(c.site.look.languages.List()) > 1 {
		c.W.Header().Set("Content-Language", c.language.Tag())
	}
	c.W.Header().Set("Content-Length", strconv.Itoa(out.Len()))
	c.W.WriteHeader(status)
	if c.R.Method != http.MethodHead {
		_, _ = c.W.Write(out.Bytes()) // the client may be gone
	}
	return nil
}
