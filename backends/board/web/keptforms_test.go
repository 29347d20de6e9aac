package web_test

import (
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/conversations"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/backends/board/web"
	"github.com/tollgate-gateway/tollgate/internal/pages/pagestest"
)

// message returns the text in the form of a page.
var message = regexp.MustCompile(`(?s)<textarea id="message"[^>]*>(.*?)</textarea>`)

// holds checks that the form of a page contains a text.
func holds(p *pagestest.Page, want string) {
	p.T.Helper()
	found := message.FindStringSubmatch(p.Text)
	if found == nil || html.UnescapeString(found[1]) != want {
		p.T.Fatalf("%s: the text %q is not in the form: %q", p.Where(), want, found)
	}
}

// TestTextKeptAfterSignOut sends forms after the session has ended. After signing in, the user finds the text in the
// form, and nothing is posted until it is sent again.
func TestTextKeptAfterSignOut(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t), web.Options{})
	const text = "Long <b>thought</b> \"about\"\r\n\r\nin two parts & more"
	thread, forum := s.thread("Open thread"), s.forum("public")
	post := s.post("common first")
	bob, err := s.service.Rights.Member(t.Context(), s.user("bob"))
	if err != nil {
		t.Fatal(err)
	}
	talk, err := s.service.Conversations.Start(t.Context(), bob, conversations.NewConversation{Recipients: []string{"eve"}, Title: "Just us", Message: "hello you"}, posts.Once{})
	if err != nil {
		t.Fatal(err)
	}
	const written = "SELECT (SELECT count(*) FROM board_posts) + (SELECT sum(edit_count) FROM board_posts) + (SELECT count(*) FROM board_conversation_messages)"
	forms := 0
	for _, route := range web.AllRoutes {
		if len(route.Keeps) > 0 {
			forms++
		}
	}
	if forms != 5 {
		t.Errorf("%d forms keep their text, and these tests send 5", forms)
	}
	for name, test := range map[string]struct {
		user, path string
		files      bool
		fields     []string
	}{
		"reply":          {"bob", at("/threads/%d/reply", thread), false, []string{"message", text, "subscribe", "1"}},
		"reply, files":   {"bob", at("/threads/%d/reply", thread), true, []string{"message", text}},
		"thread":         {"bob", at("/forums/%d/new", forum), false, []string{"title", "A \"new\" title", "message", text}},
		"thread, files":  {"bob", at("/forums/%d/new", forum), true, []string{"title", "A \"new\" title", "message", text}},
		"edit":           {"mod", at("/threads/%d/posts/%d/edit", thread, post), false, []string{"message", text, "reason", "why & how"}},
		"conversation":   {"bob", "/conversations/new", false, []string{"recipients", "eve", "title", "A \"new\" title", "message", text}},
		"message":        {"bob", at("/conversations/%d", talk), false, []string{"message", text}},
		"asks a preview": {"bob", at("/threads/%d/reply", thread), false, []string{"message", text, "preview", "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := &browser{s.in(t), s.as(test.user).In(t)}
			p := b.Get(test.path).Want(200)
			version := p.Hidden("version")
			fields := append([]string{"version", version}, test.fields...)
			s.clock.advance(15 * 24 * time.Hour)
			posts := s.number(written)
			if test.files {
				p = sendFirst(p, test.path, fields)
			} else {
				p = p.Send(test.path, fields...)
			}
			p.Want(403, "<h1>Sign in</h1>", "What you wrote is kept")

			// Neither a wrong password nor a missing one loses the text.
			send := func(p *pagestest.Page, more ...string) *pagestest.Page {
				values := p.Fields()
				for i := 0; i+1 < len(more); i += 2 {
					values.Set(more[i], more[i+1])
				}
				return p.Post(test.path, values)
			}
			p = send(p, "name", test.user, "password", "wrong").Want(422, "<h1>Sign in</h1>")
			p = send(p, "name", test.user, "password", "").Want(403, "<h1>Sign in</h1>")
			p = send(p, "name", test.user, "password", "correct horse").Want(403, "send it again")
			holds(p, text)
			for i := 0; i+1 < len(test.fields); i += 2 {
				if name := test.fields[i]; (name == "title" || name == "reason") && !strings.Contains(p.Text, `value="`+html.EscapeString(test.fields[i+1])+`"`) {
					t.Errorf("%s is lost: %s", name, p.Text)
				}
				if test.fields[i] == "subscribe" && p.Fields().Get("subscribe") == "" {
					t.Error("the box is not ticked any more")
				}
			}
			if n := s.number(written); n != posts {
				t.Fatalf("%d posts and edits are %d before the form is sent again", posts, n)
			}
			values := p.Fields()
			for i := 0; i+1 < len(test.fields); i += 2 {
				if test.fields[i] == "recipients" {
					values.Set("recipients", test.fields[i+1])
				} else if test.fields[i] != "preview" {
					values.Set(test.fields[i], test.fields[i+1]+" "+name)
				}
			}
			p.Post(test.path, values).Want(200, "in two parts &amp; more "+name)
			if n := s.number(written); n != posts+1 {
				t.Errorf("%d posts and edits became %d", posts, n)
			}
		})
	}
}

