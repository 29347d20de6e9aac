package posts

import (
	"context"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/markup"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// withMentions returns rendered HTML with links from mentions to the profiles of the members. If the actor may not see
// profiles, mentions stay text.
func (s *Service) withMentions(ctx context.Context, a *rights.Actor, html string) (string, error) {
	names := markup.Names(html)
	if len(names) == 0 || !a.May(rights.ProfileView) {
		return html, nil
	}
	ids := make(map[string]int64, len(names)) // by name
	err := s.Read(ctx, func(c store.Conn) error {
		return c.All("SELECT username_key, id FROM board_users WHERE username_key IN ("+kernel.Marks(len(names))+")"+
			" AND state IN ('active', 'banned')", kernel.Args(names), func(r store.Row) error {
			var key string
			var id int64
			err := r.Scan(&key, &id)
			ids[key] = id
			return err
		})
	})
	return markup.Linked(html, ids), err
}

// mentionNew notifies the members whom an edit has added to the mentions in a post. html is the new HTML, and p
// has the former HTML.
func (s *Service) mentionNew(c store.Conn, a *rights.Actor, t *content.Thread, p *content.Post, html string) error {
	former := p.Mentioned()
	return s.following.Mention(c, a.User, t, p.ID, slices.DeleteFunc(markup.Mentioned(html), func(id int64) bool {
		return slices.Contains(former, id)
	}))
}
