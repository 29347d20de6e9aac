package board

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/api"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/imagemeta/imagetest"
	"github.com/tollgate-gateway/tollgate/internal/inbound/inboundtest"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// upload sends a file as a member.
func (s *site) upload(user, posts, name, content string) *answer {
	s.t.Helper()
	r := s.request(user, "POST", posts+"/attachments?name="+url.QueryEscape(name), content)
	r.Header.Set("Content-Type", "application/octet-stream")
	return s.send(r)
}

// editable lets the authors of the fixture's posts edit them.
func editable(s *site) *site {
	s.t.Helper()
	s.exec("UPDATE board_groups SET edit_window_min = 2880 WHERE kind = 'registered'")
	return s
}

// onBothStores runs the test on both databases, each with both places for the content of attachments.
func onBothStores(t *testing.T, test func(t *testing.T, s *site)) {
	t.Helper()
	onBoth(t, func(t *testing.T, db *store.DB) {
		folder := ""
		if db.Dialect() == store.SQLite {
			folder = filepath.Join(t.TempDir(), "attachments")
		}
		test(t, editable(newSite(t, db, kernel.Options{Attachments: folder, NoFlood: true})))
	})
	t.Run("sqlite in the database", func(t *testing.T) {
		t.Parallel()
		test(t, editable(newSite(t, databases.SQLite(t), kernel.Options{NoFlood: true})))
	})
}

// TestAttachmentPace checks that uploads are read with a minimum rate.
func TestAttachmentPace(t *testing.T) {
	t.Parallel()
	s := editable(newSite(t, databases.SQLite(t), kernel.Options{NoFlood: true}))
	r := s.request("alice", "POST", path("/threads/%d/posts/%d/attachments?name=a.txt", s.threadOf("Public thread"), s.postOf("public first")), "hello")
	r.Header.Set("Content-Type", "application/octet-stream")
	w := inboundtest.New()
	if s.ServeHTTP(w, r); w.Code != 201 || !w.Paced() {
		t.Errorf("%d %s, paced %t", w.Code, w.Body, w.Paced())
	}
}

// TestAttachments uploads, lists, downloads and removes attachments on all stores.
func TestAttachments(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, s *site) {
		posts := path("/threads/%d/posts/%d", s.threadOf("Public thread"), s.postOf("public first"))
		content := imagetest.Picture(t, "png", 3, 2)
		f := data[api.AttachmentInfo](s.upload("alice", posts, `C:\dir\Ünï "x".PNG`, content).want(201))
		if f.Name != `Ünï "x".PNG` || f.MediaType != "image/png" || f.Size != int64(len(content)) || *f.Width != 3 || *f.Height != 2 {
			t.Errorf("%+v", f)
		}
		large := strings.Repeat("0123456789abcdef", 50_000) // more than three parts
		text := data[api.AttachmentInfo](s.upload("alice", posts, "notes.txt", large).want(201))
		if list := data[[]api.AttachmentInfo](s.do("", "GET", posts+"/attachments", "").want(200)); len(list) != 2 || list[0] != f && list[0].ID != f.ID {
			t.Errorf("%+v", list)
		}
		a := s.do("", "GET", path("/attachments/%d", f.ID), "").want(200)
		if a.body != content {
			t.Error("another content")
		}
		for name, want := range map[string]string{
			"Content-Type": "image/png", "X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox; default-src 'none'", "Cache-Control": "private, no-cache",
			"Content-Disposition": `inline; filename="_n_ _x_.PNG"; filename*=UTF-8''%C3%9Cn%C3%AF%20%22x%22.PNG`, "Etag": `"` + f.SHA256 + `"`,
		} {
			if got := a.header.Get(name); got != want {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
		a = s.do("alice", "GET", path("/attachments/%d", text.ID), "").want(200)
		if a.body != large || !strings.HasPrefix(a.header.Get("Content-Disposition"), "attachment; ") || a.header.Get("Content-Type") != "text/plain; charset=utf-8" || a.header.Get("Cache-Control") != "private, no-cache" {
			t.Errorf("%d bytes, %v", len(a.body), a.header)
		}
		r := s.request("", "GET", path("/attachments/%d", text.ID), "")
		r.Header.Set("Range", "bytes=262140-262149")
		if part := s.send(r).want(206); part.body != large[262140:262150] {
			t.Errorf("%q", part.body)
		}
		r = s.request("", "GET", path("/attachments/%d", f.ID), "")
		r.Header.Set("If-None-Match", `"`+f.SHA256+`"`)
		if same := s.send(r); same.status != 304 || same.body != "" {
			t.Errorf("%d %q", same.status, same.body)
		}
		// Equal content is stored once, and kept as long as one attachment has it.
		twin := data[api.AttachmentInfo](s.upload("alice", posts, "twin.png", content).want(201))
		s.do("alice", "DELETE", path("%s/attachments/%d", posts, f.ID), "").want(204)
		s.do("alice", "DELETE", path("%s/attachments/%d", posts, f.ID), "").want(404, "not_found")
		s.do("", "GET", path("/attachments/%d", f.ID), "").want(404, "not_found")
		s.sweep(1, 0)
		s.do("", "GET", path("/attachments/%d", twin.ID), "").want(200)
		s.do("alice", "DELETE", path("%s/attachments/%d", posts, twin.ID), "").want(204)
		s.do("alice", "DELETE", path("%s/attachments/%d", posts, text.ID), "").want(204)
		s.sweep(1, 1)
		fresh := data[api.AttachmentInfo](s.upload("alice", posts, "fresh.txt", "stored just now").want(201))
		s.do("alice", "DELETE", path("%s/attachments/%d", posts, fresh.ID), "").want(204)
		s.sweep(0, 0)
		s.sweep(1, 1)
	})
}

