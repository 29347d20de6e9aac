package web_test

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/web"
	"github.com/tollgate-gateway/tollgate/internal/pages/pagestest"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// sendFile sends the form of a page with a file.
func sendFile(p *pagestest.Page, path, token, name, content string) *pagestest.Page {
	p.T.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	if err := w.WriteField("token", token); err != nil {
		p.T.Fatal(err)
	}
	file, err := w.CreateFormFile("file", name)
	if err != nil {
		p.T.Fatal(err)
	}
	if _, err := file.Write([]byte(content)); err != nil {
		p.T.Fatal(err)
	}
	if err := w.Close(); err != nil {
		p.T.Fatal(err)
	}
	return p.Do(http.MethodPost, path, body.String(), "Content-Type", w.FormDataContentType())
}

// TestAttachments checks that files are attached, shown, fetched and removed by forms.
func TestAttachments(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		bob := s.as("bob")
		bob.Get(at("/forums/%d/new", s.forum("members"))).Send(at("/forums/%d/new", s.forum("members")), "title", "With a file", "message", "Look at the file").Want(200)
		thread, post := s.thread("With a file"), s.post("Look at the file")
		files := at("/threads/%d/posts/%d/attachments", thread, post)
		p := bob.Get(files).Want(200, "This post has no files")
		sendFile(p, files, p.Hidden("token"), "notes.txt", "the text of the file").Want(200, "The file is attached.", "notes.txt")
		sendFile(p, files, p.Hidden("token"), "evil.html", "<script>alert(1)</script>").Want(422, "cannot be attached")
		sendFile(p, files, "wrong", "notes.txt", "x").Want(403)
		p.Do(http.MethodPost, files, "token="+p.Hidden("token")).Want(400)
		p = bob.Get(at("/threads/%d", thread)).Want(200, "notes.txt", `href="/attachments/1"`, files)
		a := bob.Get("/attachments/1").Want(200, "the text of the file")
		if a.Header.Get("Content-Security-Policy") != "sandbox; default-src 'none'" || !strings.HasPrefix(a.Header.Get("Content-Disposition"), "attachment") || a.Header.Get("Cache-Control") != "private, no-cache" {
			t.Errorf("%v", a.Header)
		}
		s.guest().Get("/attachments/1").Want(404)
		s.guest().Get(files).Want(200, "Sign in")
		s.as("eve").Get(files).Want(200, "notes.txt").Lacks("Remove")
		e := s.as("eve").Get("/account")
		sendFile(e, files, e.Hidden("token"), "mine.txt", "not my post").Want(403)
		e.Send(files + "/1/delete").Want(403)
		p.Send(files+"/1/delete").Want(200, "The file is removed.")
		bob.Get("/attachments/1").Want(404)
	})
}

// TestUnsubscribe checks that the link in a mail works without a login, on a page and from a mail program.
func TestUnsubscribe(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t), web.Options{})
	bob := s.as("bob")
	thread := s.thread("Open thread")
	token := func() string {
		t.Helper()
		bob.Get(at("/threads/%d", thread)).Send(at("/threads/%d/subscription", thread), "mode", "instant").Want(200)
		s.as("eve").Get(at("/threads/%d", thread)).Send(at("/threads/%d/reply", thread), "message", at("News %d", s.number("SELECT count(*) FROM board_posts"))).Want(200)
		s.clock.advance(time.Minute)
		due, err := s.service.Mails.DueMail(t.Context(), 10)
		if err != nil || len(due) != 1 {
			t.Fatal(due, err)
		}
		m, err := s.service.Mails.ClaimMail(t.Context(), due[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := s.service.Mails.MailSent(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		return m.Unsubscribe
	}
	follows := func() int64 { return s.number("SELECT count(*) FROM board_subscriptions WHERE mode <> 'none'") }
	link := "/unsubscribe?token=" + token()
	s.guest().Get(link).Want(200, "Stop receiving mail")
	if follows() != 1 {
		t.Error("a look at the page ends it")
	}
	s.guest().Get(link).Send(link).Want(200, "You will receive no more mail")
	if follows() != 0 {
		t.Error("the form does not end it")
	}
	s.guest().Do(http.MethodPost, "/unsubscribe?token="+token(), "List-Unsubscribe=One-Click").Want(200)
	if follows() != 0 {
		t.Error("a mail program does not end it")
	}
	for _, bad := range []string{"", "?token=", "?token=x", link[len("/unsubscribe"):] + "x"} {
		s.guest().Get("/unsubscribe" + bad).Want(404)
		s.guest().Do(http.MethodPost, "/unsubscribe"+bad, "").Want(404)
	}
}

// TestFollowForum checks that forms begin and end a subscription to a forum.
func TestFollowForum(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t), web.Options{})
	bob := s.as("bob")
	public, staff := at("/forums/%d", s.forum("public")), at("/forums/%d", s.forum("staff"))
	bob.Get(public).Want(200, ">Follow<").Send(public+"/subscription", "mode", "instant").Want(200, "You follow this forum", "Stop following")
	p := bob.Get("/account/subscriptions").Want(200, "Public")
	p.Send(public+"/subscription", "mode", "daily", "list", "1").Want(200, "Saved.")
	p.Send(public+"/subscription", "mode", "always").Want(422)
	p.Send(staff+"/subscription", "mode", "daily").Want(404)
	p.Send(public+"/subscription", "mode", "off").Want(200, ">Follow<")
	s.guest().Get(public).Want(200).Lacks(">Follow<")
}
