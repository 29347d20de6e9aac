package web

import (
	"bytes"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io/fs"
	"math"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/backends/board"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

//go:embed templates
var templateFiles embed.FS

// pages are the templates by the name of their file, each in the layout.
type pages map[string]*template.Template

// shared are the templates that every page can use.
var shared = []string{"templates/layout.html", "templates/parts.html", "templates/admin_parts.html", "templates/attachments_parts.html"}

// templates parses all pages, once.
var templates = sync.OnceValue(func() pages {
	base := template.Must(template.New("").Funcs(funcs).ParseFS(templateFiles, shared...))
	files, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		panic(err) // the pattern is good
	}
	all := make(pages)
	for _, file := range files {
		name := strings.TrimSuffix(path.Base(file), ".html")
		if name == "layout" || name == "parts" || name == "bare" {
			continue
		}
		all[name] = template.Must(template.Must(base.Clone()).ParseFS(templateFiles, file))
	}
	return all
})

// view is what a template sees.
type view struct {
	Title    string
	Settings board.Settings
	User     *board.User // nil: a guest
	Data     any
	Problems []apierror.Detail // of the form that was sent
	Notice   string
	Path     string // of this page, to come back to
	Feed     string // path of the Atom feed of this page
	Place    string // path that names this page for ever

	call *call
}

// Token is what forms send back.
func (v *view) Token() string { return v.call.token() }

// Once is the word by which a form that is sent twice is known.
func (v *view) Once() string { return board.NewSecret() }

// Moderates reports whether who looks approves posts anywhere.
func (v *view) Moderates() bool {
	return v.User != nil && v.call.actor.MayAnywhere(board.ContentApprove)
}

// Suspended reports whether who looks may read but not decide.
func (v *view) Suspended() bool { return v.call.actor.Suspended(v.call.now()) }

// Administers reports whether who looks may change the board.
func (v *view) Administers() bool { return v.call.actor.MayAdminister() }

// Unseen is how many notifications were not read.
func (v *view) Unseen() (int, error) { return v.call.service.Unseen(v.call.ctx(), v.call.actor) }

// Joins reports whether who looks may become a member now.
func (v *view) Joins() bool {
	return v.Settings.Registration != board.RegistrationClosed && v.call.service.Admit(v.call.actor) == nil
}

// Joining reports whether who looks has not confirmed the mail address yet, and may
// do nothing else.
func (v *view) Joining() bool { return v.call.actor.Unconfirmed() }

// Mails reports whether the board sends mails.
func (v *view) Mails() bool { return v.call.service.Mails() }

// Zone is where the times of the page are.
func (v *view) Zone() *time.Location { return v.User.Zone() }

// With is what a template that pages share shows, with the view.
func (v *view) With(data any) part { return part{v, data} }

type part struct {
	*view
	Data any
}

// Problem is what is wrong with a field; empty: nothing.
func (v *view) Problem(field string) string {
	for _, p := range v.Problems {
		if p.Field == field {
			return sentence(p.Message)
		}
	}
	return ""
}

// Invalid marks a field that has a problem, and gives it the focus.
func (v *view) Invalid(field string) template.HTMLAttr {
	if v.Problem(field) == "" {
		return ""
	}
	return template.HTMLAttr(`aria-invalid="true" aria-describedby="` + field + `-problem"`) //nolint:gosec // the word is the template's
}

// Note is the problem of a field, to be shown beside it.
func (v *view) Note(field string) note { return note{field, v.Problem(field)} }

type note struct{ Field, Text string }

// page shows a page.
func (c *call) page(name, title string, data any) error {
	return c.show(http.StatusOK, name, title, data, nil)
}

// form shows a form: for the first time, or once more when it was refused.
func (c *call) form(refusal error, name, title string, data any) error {
	if refusal == nil {
		return c.page(name, title, data)
	}
	e, ok := apierror.From(refusal)
	if !ok || e.Status == http.StatusNotFound || e.Status >= http.StatusInternalServerError {
		return refusal
	}
	problems := e.Details
	if len(problems) == 0 {
		message := e.Message
		if e.RetryAfter > 0 {
			c.w.Header().Set("Retry-After", seconds(e.RetryAfter))
			message += " (" + duration(e.RetryAfter) + ")"
		}
		problems = []apierror.Detail{{Message: message}}
	}
	return c.show(e.Status, name, title, data, problems)
}

