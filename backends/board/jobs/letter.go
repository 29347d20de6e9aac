package jobs

import (
	"bytes"
	_ "embed"
	html "html/template"
	"io"
	"strconv"
	text "text/template"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/mails"
	"github.com/tollgate-gateway/tollgate/internal/mail"
)

//go:embed letter.txt.tmpl
var textSource string

//go:embed letter.html.tmpl
var htmlSource string

//go:embed link.txt.tmpl
var linkTextSource string

//go:embed link.html.tmpl
var linkHTMLSource string

var (
	textLetter = text.Must(text.New("text").Parse(textSource))
	htmlLetter = html.Must(html.New("html").Parse(htmlSource))
	textLink   = text.Must(text.New("text").Parse(linkTextSource))
	htmlLink   = html.Must(html.New("html").Parse(linkHTMLSource))
)

// template is one of either package.
type template interface {
	Execute(out io.Writer, data any) error
}

// letterData is what the templates show.
type letterData struct {
	*mails.Mailing
	Subject string
	BaseURL string
	End     string // link that unsubscribes
	Footer  string
}

// Link returns the address of a post.
func (l letterData) Link(post int64) string {
	if l.BaseURL == "" {
		return ""
	}
	return l.BaseURL + "/posts/" + strconv.FormatInt(post, 10)
}

// Rest returns how many posts of a thread are not shown.
func (l letterData) Rest(t mails.MailThread) int64 { return t.Count - int64(len(t.Posts)) }

// Open returns the address of the link. It is empty where there is none.
func (l letterData) Open() string {
	if l.BaseURL == "" || l.Mailing.Link.Secret == "" {
		return ""
	}
	return l.BaseURL + linkPages[l.Mode] + l.Mailing.Link.Secret
}

// Ends returns when the link ends.
func (l letterData) Ends() string { return l.Mailing.Link.Ends.Format("2 January 2006, 15:04 MST") }

// linkPages are where links lead, by their kinds.
var linkPages = map[string]string{
	accounts.LinkReset: "/reset?token=", accounts.LinkEmail: "/email?token=",
	accounts.LinkJoin: "/email?token=",
}

func (m *Mailer) letter(mailing *mails.Mailing) (*mail.Message, error) {
	data := letterData{Mailing: mailing, BaseURL: m.BaseURL, Subject: subject(mailing), Footer: m.Footer}
	inText, inHTML := template(textLetter), template(htmlLetter)
	switch {
	case mailing.Link != nil:
		inText, inHTML = textLink, htmlLink
	case m.BaseURL != "":
		data.End = m.BaseURL + "/unsubscribe?token=" + mailing.Unsubscribe
	}
	var plain, rich bytes.Buffer
	if err := inText.Execute(&plain, data); err != nil {
		return nil, err
	}
	if err := inHTML.Execute(&rich, data); err != nil {
		return nil, err
	}
	return &mail.Message{
		ID: mailing.Key, Name: mailing.Name, Email: mailing.Email, Subject: data.Subject, Text: plain.String(),
		HTML:        rich.String(),
		Unsubscribe: data.End,
		About: []zap.Field{zap.Int64("member", mailing.User), zap.String("mode", mailing.Mode), zap.Int("threads",
			len(mailing.Threads)+mailing.More)},
	}, nil
}

// linkSubjects are those of mails with links, by their kinds.
var linkSubjects = map[string]string{
	accounts.LinkReset: "A new password",
	accounts.LinkEmail: "Confirm this mail address", accounts.LinkNotice: "Your mail address",
	accounts.LinkJoin: "Confirm your mail address", accounts.LinkKnown: "You are a member already",
}

func subject(m *mails.Mailing) string {
	if m.Link != nil {
		return "[" + m.Board + "] " + linkSubjects[m.Mode]
	}
	what := m.Threads[0].Title
	if n := len(m.Threads) + m.More; n > 1 {
		what = "news in " + strconv.Itoa(n) + " threads"
	}
	switch m.Mode {
	case "daily":
		what = "today: " + what
	case "weekly":
		what = "this week: " + what
	}
	return "[" + m.Board + "] " + what
}