// sweep runs the job some hours later, and checks whether it finds something.
func (s *site) sweep(hours, found int) {
	s.t.Helper()
	if folder := s.service.kernel.Options.Attachments; folder != "" { // the times of files are those of the system
		modTime := time.Now().Add(-time.Duration(hours) * 61 * time.Minute)
		list, err := filepath.Glob(filepath.Join(folder, "*", "*"))
		if err != nil {
			s.t.Fatal(err)
		}
		for _, file := range list {
			if err := os.Chtimes(file, modTime, modTime); err != nil {
				s.t.Error(err)
			}
		}
		s.service.kernel.Now = time.Now
	} else {
		s.clock.advance(time.Duration(hours) * 61 * time.Minute)
	}
	n, err := s.service.Attachments.SweepAttachments(s.t.Context())
	if err != nil || (n > 0) != (found > 0) {
		s.t.Errorf("%d swept, %v", n, err)
	}
	s.service.kernel.Now = s.clock.now
}

// TestAttachmentQuota checks that a removed attachment counts towards the quota until its content is deleted.
func TestAttachmentQuota(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, s *site) {
		s.exec("INSERT INTO board_settings (name, value) VALUES ('member_mib', '1')")
		posts := path("/threads/%d/posts/%d", s.threadOf("Public thread"), s.postOf("public first"))
		content := func(letter string) string { return strings.Repeat(letter, 600<<10) }
		first := data[api.AttachmentInfo](s.upload("alice", posts, "one.txt", content("1")).want(201))
		s.do("alice", "DELETE", path("%s/attachments/%d", posts, first.ID), "").want(204)
		s.upload("alice", posts, "two.txt", content("2")).want(422, "validation_failed", "total")
		s.upload("mod", path("/threads/%d/posts/%d", s.threadOf("Staff thread"), s.postOf("staff first")), "two.txt", content("2")).want(201)
		if list := data[[]api.AttachmentInfo](s.do("", "GET", posts+"/attachments", "").want(200)); len(list) != 0 {
			t.Errorf("%+v", list)
		}
		s.sweep(1, 1)
		s.upload("alice", posts, "two.txt", content("2")).want(201)
		s.upload("alice", posts, "one.txt", content("1")).want(422, "validation_failed", "total")
		if n := s.number("SELECT count(*) FROM board_attachments"); n != 2 {
			t.Errorf("%d rows", n)
		}
	})
}

