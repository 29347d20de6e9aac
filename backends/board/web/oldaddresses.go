package web

import (
	"regexp"
	"strconv"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/internal/pages"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// The URLs of an imported forum redirect to the pages of the board. If a user may not see such a page, the response is
// the same as for a URL that never existed.

// oldRoutes lists the URLs of other programs.
var oldRoutes = []page{
	oldPage("/viewtopic.php", "phpbb", oldName{"p", content.MovedPost}, oldName{"t", content.MovedThread}),
	oldPage("/viewforum.php", "phpbb", oldName{"f", content.MovedForum}),
	oldPage("/memberlist.php", "phpbb", oldName{"u", content.MovedMember}),
	oldPage("/download/file.php", "phpbb", oldName{"id", content.MovedFile}),

	oldPage("/showthread.php", "mybb", oldName{"pid", content.MovedPost}, oldName{"tid", content.MovedThread}),
	oldPage("/forumdisplay.php", "mybb", oldName{"fid", content.MovedForum}),
	oldPage("/member.php", "mybb", oldName{"uid", content.MovedMember}),
	oldPage("/attachment.php", "mybb", oldName{"aid", content.MovedFile}),
	{Method: get, Path: "/{old}", Admit: everybody, Serve: (*call).oldPath},

	{Method: get, Path: "/threads/{old}/{$}", Admit: everybody, Serve: (*call).oldPath},
	{Method: get, Path: "/threads/{old}/{part}", Admit: everybody, Serve: (*call).oldPath},
	{Method: get, Path: "/posts/{old}/{$}", Admit: everybody, Serve: (*call).oldPath},
	{Method: get, Path: "/forums/{old}/{$}", Admit: everybody, Serve: (*call).oldPath},
	{Method: get, Path: "/members/{old}/{$}", Admit: everybody, Serve: (*call).oldPath},
	{Method: get, Path: "/attachments/{old}/{$}", Admit: everybody, Serve: (*call).oldPath},

	{Method: get, Path: "/t/{old...}", Admit: everybody, Serve: (*call).oldPath},
	{Method: get, Path: "/c/{old...}", Admit: everybody, Serve: (*call).oldPath},
	{Method: get, Path: "/p/{old...}", Admit: everybody, Serve: (*call).oldPath},
	{Method: get, Path: "/u/{old}", Admit: guests, Serve: (*call).oldMember},
	{Method: get, Path: "/uploads/{old...}", Admit: guests, Serve: (*call).oldUpload},

	{Method: get, Path: "/d/{old...}", Admit: everybody, Serve: (*call).oldPath},
}

// oldName is a parameter of an old URL and the kind of object that the parameter identifies, such as a thread. kind is
// one of the constants such as content.MovedThread.
type oldName struct{ parameter, kind string }

// oldPage returns the route for old URLs with this path. Such a URL identifies an object by one of the parameters in
// names. The route redirects to the object of the first parameter whose object was imported.
func oldPage(path, program string, names ...oldName) page {
	return page{Method: get, Path: path, Admit: guests, Serve: func(c *call) error {
		for _, name := range names {
			found, err := c.redirectMoved(program, name.kind, c.R.URL.Query().Get(name.parameter))
			if found || err != nil {
				return err
			}
		}
		return pages.NotFound()
	}}
}

// oldForms lists the forms of old URLs whose path contains ids. The groups of each expression are the word for the kind
// of object, the object's id and, optionally, a post. The post is given by its id or, in Discourse and Flarum, by its
// number in the thread.
var oldForms = []struct {
	program string
	form    *regexp.Regexp
}{
	{"mybb", regexp.MustCompile(`/(thread|forum|user)-(\d{1,18})(?:-post-(\d{1,18})|-page-\d{1,9})?\.html$`)},
	{"xenforo", regexp.MustCompile(`[/?](threads|forums|members|posts|attachments)/(?:[^/]*\.)?(\d{1,18})/` +
		`(?:post-(\d{1,18})|page-\d{1,9})?$`)},
	{"discourse", regexp.MustCompile(`/(t)/(?:[^/]+/)*?(\d{1,18})(?:/(\d{1,18}))?(?:/.*)?$`)},
	{"flarum", regexp.MustCompile(`/(d)/(\d{1,18})(?:-[^/]*)?(?:/(\d{1,18}))?$`)},
	{"discourse", regexp.MustCompile(`/(c|p)/(?:[^/]+/)*?(\d{1,18})()(?:/.*)?$`)},
}

// oldKinds maps the words for kinds of objects in oldForms to the kinds.
var oldKinds = map[string]string{
	"thread": content.MovedThread, "threads": content.MovedThread, "t": content.MovedThread, "forum": content.MovedForum,
	"forums": content.MovedForum, "user": content.MovedMember, "members": content.MovedMember,
	"posts": content.MovedPost, "attachments": content.MovedFile, "c": content.MovedForum, "p": content.MovedPost,
	"d": content.MovedThread,
}

// oldPath redirects an old URL. The path of such a URL, or the query of index.php, has one of the oldForms, or the
// URL is that of a tag in Flarum. For such URLs, oldPath checks whether the user may use the board. All other URLs
// are not found, for every user.
func (c *call) oldPath() error {
	path := c.R.URL.Path
	if c.R.PathValue("old") == "index.php" {
		path += "?" + c.R.URL.RawQuery
	}
	for _, f := range oldForms {
		match := f.form.FindStringSubmatch(path)
		if match == nil {
			continue
		}
		if err := guests(c); err != nil || c.Answered() {
			return err
		}
		redirectToPost := c.redirectMoved
		if f.program == "discourse" || f.program == "flarum" {
			redirectToPost = c.redirectNumbered(match[2])
		}
		// If the URL names no post, match[3] is empty and no post is found.
		found, err := redirectToPost(f.program, content.MovedPost, match[3])
		if !found && err == nil {
			found, err = c.redirectMoved(f.program, oldKinds[match[1]], match[2])
		}
		if found || err != nil {
			return err
		}
	}
	return c.oldTag(path)
}

// redirectMoved redirects to the object that had this id in another program. found is false if no such object was
// imported.
func (c *call) redirectMoved(program, kind, id string) (found bool, err error) {
	oldID, err := strconv.ParseInt(id, 10, 64)
	if err != nil || oldID < 1 {
		return false, nil // no object has such an id
	}
	return c.redirectTo(kind, func(r store.Conn) (int64, error) { return content.MovedID(r, program, kind, oldID) })
}

// redirectTo redirects to the object with the id that find returns. kind is the kind of the object. If find returns
// 0, found is false. If the user may not see the object, found is true and redirectTo returns an error.
func (c *call) redirectTo(kind string, find func(r store.Conn) (int64, error)) (found bool, err error) {
	var id int64
	err = c.Posts.Read(c.Context(), func(r store.Conn) (err error) {
		id, err = find(r)
		return err
	})
	if err != nil || id == 0 {
		return false, err
	}
	location := "/" + kind + "s/" + itoa(id)
	// Reading the object fails if the user may not see it.
	switch kind {
	case content.MovedPost:
		_, err = c.Posts.PlaceOf(c.Context(), c.actor, id, postsPerPage)
	case content.MovedThread:
		place, placeErr := c.Posts.LastPlace(c.Context(), c.actor, id, postsPerPage)
		if err = placeErr; err == nil {
			location = pages.Slugged("/threads/", id, place.Thread.Slug)
		}
	case content.MovedForum:
		f, _, _, forumErr := c.Posts.Forum(c.Context(), c.actor, id)
		if err = forumErr; err == nil {
			location = pages.Slugged("/forums/", f.ID, f.Slug)
		}
	case content.MovedMember:
		_, err = c.Accounts.Profile(c.Context(), c.actor, id)
	case content.MovedFile:
		location = "/attachments/" + itoa(id)
		_, err = c.Posts.Attachment(c.Context(), c.actor, id)
	}
	if err != nil {
		return true, err
	}
	return true, c.RedirectForGood(location)
}
