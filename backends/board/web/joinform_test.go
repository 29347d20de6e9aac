package web_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/web"
	"github.com/tollgate-gateway/tollgate/internal/pages/pagestest"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestJoinForm checks that programs are refused, and that people are told what to do.
func TestJoinForm(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		carol := []string{"username", "carol", "email", "carol@example.com", "password", "a long password"}
		fields := func(more ...string) []string { return append(append([]string(nil), carol...), more...) }
		stamp := func(p *pagestest.Page) string {
			t.Helper()
			value := p.Hidden("stamp")
			if value == "" {
				t.Fatalf("no stamp:\n%s", p.Text)
			}
			return value
		}
		b := s.guest()
		p := b.Get("/register").Want(200, `<div class="hidden" aria-hidden="true"><label for="homepage">Leave this empty</label><input id="homepage" name="homepage" tabindex="-1" autocomplete="off"></div>`).
			Lacks(`id="answer"`)
		first := stamp(p)

		// The field is hidden from people.
		s.join(p, fields("homepage", "https://spam.example/")...).Want(422, "A field that is not shown was filled in", `value="carol"`).Lacks("spam.example")

		// The form is sent too soon, and then late enough; a form that is shown again need not wait again.
		p = b.Get("/register")
		second := stamp(p)
		s.clock.advance(2 * time.Second)
		p = p.Send("/register", fields("stamp", second)...).Want(422, "faster than people type; wait some seconds")
		if stamp(p) != second {
			t.Error("the form has to wait anew")
		}

		// The stamp is of another browser, forged, missing, or too old.
		for name, bad := range map[string]string{"another browser": stamp(s.guest().Get("/register")), "made up": strings.Repeat("A", 32), "none": ""} {
			s.clock.advance(time.Minute)
			if fresh := stamp(p.Send("/register", fields("stamp", bad)...).Want(422, "open for too long")); fresh == bad {
				t.Errorf("%s: it stays", name)
			}
		}
		s.clock.advance(25 * time.Hour)
		p = p.Send("/register", fields("stamp", first)...).Want(422, "open for too long")
		if stamp(p) == first {
			t.Error("it is shown again with the old stamp")
		}
		if n := s.number("SELECT count(*) FROM board_users WHERE username = 'carol'"); n != 0 {
			t.Fatal("carol has joined")
		}

		// A question must be answered.
		admin := s.as("ada")
		settings := func(more ...string) *pagestest.Page {
			t.Helper()
			return admin.Get("/admin/settings").Send("/admin/settings", append([]string{"images", "1", "confirm_mail", "1"}, more...)...)
		}
		settings("question", "Which river?").Want(422, `id="answers-problem"`, "at least one answer")
		settings("question", "Which <river>?", "answers", "Danube\nDonau").Want(200, "Saved.", "Which &lt;river&gt;?")
		p = b.Get("/register").Want(200, `<label for="answer">Which &lt;river&gt;?</label>`, `id="answer"`).Lacks("Danube", "Donau")
		p = s.join(p, fields("answer", "Rhine")...).Want(422, "The answer is wrong", `value="Rhine"`, `id="answer-problem"`).Lacks("Danube")
		p = s.join(p, carol...).Want(422, "The answer is wrong")
		for range 18 {
			s.join(p, fields("answer", "Elbe")...).Want(422)
		}
		s.join(p, fields("answer", "Oder")...).Want(429, "Too many wrong answers")
		s.join(p, fields("answer", "Donau")...).Want(429, "Too many wrong answers").Lacks("on its way")
		s.clock.advance(time.Hour)
		s.join(p, fields("answer", " DONAU. ")...).Want(200, "on its way to carol@example.com")

		// All of these checks can be switched off.
		admin = s.as("ada") // the password was given too long ago
		settings("question", "", "form_seconds", "0").Want(200, "Saved.")
		p = s.guest().Get("/register").Lacks(`id="answer"`)
		p.Send("/register", "username", "dora", "email", "dora@example.com", "password", "a long password").Want(200, "on its way to dora@example.com")
	})
}
