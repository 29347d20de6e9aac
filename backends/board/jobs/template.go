package jobs

import (
	"bytes"
	_ "embed"
	html "html/template"
	"io"
	"strconv"
	text "text/template"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/following"
	"github.com/tollgate-gateway/tollgate/backends/board/mails"
	"github.com/tollgate-gateway/tollgate/internal/locale"
	"github.com/tollgate-gateway/tollgate/internal/mail"
)

//go:embed letter.txt.tmpl
var textSource string

//go:embed letter.html.tmpl
var htmlSource string

//go:embed message.txt.tmpl
var messageTextSource string

//go:embed message.html.tmpl
var messageHTMLSource string

//go:embed link.txt.tmpl
var linkTextSource string

//go:embed link.html.tmpl
var linkHTMLSource string

var (
	textLetter  = text.Must(text.New("text").Parse(textSource))
	htmlLetter  = html.Must(html.New("html").Parse(htmlSource))
	textMessage = text.Must(text.New("text").Parse(messageTextSource))
	htmlMessage = html.Must(html.New("html").Parse(messageHTMLSource))
	textLink    = text.Must(text.New("text").Parse(linkTextSource))
	htmlLink    = html.Must(html.New("html").Parse(linkHTMLSource))
)

// template is a parsed template of text/template or html/template.
type template interface {
	Execute(out io.Writer, data any) error
}

// letterData is the data of the mail templates, which call its methods.
type letterData struct {
	*mails.Mailing
	language *locale.Language
	Subject  string
	BaseURL  string
	End      string // the URL that unsubscribes; empty if there is none
	Footer   string // the text at the end
}

// T translates a text into the mail's language; see locale.Language.Translate.
func (l letterData) T(english string, values ...any) string {
	return l.language.Translate(english, values...)
}

// Tn translates a text with a number into the mail's language; see locale.Language.Plural.
func (l letterData) Tn(n int64, singular, plural string) string {
	return l.language.Plural(n, singular, plural)
}

// Lang returns the tag of the mail's language.
func (l letterData) Lang() string { return l.language.Tag() }

// Link returns the URL of a post, or an empty string if the board's BaseURL is not configured.
func (l letterData) Link(post int64) string {
	if l.BaseURL == "" {
		return ""
	}
	return l.BaseURL + "/posts/" + strconv.FormatInt(post, 10)
}

// Conversation returns the URL of a conversation, or an empty string if the board's BaseURL is not configured.
func (l letterData) Conversation(id int64) string {
	if l.BaseURL == "" {
		return ""
	}
	return l.BaseURL + "/conversations/" + strconv.FormatInt(id, 10)
}

// Rest returns how many new posts of a thread the mail does not show.
func (l letterData) Rest(t mails.MailThread) int64 { return t.Count - int64(len(t.Posts)) }

// MoreThreads returns how many threads with new posts the mail does not show.
func (l letterData) MoreThreads() int64 { return int64(l.More) }

// Open returns the URL of the mail's link, or an empty string if the mail has no link.
func (l letterData) Open() string {
	if l.BaseURL == "" || l.Mailing.Link.Secret == "" {
		return ""
	}
	return l.BaseURL + linkPages[l.Mode] + l.Mailing.Link.Secret
}

// Ends returns the time at which the mail's link expires, as text.
func (l letterData) Ends() string { return l.Time(l.Mailing.Link.Ends) }

// Time formats a time for the mail's language, in the time's zone.
func (l letterData) Time(t time.Time) string { return l.language.Until(t) }

// linkPages maps each kind of link to the path of its page. The link's secret is appended to the path.
var linkPages = map[string]string{
	accounts.LinkReset: "/reset?token=", accounts.LinkEmail: "/email?token=",
	accounts.LinkJoin: "/email?token=",
}

