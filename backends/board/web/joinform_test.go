package web

import (
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestJoinForm: what programs send is refused, and people are told what to do.
func TestJoinForm(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, Options{})
		carol := []string{"username", "carol", "email", "carol@example.com", "password", "a long password"}
		with := func(more ...string) []string { return append(append([]string(nil), carol...), more...) }
		stamp := func(p *shown) string {
			t.Helper()
			match := stampField.FindStringSubmatch(p.body)
			if match == nil {
				t.Fatalf("no stamp:\n%s", p.body)
			}
			return match[1]
		}
		b := s.guest()
		p := b.get("/register").want(200, `<div class="hidden" aria-hidden="true"><label for="homepage">Leave this empty</label><input id="homepage" name="homepage" tabindex="-1" autocomplete="off"></div>`).
			lacks(`id="answer"`)
		first := stamp(p)

		// The field that people do not see.
		p.join(with("homepage", "https://spam.example/")...).want(422, "A field that is not shown was filled in", `value="carol"`).lacks("spam.example")

		// Too soon, then not any more; the form that is shown again need not wait anew.
		p = b.get("/register")
		second := stamp(p)
		s.clock.advance(2 * time.Second)
		p = p.send("/register", with("stamp", second)...).want(422, "faster than people type; wait some seconds")
		if stamp(p) != second {
			t.Error("the form has to wait anew")
		}

		// Of another browser, made up, none, or too old.
		for what, bad := range map[string]string{"another browser": stamp(s.guest().get("/register")), "made up": strings.Repeat("A", 32), "none": ""} {
			s.clock.advance(time.Minute)
			if fresh := stamp(p.send("/register", with("stamp", bad)...).want(422, "open for too long")); fresh == bad {
				t.Errorf("%s: it stays", what)
			}
		}
		s.clock.advance(25 * time.Hour)
		p = p.send("/register", with("stamp", first)...).want(422, "open for too long")
		if stamp(p) == first {
			t.Error("it is shown again with the old stamp")
		}
		if n := s.number("SELECT count(*) FROM board_users WHERE username = 'carol'"); n != 0 {
			t.Fatal("carol has joined")
		}

		// A question.
		admin := s.as("ada")
		settings := func(more ...string) *shown {
			t.Helper()
			return admin.get("/admin/settings").send("/admin/settings", append([]string{"images", "1", "confirm_mail", "1"}, more...)...)
		}
		settings("question", "Which river?").want(422, `id="answers-problem"`, "give one at least")
		settings("question", "Which <river>?", "answers", "Danube\nDonau").want(200, "Saved.", "Which &lt;river&gt;?")
		p = b.get("/register").want(200, `<label for="answer">Which &lt;river&gt;?</label>`, `id="answer"`).lacks("Danube", "Donau")
		p = p.join(with("answer", "Rhine")...).want(422, "The answer is wrong", `value="Rhine"`, `id="answer-problem"`).lacks("Danube")
		p = p.join(carol...).want(422, "The answer is wrong")
		for range 18 {
			p.join(with("answer", "Elbe")...).want(422)
		}
		p.join(with("answer", "Oder")...).want(429, "Too many wrong answers")
		p.join(with("answer", "Donau")...).want(429, "Too many wrong answers").lacks("on its way")
		s.clock.advance(time.Hour)
		p.join(with("answer", " DONAU. ")...).want(200, "on its way to carol@example.com")

		// All of it can be switched off.
		admin = s.as("ada") // the password was given too long ago
		settings("question", "", "form_seconds", "0").want(200, "Saved.")
		p = s.guest().get("/register").lacks(`id="answer"`)
		p.send("/register", "username", "dora", "email", "dora@example.com", "password", "a long password").want(200, "on its way to dora@example.com")
	})
}
