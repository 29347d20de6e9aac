package jobs

import (
	"bytes"
	_ "embed"
	html "html/template"
	"io"
	"strconv"
	text "text/template"

	"github.com/tollgate-gateway/tollgate/backends/board"
)

// Letter is a mail that is ready to be sent.
type Letter struct {
	// ID is the same when the mail is sent again.
	ID string
	// Name and Email of the member.
	Name, Email string
	Subject     string
	Text, HTML  string
	// Unsubscribe is a link that ends such mails without a login; empty: there is none.
	Unsubscribe string

	Member  int64
	Mode    string
	Threads int
}

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
	*board.Mailing
	Subject string
	BaseURL string
	End     string // link that unsubscribes
}

// Link is the address of a post.
func (l letterData) Link(post int64) string {
	if l.BaseURL == "" {
		return ""
	}
	return l.BaseURL + "/posts/" + strconv.FormatInt(post, 10)
}

// Rest is how many posts of a thread are not shown.
func (l letterData) Rest(t board.MailThread) int64 { return t.Count - int64(len(t.Posts)) }

// Open is the address of the link; empty: there is none.
func (l letterData) Open() string {
	if l.BaseURL == "" || l.Mailing.Link.Secret == "" {
		return ""
	}
	return l.BaseURL + linkPages[l.Mode] + l.Mailing.Link.Secret
}

// Ends is when the link ends.
func (l letterData) Ends() string { return l.Mailing.Link.Ends.Format("2 January 2006, 15:04 MST") }

// linkPages are where links lead, by their kinds.
var linkPages = map[string]string{board.LinkReset: "/reset?token=", board.LinkEmail: "/email?token=", board.LinkJoin: "/email?token="}

func (m *Mailer) letter(mailing *board.Mailing) (*Letter, error) {
	data := letterData{Mailing: mailing, BaseURL: m.BaseURL, Subject: subject(mailing)}
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
	return &Letter{
		ID: mailing.Key, Name: mailing.Name, Email: mailing.Email, Subject: data.Subject, Text: plain.String(), HTML: rich.String(),
		Unsubscribe: data.End, Member: mailing.User, Mode: mailing.Mode, Threads: len(mailing.Threads) + mailing.More,
	}, nil
}

// linkSubjects are those of mails with links, by their kinds.
var linkSubjects = map[string]string{board.LinkReset: "A new password", board.LinkEmail: "Confirm this mail address", board.LinkNotice: "Your mail address", board.LinkJoin: "Confirm your mail address", board.LinkKnown: "You are a member already"}

func subject(m *board.Mailing) string {
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
