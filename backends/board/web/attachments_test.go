package web

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// sendFile sends the form of a page with a file.
func (p *shown) sendFile(path, token, name, content string) *shown {
	p.t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	if err := w.WriteField("token", token); err != nil {
		p.t.Fatal(err)
	}
	file, err := w.CreateFormFile("file", name)
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := file.Write([]byte(content)); err != nil {
		p.t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		p.t.Fatal(err)
	}
	return p.do(http.MethodPost, path, body.String(), "Content-Type", w.FormDataContentType())
}

// TestAttachments: files are attached, shown, fetched and removed by forms.
func TestAttachments(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, Options{})
		bob := s.as("bob")
		bob.get(at("/forums/%d/new", s.forum("members"))).send(at("/forums/%d/new", s.forum("members")), "title", "With a file", "message", "Look at the file").want(200)
		thread, post := s.thread("With a file"), s.post("Look at the file")
		files := at("/threads/%d/posts/%d/attachments", thread, post)
		p := bob.get(files).want(200, "There are no files")
		p.sendFile(files, p.token(), "notes.txt", "the text of the file").want(200, "The file is attached.", "notes.txt")
		p.sendFile(files, p.token(), "evil.html", "<script>alert(1)</script>").want(422, "cannot be attached")
		p.sendFile(files, "wrong", "notes.txt", "x").want(403)
		p.do(http.MethodPost, files, "token="+p.token()).want(400)
		p = bob.get(at("/threads/%d", thread)).want(200, "notes.txt", `href="/attachments/1"`, files)
		a := bob.get("/attachments/1").want(200, "the text of the file")
		if a.header.Get("Content-Security-Policy") != "sandbox; default-src 'none'" || !strings.HasPrefix(a.header.Get("Content-Disposition"), "attachment") || a.header.Get("Cache-Control") != "private, no-cache" {
			t.Errorf("%v", a.header)
		}
		s.guest().get("/attachments/1").want(404)
		s.guest().get(files).want(200, "Sign in")
		s.as("eve").get(files).want(200, "notes.txt").lacks("Remove")
		e := s.as("eve").get("/account")
		e.sendFile(files, e.token(), "mine.txt", "not my post").want(403)
		e.send(files + "/1/delete").want(403)
		p.send(files+"/1/delete").want(200, "The file is removed.")
		bob.get("/attachments/1").want(404)
	})
}

// TestUnsubscribe: the link of a mail works without a login, by a page and by a
// mail program.
func TestUnsubscribe(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t), Options{})
	bob := s.as("bob")
	thread := s.thread("Open thread")
	token := func() string {
		t.Helper()
		bob.get(at("/threads/%d", thread)).send(at("/threads/%d/subscription", thread), "mode", "instant").want(200)
		s.as("eve").get(at("/threads/%d", thread)).send(at("/threads/%d/reply", thread), "message", at("News %d", s.number("SELECT count(*) FROM board_posts"))).want(200)
		s.clock.advance(time.Minute)
		due, err := s.service.DueMail(t.Context(), 10)
		if err != nil || len(due) != 1 {
			t.Fatal(due, err)
		}
		m, err := s.service.ClaimMail(t.Context(), due[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := s.service.MailSent(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		return m.Unsubscribe
	}
	follows := func() int64 { return s.number("SELECT count(*) FROM board_subscriptions WHERE mode <> 'none'") }
	link := "/unsubscribe?token=" + token()
	s.guest().get(link).want(200, "no more mails")
	if follows() != 1 {
		t.Error("a look at the page ends it")
	}
	s.guest().get(link).send(link).want(200, "You get no more mails")
	if follows() != 0 {
		t.Error("the form does not end it")
	}
	s.guest().do(http.MethodPost, "/unsubscribe?token="+token(), "List-Unsubscribe=One-Click").want(200)
	if follows() != 0 {
		t.Error("a mail program does not end it")
	}
	for _, bad := range []string{"", "?token=", "?token=x", link[len("/unsubscribe"):] + "x"} {
		s.guest().get("/unsubscribe" + bad).want(404)
		s.guest().do(http.MethodPost, "/unsubscribe"+bad, "").want(404)
	}
}

// TestFollowForum: a forum is followed and left by forms.
func TestFollowForum(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t), Options{})
	bob := s.as("bob")
	public, staff := at("/forums/%d", s.forum("public")), at("/forums/%d", s.forum("staff"))
	bob.get(public).want(200, ">Follow<").send(public+"/subscription", "mode", "instant").want(200, "You follow this forum", "Stop following")
	p := bob.get("/account/subscriptions").want(200, "Public")
	p.send(public+"/subscription", "mode", "daily", "list", "1").want(200, "Saved.")
	p.send(public+"/subscription", "mode", "always").want(422)
	p.send(staff+"/subscription", "mode", "daily").want(404)
	p.send(public+"/subscription", "mode", "off").want(200, ">Follow<")
	s.guest().get(public).want(200).lacks(">Follow<")
}