// TestAttachmentFlood checks that attaching and removing files counts for the flood control of edits, before content
// is stored.
func TestAttachmentFlood(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := editable(newSite(t, db, kernel.Options{}))
		posts := path("/threads/%d/posts/%d", s.threadOf("Public thread"), s.postOf("public first"))
		for i := range 5 {
			f := data[api.AttachmentInfo](s.upload("alice", posts, "a.txt", path("text %d", i)).want(201))
			s.do("alice", "DELETE", path("%s/attachments/%d", posts, f.ID), "").want(204)
		}
		s.upload("alice", posts, "a.txt", "one too many").want(429)
		if n := s.number("SELECT count(*) FROM board_contents"); n != 5 {
			t.Errorf("%d contents", n)
		}
		s.clock.advance(6 * time.Second)
		f := data[api.AttachmentInfo](s.upload("alice", posts, "a.txt", "one more").want(201))
		s.do("alice", "DELETE", path("%s/attachments/%d", posts, f.ID), "").want(429)
		s.do("", "GET", path("/attachments/%d", f.ID), "").want(200)
	})
}

// TestAttachmentRights checks that an attachment is visible to those who see its post, and only at that post.
func TestAttachmentRights(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := editable(newSite(t, db, kernel.Options{NoFlood: true}))
		file := func(user, title, message string) (posts string, id int64) {
			posts = path("/threads/%d/posts/%d", s.threadOf(title), s.postOf(message))
			return posts, data[api.AttachmentInfo](s.upload(user, posts, "a.txt", "text of "+message).want(201)).ID
		}
		public, publicID := file("alice", "Public thread", "public first")
		members, membersID := file("alice", "Members thread", "members first")
		held, heldID := file("bob", "Public thread", "public held")
		_, staffID := file("mod", "Staff thread", "staff first")
		gonePost, goneID := file("mod", "Public thread", "public deleted")
		for _, test := range []struct {
			as, posts string
			id        int64
			status    int
		}{
			{"", public, publicID, 200},
			{"", members, membersID, 404},
			{"bob", members, membersID, 200},
			{"", held, heldID, 404},
			{"alice", held, heldID, 404},
			{"bob", held, heldID, 200},
			{"mod", held, heldID, 200},
			{"bob", gonePost, goneID, 404},
			{"mod", gonePost, goneID, 200},
		} {
			s.do(test.as, "GET", path("/attachments/%d", test.id), "").want(test.status)
			s.do(test.as, "GET", test.posts+"/attachments", "").want(test.status)
		}
		s.do("", "GET", path("/attachments/%d", staffID), "").want(404)
		s.do("alice", "GET", path("/attachments/%d", staffID), "").want(404)
		s.do("", "GET", "/attachments/999", "").want(404, "not_found")
		s.do("", "GET", "/attachments/x", "").want(404, "not_found")

		s.upload("", public, "a.txt", "x").want(401)
		s.upload("narrow", public, "a.txt", "x").want(403, "missing_scope")
		s.upload("bob", public, "a.txt", "x").want(403, "forbidden", "no_permission")
		s.do("bob", "DELETE", path("%s/attachments/%d", public, publicID), "").want(403, "forbidden", "no_permission")
		s.do("bob", "DELETE", path("%s/attachments/%d", held, publicID), "").want(404) // not an attachment of this post
		s.upload("alice", held, "a.txt", "x").want(404)
		locked := path("/threads/%d/posts/%d", s.threadOf("Locked thread"), s.postOf("locked first"))
		s.upload("alice", locked, "a.txt", "x").want(403, "forbidden", "thread_locked")
		s.exec("UPDATE board_groups SET allow_mask = allow_mask & ~CAST(? AS BIGINT)", int64(rights.AttachmentDownload))
		s.do("", "GET", path("/attachments/%d", publicID), "").want(403, "forbidden")
		s.exec("UPDATE board_groups SET allow_mask = allow_mask & ~CAST(? AS BIGINT)", int64(rights.AttachmentUpload))
		s.upload("alice", public, "b.txt", "x").want(403, "forbidden", "no_permission")
		s.clock.advance(25 * time.Hour)
		s.exec("UPDATE board_groups SET allow_mask = allow_mask | ?", int64(rights.AttachmentUpload))
		s.upload("alice", public, "b.txt", "x").want(403, "forbidden", "edit_window_closed")
	})
}

// TestAttachmentHeld checks that a moderated member cannot attach a file to a visible post.
func TestAttachmentHeld(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t), kernel.Options{NoFlood: true})
	post := data[api.Replied](s.do("newbie", "POST", path("/threads/%d/posts", s.threadOf("Public thread")), `{"message":"Hello to all"}`).want(201))
	posts := path("/threads/%d/posts/%d", post.ThreadID, post.ID)
	s.exec("UPDATE board_groups SET restrict_mask = ?", int64(rights.EditNeedsApproval))
	s.upload("newbie", posts, "a.txt", "some text").want(201)
	s.do("bob", "GET", posts, "").want(404)
	s.exact()
}

