package web

import (
	"strconv"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/internal/pages"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// The addresses of a forum that was imported lead to the pages of the board. Who may not see such a page gets the same
// answer as for an address that has never existed.

// oldRoutes are the addresses of other programs.
var oldRoutes = []page{
	oldPage("/viewtopic.php", "phpbb", oldName{"p", content.MovedPost}, oldName{"t", content.MovedThread}),
	oldPage("/viewforum.php", "phpbb", oldName{"f", content.MovedForum}),
	oldPage("/memberlist.php", "phpbb", oldName{"u", content.MovedMember}),
	oldPage("/download/file.php", "phpbb", oldName{"id", content.MovedFile}),
	oldPage("/showthread.php", "mybb", oldName{"pid", content.MovedPost}, oldName{"tid", content.MovedThread}),
	oldPage("/forumdisplay.php", "mybb", oldName{"fid", content.MovedForum}),
	oldPage("/member.php", "mybb", oldName{"uid", content.MovedMember}),
	oldPage("/attachment.php", "mybb", oldName{"aid", content.MovedFile}),
}

// oldName is a parameter of an old address and what it names.
type oldName struct{ parameter, kind string }

// oldPage returns the route of an address that names something in a parameter. The first that is known counts.
func oldPage(path, program string, names ...oldName) page {
	return page{Method: get, Path: path, Admit: guests, Serve: func(c *call) error {
		for _, name := range names {
			found, err := c.lead(program, name.kind, c.R.URL.Query().Get(name.parameter))
			if found || err != nil {
				return err
			}
		}
		return pages.NotFound()
	}}
}

// lead redirects to what had an id in another program. found is false if nothing had.
func (c *call) lead(program, kind, id string) (found bool, err error) {
	there, err := strconv.ParseInt(id, 10, 64)
	if err != nil || there < 1 {
		return false, nil //nolint:nilerr // it names nothing
	}
	var here int64
	err = c.Posts.Read(c.Context(), func(r store.Conn) (err error) {
		here, err = content.Moved(r, program, kind, there)
		return err
	})
	if err != nil || here == 0 {
		return false, err
	}
	to := "/" + kind + "s/" + itoa(here)
	switch kind {
	case content.MovedPost:
		_, err = c.Posts.PlaceOf(c.Context(), c.actor, here, postsPerPage)
	case content.MovedThread:
		place, placeErr := c.Posts.LastPlace(c.Context(), c.actor, here, postsPerPage)
		if err = placeErr; err == nil {
			to = pages.Slugged("/threads/", here, place.Thread.Slug)
		}
	case content.MovedForum:
		f, _, _, forumErr := c.Posts.Forum(c.Context(), c.actor, here)
		if err = forumErr; err == nil {
			to = pages.Slugged("/forums/", f.ID, f.Slug)
		}
	case content.MovedMember:
		_, err = c.Accounts.Profile(c.Context(), c.actor, here)
	case content.MovedFile:
		to = "/attachments/" + itoa(here)
		_, err = c.Posts.Attachment(c.Context(), c.actor, here)
	}
	if err != nil {
		return true, err
	}
	return true, c.RedirectForGood(to)
}
