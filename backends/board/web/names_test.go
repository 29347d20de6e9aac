package web_test

import (
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/web"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestNamesAlike checks that nobody can join under a name that looks like an existing one, and that administrators
// see older names that look alike.
func TestNamesAlike(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		p := s.guest().Get("/register").Want(200)
		for name, problem := range map[string]string{
			"adа": "mixes scripts", "b0b": "looks like that of another", "Adrnin": "is reserved", "bo\u200bb": "cannot be seen",
		} {
			s.join(p, "username", name, "email", "x@example.com", "password", "a long password").Want(422, problem, `id="username-problem"`)
		}
		ada := s.as("ada")
		ada.Get("/admin/members").Want(200, `href="/admin/names"`)
		ada.Get("/admin/names").Want(200, "No two members")
		s.exec("UPDATE board_users SET username = 'B0b', username_key = 'b0b' WHERE username = 'eve'")
		s.exec("DELETE FROM board_names")
		s.exec("UPDATE board_settings SET value = '0' WHERE name = 'names_filled'")
		s.join(p, "username", "carol", "email", "x@example.com", "password", "a long password").Want(503, "takes no new members meanwhile")
		if n, err := s.service.Accounts.FillNames(t.Context()); err != nil || n != 6 {
			t.Fatal(n, err)
		}
		ada.Get("/admin/names").Want(200, "<bdi>B0b</bdi>", "<bdi>bob</bdi>", at("/admin/members/%d", s.user("bob")))
		s.as("B0b").Get("/").Want(200, "Sign out")
	})
}
