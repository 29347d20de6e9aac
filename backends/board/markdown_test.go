package board

import (
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/api"
	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// TestMarkdownCorpus checks that titles, reasons and messages are returned as JSON text, and that the rendered
// message is safe.
func TestMarkdownCorpus(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		for i, line := range testenv.Scripts() {
			body := path(`{"title":%s,"message":%s}`, quoted(line), quoted(line))
			a := s.do("mod", "POST", path("/forums/%d/threads", s.forum("public")), body)
			if a.status == 422 {
				continue
			}
			created := data[api.Created](a.want(201))
			if strings.Trim(created.Slug, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
				t.Errorf("%d: slug %q", i, created.Slug)
			}
			p := data[content.PostInfo](s.do("", "GET", path("/threads/%d/posts/%d", created.ID, created.PostID), "").want(200))
			if testenv.Executable(p.MessageHTML) {
				t.Errorf("%q renders %q", line, p.MessageHTML)
			}
		}
		for _, name := range testenv.Scripts() {
			if strings.ContainsAny(name, "<>\"'&") && accounts.CheckName(name) == nil {
				t.Errorf("%q is a name", name)
			}
		}
	})
}
