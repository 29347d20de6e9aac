package web

import (
	"strconv"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/internal/pages"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// The addresses of a forum of phpBB that was imported lead to the pages of the board. Who may not see such a page gets
// the same answer as for an address that has never existed.

const phpbb = "phpbb"

// moved returns the id here of what a parameter of an old address names, or 0.
func (c *call) moved(kind, parameter string) (here int64, err error) {
	there, err := strconv.ParseInt(c.R.URL.Query().Get(parameter), 10, 64)
	if err != nil || there < 1 {
		return 0, nil //nolint:nilerr // it names nothing
	}
	err = c.Posts.Read(c.Context(), func(r store.Conn) (err error) {
		here, err = content.Moved(r, phpbb, kind, there)
		return err
	})
	return here, err
}

// oldTopic answers /viewtopic.php?t=1 and /viewtopic.php?p=2.
func (c *call) oldTopic() error {
	post, err := c.moved(content.MovedPost, "p")
	if err != nil {
		return err
	}
	if post != 0 {
		if _, err := c.Posts.PlaceOf(c.Context(), c.actor, post, postsPerPage); err != nil {
			return err
		}
		return c.RedirectForGood("/posts/" + itoa(post))
	}
	thread, err := c.moved(content.MovedThread, "t")
	if err != nil {
		return err
	}
	if thread == 0 {
		return pages.NotFound()
	}
	place, err := c.Posts.LastPlace(c.Context(), c.actor, thread, postsPerPage)
	if err != nil {
		return err
	}
	return c.RedirectForGood(pages.Slugged("/threads/", thread, place.Thread.Slug))
}

// oldForum answers /viewforum.php?f=1.
func (c *call) oldForum() error {
	forum, err := c.moved(content.MovedForum, "f")
	if err != nil {
		return err
	}
	if forum == 0 {
		return pages.NotFound()
	}
	f, _, _, err := c.Posts.Forum(c.Context(), c.actor, forum)
	if err != nil {
		return err
	}
	return c.RedirectForGood(pages.Slugged("/forums/", f.ID, f.Slug))
}

// oldMember answers /memberlist.php?mode=viewprofile&u=1.
func (c *call) oldMember() error {
	member, err := c.moved(content.MovedMember, "u")
	if err != nil {
		return err
	}
	if member == 0 {
		return pages.NotFound()
	}
	if _, err := c.Accounts.Profile(c.Context(), c.actor, member); err != nil {
		return err
	}
	return c.RedirectForGood("/members/" + itoa(member))
}

// oldFile answers /download/file.php?id=1.
func (c *call) oldFile() error {
	file, err := c.moved(content.MovedFile, "id")
	if err != nil {
		return err
	}
	if file == 0 {
		return pages.NotFound()
	}
	if _, err := c.Posts.Attachment(c.Context(), c.actor, file); err != nil {
		return err
	}
	return c.RedirectForGood("/attachments/" + itoa(file))
}