func (c *call) show(status int, name, title string, data any, problems []apierror.Detail) error {
	v := &view{
		Title: title, Settings: c.actor.Settings(), User: c.actor.User, Data: data, Problems: problems, Path: c.r.URL.RequestURI(), call: c,
	}
	if c.r.Method == http.MethodPost || c.route.secret { // where signing in leads back to
		v.Path = "/"
	}
	if p, ok := data.(interface{ feed() string }); ok {
		v.Feed = p.feed()
	}
	if p, ok := data.(interface{ place() string }); ok {
		v.Place = p.place()
	}
	if text, err := base64.RawURLEncoding.DecodeString(c.cookie(cookieNotice)); err == nil && len(text) > 0 && utf8.Valid(text) && !c.route.public {
		v.Notice = string(text)
		c.setCookie(cookieNotice, "", 0)
	}
	t, ok := c.pages[name]
	if !ok {
		return fmt.Errorf("there is no page %q", name)
	}
	var out bytes.Buffer
	if err := t.ExecuteTemplate(&out, "layout", v); err != nil {
		return err
	}
	c.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	c.w.Header().Set("Content-Length", strconv.Itoa(out.Len()))
	c.w.WriteHeader(status)
	_, _ = c.w.Write(out.Bytes()) // the client may be gone
	return nil
}

var funcs = template.FuncMap{
	"html":       func(safe string) template.HTML { return template.HTML(safe) }, //nolint:gosec // sanitised by board.Render
	"zones":      text.Zones,
	"plural":     plural,
	"bytes":      byteCount,
	"count":      count,
	"sentence":   sentence,
	"duration":   duration,
	"initial":    initial,
	"tint":       tint,
	"forumPath":  func(f board.ForumInfo) string { return slugged("/forums/", f.ID, f.Slug) },
	"threadPath": func(t board.ThreadInfo) string { return slugged("/threads/", t.ID, t.Slug) },
	"add":        func(a, b int64) int64 { return a + b },
	"yes":        func(b *bool) bool { return b != nil && *b },
	"deref":      func(text *string) string { return orEmpty(text) },
}

func slugged(prefix string, id int64, slug string) string {
	path := prefix + strconv.FormatInt(id, 10)
	if slug != "" {
		path += "-" + slug
	}
	return path
}

func orEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// When shows a time as the API writes it, or one in microseconds: short, with
// the exact one beside it.
func (v *view) When(text any) template.HTML {
	var written string
	switch t := text.(type) {
	case string:
		written = t
	case *string:
		written = orEmpty(t)
	case int64:
		return moment(t, v.Zone())
	}
	t, err := time.Parse(time.RFC3339, written)
	if err != nil {
		return ""
	}
	return moment(t.UnixMicro(), v.Zone())
}

// moment shows a time in microseconds; 0: never.
func moment(micros int64, zone *time.Location) template.HTML {
	if micros == 0 {
		return "never"
	}
	t := time.UnixMicro(micros).In(zone)
	return template.HTML(`<time datetime="` + t.UTC().Format(time.RFC3339) + `" title="` + t.Format("Monday, 2 January 2006, 15:04:05 MST") + `">` + //nolint:gosec // digits, names of months and of time zones
		t.Format("2 Jan 2006, 15:04") + `</time>`)
}

// plural is a number with its noun.
func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + many
}

// count is a number with its thousands apart.
func count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "\u202f" + digits[i:]
	}
	return digits
}

// sentence is a message of the service as people read it.
func sentence(text string) string {
	r, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return ""
	}
	text = string(unicode.ToUpper(r)) + text[size:]
	if !strings.ContainsAny(text[len(text)-1:], ".!?)") {
		text += "."
	}
	return text
}

// seconds is a wait for Retry-After.
func seconds(d time.Duration) string { return strconv.Itoa(int(math.Ceil(d.Seconds()))) }

// duration is a wait in words.
func duration(d time.Duration) string {
	switch {
	case d <= 0:
		return ""
	case d <= 90*time.Second:
		return plural(int64(math.Ceil(d.Seconds())), "second", "seconds")
	case d <= 90*time.Minute:
		return plural(int64(math.Ceil(d.Minutes())), "minute", "minutes")
	}
	return plural(int64(math.Ceil(d.Hours())), "hour", "hours")
}

// initial stands for a picture of a member.
func initial(name string) string {
	r, _ := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(r))
}

// tint is the class of the colour behind it.
func tint(name string) string {
	sum := 0
	for _, r := range name {
		sum = (sum*31 + int(r)) % 8
	}
	return "tint" + strconv.Itoa(sum)
}
