package posts

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/attachments"
	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/markup"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// MayEditPost returns nil if the actor may edit a post, and otherwise an error with the reason.
func (s *Service) MayEditPost(ctx context.Context, a *rights.Actor, thread, id int64) error {
	return s.Read(ctx, func(c store.Conn) error {
		loaded, err := loadPost(c, a, thread, id, "")
		if err != nil {
			return err
		}
		_, err = s.mayEdit(a, loaded.forum, loaded.thread, loaded.post, s.Moment())
		return err
	})
}

// MayStart returns nil if the actor may start threads in a forum, and otherwise an error with the reason.
func (s *Service) MayStart(ctx context.Context, a *rights.Actor, forum int64) error {
	return s.Read(ctx, func(c store.Conn) error {
		f, err := content.ForumFor(c, a, forum)
		if err != nil {
			return err
		}
		return s.mayStart(a, f)
	})
}

// MayReply returns nil if the actor may reply in a thread, and otherwise an error with the reason.
func (s *Service) MayReply(ctx context.Context, a *rights.Actor, thread int64) error {
	return s.Read(ctx, func(c store.Conn) error {
		t, err := content.ThreadFor(c, a, thread, "")
		if err != nil {
			return err
		}
		return s.MayReplyIn(c, a, t)
	})
}

// MayReplyIn works like MayReply, in the transaction of another change that needs the same rights, such as a vote.
func (s *Service) MayReplyIn(c store.Conn, a *rights.Actor, t *content.Thread) error {
	f, err := content.ForumFor(c, a, t.Forum)
	if err != nil {
		return err
	}
	return s.mayReply(a, f, t)
}

// LockForTitle locks and returns a thread, for a change of its title or tags. It returns an error unless the actor may
// change the title; the same actors may change the tags.
func (s *Service) LockForTitle(c store.Conn, a *rights.Actor, thread int64) (*content.Thread, error) {
	t, err := content.ThreadFor(c, a, thread, c.Lock())
	if err != nil {
		return nil, err
	}
	f, err := content.ForumFor(c, a, t.Forum)
	if err != nil {
		return nil, err
	}
	if _, err := s.mayChange(c, a, f, t, ThreadChange{Title: &t.Title}); err != nil {
		return nil, err
	}
	return t, a.CheckSuspended(s.Moment())
}

// Preview renders a message as the post would show it, with filtered words replaced. post is 0 for a new post, which
// has no files yet.
func (s *Service) Preview(ctx context.Context, a *rights.Actor, message string, post int64) (string, error) {
	body, err := s.compose(ctx, a, message)
	if err := cmp.Or(err, body.err, body.unfit); err != nil {
		return "", err
	}
	return markup.WithPaths(body.html, post), nil
}

// Quote returns the message of a post as a quotation in Markdown. files are the post's files: the quotation refers to
// them by their paths instead of their names.
func Quote(p content.PostInfo, files []attachments.Attachment) string {
	var replacements []string
	for _, f := range slices.Backward(files) { // if several files have the same name, the newest one counts
		const link = "](attachment:"
		path := "](/attachments/" + kernel.Itoa(f.ID)
		// A Markdown link can have the name in angle brackets, as it is, or escaped, and a title may follow after a space.
		plain, escaped := link+f.Name, link+url.PathEscape(f.Name)
		replacements = append(replacements,
			"](<"+strings.TrimPrefix(plain, "](")+">", path,
			plain+")", path+")", plain+" ", path+" ",
			escaped+")", path+")", escaped+" ", path+" ")
	}
	message := strings.NewReplacer(replacements...).Replace(p.Message)
	var b strings.Builder
	b.WriteString("> **" + p.AuthorUsername + "** wrote:\n>\n")
	for line := range strings.Lines(message) {
		b.WriteString("> " + line)
	}
	return strings.TrimRight(b.String(), "\n") + "\n\n"
}