// TestAttachmentRefused checks that bad names, types, sizes and numbers of files are refused.
func TestAttachmentRefused(t *testing.T) {
	t.Parallel()
	s := editable(newSite(t, databases.SQLite(t), kernel.Options{NoFlood: true}))
	s.exec("INSERT INTO board_settings (name, value) VALUES ('attachment_kib', '10'), ('attachments_max', '7')")
	posts := path("/threads/%d/posts/%d", s.threadOf("Public thread"), s.postOf("public first"))
	huge := []byte(imagetest.Picture(t, "png", 1, 1))
	copy(huge[16:], "\x00\x00\x80\x00\x00\x00\x80\x00") // 32768 by 32768
	for _, test := range []struct{ name, content, reason string }{
		{"", "x", "required"},
		{"x", "x", "type"},
		{"x.", "x", "type"},
		{".png", "x", "type"},
		{"x.html", "<html>", "type"},
		{"x.svg", "<svg/>", "type"},
		{"x.exe", "MZ", "type"},
		{"x.txt.js", "x", "type"},
		{"a\nb.txt", "x", "control_character"},
		{"\xff.txt", "x", "characters"},
		{strings.Repeat("x", 130) + ".txt", "x", "length"},
		{"../", "x", "required"},
		{"x.txt", "", "required"},
		{"x.txt", "<html><script>", "type"},
		{"x.png", "GIF89a", "type"},
		{"x.png", imagetest.Picture(t, "gif", 1, 1), "type"},
		{"x.jpg", imagetest.Picture(t, "png", 1, 1), "type"},
		{"x.png", imagetest.Picture(t, "png", 1, 1)[:12], "image"},
		{"x.png", string(huge), "image"},
		{"x.pdf", "%PD", "type"},
		{"x.txt", "\x00\x01\x02", "type"},
		{"x.docx", "text", "type"},
		{"x.webp", "RIFF\x00\x00\x00\x00WEBPVP", "image"},
	} {
		s.upload("alice", posts, test.name, test.content).want(422, "validation_failed", test.reason)
	}
	for i := range 4 {
		format := []string{"png", "gif", "jpeg", "jpeg"}[i]
		s.upload("alice", posts, fmt.Sprintf("%d.%s", i, []string{"png", "gif", "jpg", "jpeg"}[i]), imagetest.Picture(t, format, 2, 2)).want(201)
	}
	for name, content := range imagetest.WebPs() {
		if f := data[api.AttachmentInfo](s.upload("alice", posts, name+".webp", content).want(201)); *f.Width != 3 || *f.Height != 2 {
			t.Errorf("%s: %d by %d", name, *f.Width, *f.Height)
		}
	}
	s.upload("alice", posts, "x.txt", "one too many").want(422, "validation_failed", "count")

	other := path("/threads/%d/posts/%d", s.threadOf("Members thread"), s.postOf("members first"))
	r := s.request("alice", "POST", other+"/attachments?name=a.txt", strings.Repeat("x", 10<<10+1))
	s.send(r).want(413, "payload_too_large")
	r = s.request("alice", "POST", other+"/attachments?name=a.txt", strings.Repeat("x", 10<<10+1))
	r.ContentLength = -1
	s.send(r).want(413, "payload_too_large")
	s.upload("alice", other, "a.txt", strings.Repeat("x", 10<<10)).want(201)
	s.send(s.request("alice", "POST", other+"/attachments", "x")).want(422, "validation_failed", "required")
	s.exec("INSERT INTO board_settings (name, value) VALUES ('member_mib', '1')")
	s.exec("UPDATE board_attachments SET size = 1048570 WHERE name = 'a.txt'")
	s.upload("alice", other, "b.txt", "more than there is").want(422, "validation_failed", "total")
	r = s.request("alice", "POST", other+"/attachments?name=a.txt", "x")
	r.Body = io.NopCloser(io.MultiReader(strings.NewReader("abc"), brokenReader{}))
	s.send(r).want(400, "invalid_body", "incomplete")
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
