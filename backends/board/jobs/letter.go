package jobs

import (
	"bytes"
	_ "embed"
	html "html/template"
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

var (
	textLetter = text.Must(text.New("text").Parse(textSource))
	htmlLetter = html.Must(html.New("html").Parse(htmlSource))
)

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

func (m *Mailer) letter(mailing *board.Mailing) (*Letter, error) {
	data := letterData{Mailing: mailing, BaseURL: m.BaseURL, Subject: subject(mailing)}
	if m.BaseURL != "" {
		data.End = m.BaseURL + "/unsubscribe?token=" + mailing.Unsubscribe
	}
	var plain, rich bytes.Buffer
	if err := textLetter.Execute(&plain, data); err != nil {
		return nil, err
	}
	if err := htmlLetter.Execute(&rich, data); err != nil {
		return nil, err
	}
	return &Letter{
		ID: mailing.Key, Name: mailing.Name, Email: mailing.Email, Subject: data.Subject, Text: plain.String(), HTML: rich.String(),
		Unsubscribe: data.End, Member: mailing.User, Mode: mailing.Mode, Threads: len(mailing.Threads) + mailing.More,
	}, nil
}

func subject(m *board.Mailing) string {
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
