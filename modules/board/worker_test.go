package board

import (
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/jobs"
	"github.com/tollgate-gateway/tollgate/internal/mail"
)

// TestWorker checks which of the handlers on a database does the background work: a handler of the newest configuration
// that has started, and of these one with mail.
func TestWorker(t *testing.T) {
	t.Parallel()
	var w worker
	defer w.close()
	newClaim := func(app string, up *bool, server, baseURL, attachments string) *participant {
		return &participant{app: app, started: func() bool { return *up }, mail: mail.SMTPOptions{URL: server}, baseURL: baseURL, attachments: attachments, work: new(jobs.Work)}
	}
	join := func(c *participant, refused string) {
		t.Helper()
		if err := w.join(c); (err == nil) != (refused == "") || err != nil && !strings.HasPrefix(err.Error(), refused) {
			t.Errorf("joining: %v, want %q", err, refused)
		}
	}
	want := func(c *participant) {
		t.Helper()
		var work *jobs.Work
		if c != nil {
			work = c.work
		}
		if w.current() != work {
			t.Error("another handler does the work")
		}
		if w.sendsMail() != (c != nil && c.mail.URL != "") {
			t.Error("mails are sent although the handler has no mail, or not sent although it has")
		}
	}
	// Until the variables are set, no configuration has started, so that the runner stays idle and the test can ask
	// which handler would work.
	var first, second bool
	api := newClaim("first", &first, "", "", "files")
	pages := newClaim("first", &first, "smtp://mail", "https://a.example", "files")
	more := newClaim("first", &first, "smtp://mail", "https://a.example", "files")
	for _, c := range []*participant{api, pages, more} {
		join(c, "")
	}
	join(newClaim("first", &first, "smtp://other", "https://a.example", "files"), "mail: ")
	join(newClaim("first", &first, "smtp://mail", "https://b.example", "files"), "mail: ")
	join(newClaim("first", &first, "", "https://b.example", "elsewhere"), "attachments: ")
	want(nil)

	w.close() // from here on there is no background work
	first = true
	want(more)
	w.leave(more)
	want(pages)

	next := newClaim("second", &second, "", "https://b.example", "elsewhere")
	join(next, "")
	want(pages) // until the second configuration has started
	second = true
	want(next) // this handler sends no mails
	nextMail := newClaim("second", &second, "smtp://other", "https://b.example", "elsewhere")
	join(nextMail, "")
	join(newClaim("second", &second, "", "", "elsewhere"), "")
	want(nextMail)
	for _, c := range []*participant{api, pages} {
		w.leave(c)
	}
	want(nextMail)
}