// letter renders a mailing as a message in plain text and HTML.
func (m *Mailer) letter(mailing *mails.Mailing) (*mail.Message, error) {
	language := m.Languages.Choose(mailing.Language)
	data := letterData{
		Mailing: mailing, language: language, BaseURL: m.BaseURL, Subject: subject(language, mailing), Footer: m.Footer,
	}
	textTemplate, htmlTemplate := template(textLetter), template(htmlLetter)
	switch {
	case mailing.Link != nil:
		textTemplate, htmlTemplate = textLink, htmlLink
	case len(mailing.Messages) > 0:
		textTemplate, htmlTemplate = textMessage, htmlMessage
	}
	if mailing.Link == nil && m.BaseURL != "" {
		data.End = m.BaseURL + "/unsubscribe?token=" + mailing.Unsubscribe
	}
	var plain, rich bytes.Buffer
	if err := textTemplate.Execute(&plain, data); err != nil {
		return nil, err
	}
	if err := htmlTemplate.Execute(&rich, data); err != nil {
		return nil, err
	}
	thread, list := grouping(mailing)
	id := mailing.Key
	if thread != "" {
		id = thread + "." + id
	}
	return &mail.Message{
		ID: id, Name: mailing.Name, Email: mailing.Email, Subject: data.Subject, Text: plain.String(), HTML: rich.String(),
		Thread: thread, List: list, Unsubscribe: data.End,
		About: []zap.Field{zap.Int64("member", mailing.User), zap.String("mode", mailing.Mode), zap.Int("threads",
			len(mailing.Threads)+mailing.More)},
	}, nil
}

// grouping returns how mail programs should group a mailing. Mails with the same value of thread form a thread in a
// mail program: instant mails about the same thread of the board, or mails about the same private conversation. For
// other mails thread is empty. list is the mailing list: that of private messages, that of the forum, or that of the
// board if the threads are in several forums. Mails with links belong to no list.
func grouping(m *mails.Mailing) (thread string, list mail.List) {
	switch {
	case len(m.Messages) == 1:
		thread = "conversation-" + strconv.FormatInt(m.Messages[0].ID, 10)
	case len(m.Threads) == 1 && m.More == 0 && m.Mode == "instant":
		thread = "thread-" + strconv.FormatInt(m.Threads[0].ID, 10)
	}
	switch {
	case m.Link != nil:
		// The mail belongs to no list.
	case len(m.Messages) > 0:
		list = mail.List{ID: "messages", Name: m.Board}
	case m.Forum.ID != 0:
		list = mail.List{ID: "forum-" + strconv.FormatInt(m.Forum.ID, 10), Name: m.Forum.Title}
	default:
		list = mail.List{ID: "board", Name: m.Board}
	}
	return thread, list
}

// linkSubjects maps each kind of link to the subject of its mail.
var linkSubjects = map[string]string{
	accounts.LinkReset: "A new password",
	accounts.LinkEmail: "Confirm this mail address", accounts.LinkNotice: "Your mail address",
	accounts.LinkJoin: "Confirm your mail address", accounts.LinkKnown: "You are a member already",
}

// subject returns the subject of a mailing. The mailing must have a link, a message or at least one thread.
func subject(language *locale.Language, m *mails.Mailing) string {
	if m.Link != nil {
		return "[" + m.Board + "] " + language.Translate(linkSubjects[m.Mode])
	}
	if n := len(m.Messages); n == 1 {
		return "[" + m.Board + "] " + language.Translate("a private message of {name}", "name", m.Messages[0].Author)
	} else if n > 1 {
		return "[" + m.Board + "] " + language.Plural(int64(n), "private messages in {n} conversation",
			"private messages in {n} conversations")
	}
	topic := m.Threads[0].Title
	if n := len(m.Threads) + m.More; n > 1 {
		topic = language.Plural(int64(n), "news in {n} thread", "news in {n} threads")
	}
	switch m.Mode {
	case following.MentionMode:
		topic = language.Translate("you are mentioned: {what}", "what", topic)
	case "daily":
		topic = language.Translate("today: {what}", "what", topic)
	case "weekly":
		topic = language.Translate("this week: {what}", "what", topic)
	}
	return "[" + m.Board + "] " + topic
}
