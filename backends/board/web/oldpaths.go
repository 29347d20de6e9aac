package web

import (
	"path"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/pages"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// redirectNumbered returns a function that works like redirectMoved, but for a post of one thread. oldThread is the
// id that the thread had in the other program. The last argument of the returned function is the number of the post
// in the thread.
func (c *call) redirectNumbered(oldThread string) func(program, kind, number string) (found bool, err error) {
	return func(program, kind, number string) (bool, error) {
		threadID, _ := strconv.ParseInt(oldThread, 10, 64)
		n, _ := strconv.ParseInt(number, 10, 64)
		if n <= 1 { // the URL has no post or the first one, so it leads to the thread
			return false, nil
		}
		return c.redirectTo(kind, func(r store.Conn) (int64, error) {
			return content.MovedPostByNumber(r, program, threadID, n)
		})
	}
}

// oldMember redirects the URL of a member in Discourse or Flarum.
func (c *call) oldMember() error {
	name := text.Fold(strings.ToValidUTF8(c.R.PathValue("old"), "\uFFFD"))
	return orNotFound(c.redirectTo(content.MovedMember, func(r store.Conn) (id int64, err error) {
		return id, kernel.IgnoreNoRows(r.Row("SELECT id FROM board_users WHERE username_key = ? AND id IN"+
			" (SELECT new_id FROM board_moved WHERE program IN ('discourse', 'flarum') AND kind = 'member')",
			name).Scan(&id))
	}))
}

// oldTag redirects the URL of a tag in Flarum to the forum that the tag has become here. The forum's URL has the same
// name as the tag's URL.
func (c *call) oldTag(old string) error {
	name, tagged := strings.CutPrefix(old, "/t/")
	if !tagged {
		return pages.NotFound()
	}
	if err := guests(c); err != nil || c.Answered() {
		return err
	}
	return orNotFound(c.redirectTo(content.MovedForum, func(r store.Conn) (id int64, err error) {
		return id, kernel.IgnoreNoRows(r.Row("SELECT id FROM board_forums WHERE slug = ? AND id IN (SELECT new_id FROM board_moved"+
			" WHERE program = 'flarum' AND kind = 'forum')", kernel.Slug(name)).Scan(&id))
	}))
}

// oldUpload redirects the URL of a file in Discourse. The name of the file contains a checksum of the file's content.
func (c *call) oldUpload() error {
	old := c.R.PathValue("old")
	sum := content.MovedSumID(path.Base(old), strings.HasPrefix(old, "short-url/"))
	return orNotFound(c.redirectTo(content.MovedFile, func(r store.Conn) (int64, error) {
		return content.MovedID(r, "discourse", content.MovedSum, sum)
	}))
}

// orNotFound converts the results of redirectTo to an error for the user: not found if there was no object to redirect
// to.
func orNotFound(found bool, err error) error {
	if !found && err == nil {
		err = pages.NotFound()
	}
	return err
}
