package web_test

import (
	"bytes"
	"image"
	"image/png"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/web"
	"github.com/tollgate-gateway/tollgate/internal/pages"
	"github.com/tollgate-gateway/tollgate/internal/pages/pagestest"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

func drawing(t *testing.T, width int) string {
	t.Helper()
	var out bytes.Buffer
	if err := png.Encode(&out, image.NewGray(image.Rect(0, 0, width, 2))); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// sendAll sends a form of the page with files, in the order in which a browser sends them: fields, the files of an
// input, more fields.
func sendAll(p *pagestest.Page, path string, files [][2]string, fields ...string) *pagestest.Page {
	p.T.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	check := func(err error) {
		p.T.Helper()
		if err != nil {
			p.T.Fatal(err)
		}
	}
	check(w.WriteField("token", p.Hidden("token")))
	for _, file := range files {
		part, err := w.CreateFormFile("file", file[0])
		check(err)
		_, err = part.Write([]byte(file[1]))
		check(err)
	}
	if len(files) == 0 { // no file was chosen
		_, err := w.CreateFormFile("file", "")
		check(err)
	}
	for i := 0; i+1 < len(fields); i += 2 {
		check(w.WriteField(fields[i], fields[i+1]))
	}
	check(w.Close())
	return p.Do(http.MethodPost, path, body.String(), "Content-Type", w.FormDataContentType())
}

// TestPostWithFiles checks that the form for a post accepts files, which appear in the text where it refers to
// them, and that sending it twice makes one post with one set of files.
func TestPostWithFiles(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		bob := s.as("bob")
		write := at("/forums/%d/new", s.forum("members"))
		p := bob.Get(write).Want(200, `enctype="multipart/form-data"`, `name="file" type="file" multiple`)
		files := [][2]string{{"my photo.png", drawing(t, 3)}, {"notes.txt", "some notes"}, {"second.png", drawing(t, 4)}}
		fields := []string{"once", "word", "title", "With a photo", "message", "Look:\n\n![a view](<attachment:my photo.png>)\n\n[notes](attachment:notes.txt)", "subscribe", "1"}

		// After a preview or an error the names of the files are shown, and nothing is stored.
		sendAll(p, write, files, slices.Concat(fields, []string{"preview", "1"})...).Want(200, "Preview", "Please choose the files again", "my photo.png", "With a photo")
		sendAll(p, write, [][2]string{{"evil.html", "<script>"}}, fields...).Want(422, "evil.html: ", "cannot be attached", "With a photo")
		sendAll(p, write, make([][2]string, 0), "title", "x", "message", "y").Want(422)
		if n := s.number("SELECT count(*) FROM board_attachments"); n != 0 {
			t.Fatalf("%d files of posts that are not there", n)
		}

		for range 2 { // as after a double click
			shown := sendAll(p, write, files, fields...).Want(200, "second.png", `alt="a view"`)
			post := s.number("SELECT max(id) FROM board_posts")
			shown.Want(200, at(`src="/posts/%d/files/my%%20photo.png"`, post), at(`href="/posts/%d/files/notes.txt"`, post))
			if n := strings.Count(shown.Text, "<img"); n != 3 { // one is the logo; the placed one is not listed again
				t.Errorf("%d images:\n%s", n, shown.Text)
			}
		}
		if posts, n := s.number("SELECT count(*) FROM board_posts WHERE message LIKE 'Look%'"), s.number("SELECT count(*) FROM board_attachments WHERE removed_at IS NULL"); posts != 1 || n != 3 {
			t.Errorf("%d posts, %d files", posts, n)
		}
		post := s.number("SELECT max(id) FROM board_posts")
		photo := at("/posts/%d/files/my%%20photo.png", post)
		bob.Get(photo).Want(200, drawing(t, 3))
		s.as("eve").Get(photo).Want(200)
		s.guest().Get(photo).Want(404)
		s.guest().Get(at("/posts/%d/files/absent.png", post)).Want(404)

		s.as("eve").Get(at("/threads/%d/reply?quote=%d", s.thread("With a photo"), post)).Want(200, at("![a view](/attachments/%d)", s.number("SELECT id FROM board_attachments WHERE name = 'my photo.png'")))

		// Sending the form again does not bring back a file that was removed.
		id := s.number("SELECT id FROM board_attachments WHERE name = 'notes.txt'")
		s.clock.advance(1e9)
		bob.Get("/account").Send(at("/threads/%d/posts/%d/attachments/%d/delete", s.thread("With a photo"), post, id)).Want(200)
		sendAll(p, write, files, fields...).Want(200).Lacks(at(`href="/attachments/%d"`, id))

		// A reply with a file and one without; the form of another browser is refused.
		answer := at("/threads/%d/reply", s.thread("With a photo"))
		p = bob.Get(answer).Want(200, "multipart/form-data")
		sendAll(p, answer, [][2]string{{"answer.png", drawing(t, 5)}}, "message", "Mine: ![mine](attachment:answer.png)").Want(200, "/files/answer.png")
		sendAll(p, answer, nil, "message", "No file at all").Want(200, "No file at all")
		s.as("eve").Get("/account").Want(200)
		s.as("eve").Do(http.MethodPost, answer, "x", "Content-Type", "multipart/form-data; boundary=x").Want(400)
		eve := s.as("eve").Get("/account")
		eve.Text = p.Text // with the form token of bob
		sendAll(eve, answer, nil, "message", "Forged answer").Want(403)
	})
}

// TestRefusedFilesNotRead checks that files of a member who may not post are not read, and that the text is shown
// again.
func TestRefusedFilesNotRead(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		bob := s.as("bob")
		p := bob.Get(at("/forums/%d/new", s.forum("members"))).Want(200)
		large := [][2]string{{"large.txt", strings.Repeat("x", pages.MaxForm)}}
		refused := func(path string) {
			t.Helper()
			sendAll(p, path, large, "title", "A title", "message", "the text").Want(403).Lacks("large.txt")
			sendAll(p, path, nil, "title", "A title", "message", "the text").Want(403, "the text")
		}
		s.exec("UPDATE board_threads SET is_locked = 1 WHERE title = 'Open thread'")
		refused(at("/threads/%d/reply", s.thread("Open thread")))
		s.exec(at("UPDATE board_users SET suspended_until = %d WHERE username = 'bob'", s.clock.now().Add(time.Hour).UnixMicro()))
		refused(at("/forums/%d/new", s.forum("members")))
		refused(at("/threads/%d/reply", s.thread("secretmember thread")))
	})
}

// TestFeedURLs checks that addresses in a feed are complete, and that descriptions stay as they were written.
func TestFeedURLs(t *testing.T) {
	t.Parallel()
	const html, want = `<img src="/attachments/1" alt="/x"><a href="/y">z</a>`, `<img src="https://b.example/attachments/1" alt="/x"><a href="https://b.example/y">z</a>`
	if got := web.Absolute("https://b.example", html); got != want {
		t.Error(got)
	}
}
