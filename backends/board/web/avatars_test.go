package web_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/web"
	"github.com/tollgate-gateway/tollgate/internal/imagemeta/imagetest"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestAvatars checks that members set and remove their pictures, that pages show them to those who may read, and that
// moderators remove them.
func TestAvatars(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		bob, thread := s.as("bob"), at("/threads/%d", s.thread("Open thread"))
		picture := regexp.MustCompile(`/avatars/\d+/[0-9a-f]{16}`)
		account := bob.Get("/account").Want(200, "first letter").Lacks("Remove the picture")
		token := account.Hidden("token")
		for name, file := range map[string]struct {
			name, content string
			status        int
			says          string
		}{
			"a text":          {"me.txt", "hello", 422, "PNG, JPEG or WebP"},
			"an animation":    {"me.gif", imagetest.Picture(t, "gif", 8, 8), 422, "PNG, JPEG or WebP"},
			"a broken image":  {"me.png", "\x89PNG\r\n\x1a\nxxxx", 422, "image"},
			"too many pixels": {"me.png", imagetest.Picture(t, "png", 2049, 1), 422, "2048 pixels"},
			"too many bytes":  {"me.png", imagetest.Picture(t, "png", 8, 8) + strings.Repeat("x", 600<<10), 413, ""},
		} {
			p := sendFile(account, "/account/picture", token, file.name, file.content)
			if p.Want(file.status); !strings.Contains(p.Text, file.says) {
				t.Errorf("%s: the page lacks %q", name, file.says)
			}
		}
		sendFile(account, "/account/picture", "wrong", "me.png", imagetest.Picture(t, "png", 8, 8)).Want(403)
		sendFile(account, "/account/picture", token, "me.png", imagetest.Picture(t, "png", 8, 8)).Want(200, "The picture is saved", "Remove the picture")
		sendFile(account, "/account/picture", token, "me.png", imagetest.Picture(t, "png", 9, 8)).Want(422, "wait a minute")

		guest := s.guest()
		path := picture.FindString(guest.Get(thread).Want(200).Text)
		if path == "" {
			t.Fatal("the thread does not show the picture")
		}
		for _, page := range []string{at("/forums/%d", s.forum("public")), at("/members/%d", s.number("SELECT id FROM board_users WHERE username = 'bob'"))} {
			guest.Get(page).Want(200, path)
		}
		shown := guest.Get(path).Want(200)
		if h := shown.Header; h.Get("Content-Type") != "image/png" || !strings.Contains(h.Get("Cache-Control"), "immutable") || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("headers %v", h)
		}
		guest.Get(path[:len(path)-1] + "x").Want(404)
		shown.Do(http.MethodGet, path, "", "If-None-Match", shown.Header.Get("ETag")).Want(304)

		// Another picture has another path.
		s.clock.advance(time.Minute)
		sendFile(account, "/account/picture", token, "me.webp", imagetest.Picture(t, "png", 9, 8)).Want(422)
		sendFile(account, "/account/picture", token, "me.png", imagetest.Picture(t, "png", 9, 8)).Want(200)
		guest.Get(path).Want(404)
		bob.Get("/account").Send("/account/picture/remove").Want(200, "The picture is removed", "first letter")
		if picture.MatchString(guest.Get(thread).Text) {
			t.Error("the picture that was removed is shown")
		}

		s.clock.advance(time.Minute)
		sendFile(account, "/account/picture", token, "me.png", imagetest.Picture(t, "png", 8, 8)).Want(200)
		member := at("/members/%d", s.number("SELECT id FROM board_users WHERE username = 'bob'"))
		s.as("eve").Get(member).Want(200).Lacks("Remove the picture").Send(member+"/record", "do", "picture").Want(404)
		s.as("mod").Get(member).Want(200, "Remove the picture").Send(member+"/record", "do", "picture").Want(200, "The picture is removed").Lacks("/avatars/")
		if s.number("SELECT count(*) FROM board_moderation_log WHERE action = 'picture.remove'") != 1 {
			t.Error("nothing is logged")
		}

		// Pictures that are no longer used are swept, and a picture that is used stays.
		s.clock.advance(2 * time.Minute)
		sendFile(account, "/account/picture", token, "me.png", imagetest.Picture(t, "png", 7, 7)).Want(200)
		path = picture.FindString(guest.Get(thread).Text)
		s.clock.advance(2 * time.Hour)
		if n, err := s.service.Attachments.SweepAttachments(t.Context()); err != nil || n != 2 {
			t.Errorf("%d contents are swept, %v", n, err)
		}
		guest.Get(path).Want(200)
	})
}

// TestStaff checks that the staff is marked, and others are not.
func TestStaff(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t), web.Options{})
	s.guest().Get(at("/threads/%d", s.thread("Sticky thread"))).Want(200, `<span class="tag staff">moderators</span>`)
	s.guest().Get(at("/threads/%d", s.thread("Open thread"))).Want(200).Lacks("tag staff")
	ada := at("/members/%d", s.number("SELECT id FROM board_users WHERE username = 'ada'"))
	s.guest().Get(ada).Want(200, `<span class="tag staff">administrators</span>`)
}