// sendFirst sends a form that has a file after its text, and stops as a browser does whose file is not read any
// more.
func sendFirst(p *pagestest.Page, path string, fields []string) *pagestest.Page {
	p.T.Helper()
	const boundary = "xxxxxxxx"
	var b strings.Builder
	part := func(head, text string) {
		b.WriteString("--" + boundary + "\r\nContent-Disposition: form-data; " + head + "\r\n\r\n" + text + "\r\n")
	}
	part(`name="token"`, p.Hidden("token"))
	for i := 0; i+1 < len(fields); i += 2 {
		part(`name="`+fields[i]+`"`, fields[i+1])
	}
	part(`name="file"; filename="a.txt"`, strings.Repeat("x", 400<<10))
	return p.Do("POST", path, b.String()+"--"+boundary+"--\r\n", "Content-Type", "multipart/form-data; boundary="+boundary)
}

// TestFormAfterSwitchingMember sends a form after somebody has signed in in another tab. It takes effect for the member
// for whom the page was made, and is only shown again to another member. A form sent by another site shows nothing.
func TestFormAfterSwitchingMember(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t), web.Options{})
	reply := at("/threads/%d/reply", s.thread("Open thread"))
	for _, files := range []bool{false, true} {
		b := s.as("bob")
		submit := func(p *pagestest.Page) *pagestest.Page {
			if files {
				return sendAll(p, reply, nil, "message", "what I wrote")
			}
			return p.Send(reply, "message", "what I wrote")
		}
		first, second := b.Get(reply).Want(200), b.Get(reply).Want(200)
		s.clock.advance(15 * 24 * time.Hour)
		b.Get("/login").Send("/login", "name", "bob", "password", "correct horse").Want(200)
		submit(first).Want(200, "what I wrote")

		b.Get("/").Send("/logout").Want(200)
		b.Get("/login").Send("/login", "name", "mod", "password", "correct horse").Want(200)
		posts := s.number("SELECT count(*) FROM board_posts")
		p := submit(second).Want(403, "You have signed in since")
		holds(p, "what I wrote")
		if n := s.number("SELECT count(*) FROM board_posts"); n != posts {
			t.Error("a form of another member has posted")
		}
		values := url.Values{"token": {p.Hidden("token")}, "message": {"what I wrote"}}
		p.Do("POST", reply, values.Encode(), "Sec-Fetch-Site", "cross-site").Want(403).Lacks("what I wrote")
		p.Post(reply, values).Want(200, "what I wrote")
		s.clock.advance(time.Hour) // past the limit of flood control
	}
	// An old form whose text need not be kept is refused.
	b := s.as("bob")
	p := b.Get("/account").Want(200)
	s.clock.advance(15 * 24 * time.Hour)
	p.Send("/account", "title", "x").Want(403).Lacks("Sign in</h1>")
}

// TestSignInOfAnotherTab sends the forms to sign in and out from a tab that was open before somebody signed in or
// out.
func TestSignInOfAnotherTab(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t), web.Options{})
	thread := at("/threads/%d", s.thread("Open thread"))
	b := s.guest()
	first, second, third := b.Get("/login?next="+thread), b.Get("/login?next="+thread), b.Get("/login")
	first.Send("/login", "name", "bob", "password", "correct horse", "next", thread).Want(200, "Open thread")
	session := b.heldSession()
	second.Send("/login", "name", "bob", "password", "", "next", thread).Want(200, "Open thread", "You are signed in as bob")
	third.Send("/login", "name", "mod", "password", "correct horse").Want(200, "You are signed in as bob")
	if b.heldSession() != session {
		t.Error("a form of before a sign-in has begun another session")
	}
	out, twice := b.Get("/"), b.Get("/")
	out.Send("/logout").Want(200, "You are signed out")
	twice.Send("/logout").Want(200, "You are signed out")
	b.Get("/login").Send("/login", "name", "mod", "password", "correct horse").Want(200)
	twice.Send("/logout").Want(200, "You are signed in as mod")
}
