package api

import (
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/backends/board/search"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// Identity is the member who owns a token, with the token's scopes.
type Identity struct {
	UserID    int64          `json:"userId"`
	Username  string         `json:"username"`
	Scopes    []string       `json:"scopes"`
	Groups    []string       `json:"groups"`
	TokenName string         `json:"tokenName"`
	ExpiresAt *kernel.Moment `json:"expiresAt"`
}

// getMe serves GET /me.
func (s *service) getMe(_ *rest.Call, a *rights.Actor) (any, error) {
	me := Identity{UserID: a.ID(), Username: a.User.Name, Scopes: rights.Scopes, Groups: a.Rights.Groups}
	if a.Token != nil {
		me.Scopes, me.TokenName, me.ExpiresAt = a.Token.Scopes, a.Token.Name, kernel.NilIfZero(a.Token.ExpiresAt)
	}
	if me.Groups == nil {
		me.Groups = []string{}
	}
	return envelope{me}, nil
}

// getForums serves GET /forums.
func (s *service) getForums(c *rest.Call, a *rights.Actor) (any, error) {
	list, err := s.Posts.Forums(c.R.Context(), a)
	if err == nil {
		c.Tell(kernel.Tag(list))
	}
	return envelope{list}, err
}

// getThreads serves GET /forums/{forumId}/threads.
func (s *service) getThreads(c *rest.Call, a *rights.Actor) (any, error) {
	in := noBody(c)
	limit, forum := in.limit(), in.id("forumId")
	values, found := c.R.URL.Query()["after"] // at most one value; see admit
	if found && values[0] == "" {
		in.note(kernel.BadRequest("after", "after must be the nextCursor of a page of this list, unchanged"))
	}
	if err := in.finish(); err != nil {
		return nil, err
	}
	list, next, err := s.Posts.Threads(c.R.Context(), a, forum, strings.Join(values, ""), limit)
	if err != nil {
		return nil, err
	}
	return rest.Raw{Type: JsonType, Data: threadPage(list, next)}, nil
}

// threadPage encodes a page of threads as JSON: an object with the members data and nextCursor.
func threadPage(list []content.ThreadInfo, next string) []byte {
	out := make([]byte, 0, 64+448*len(list)) // enough for most lists
	out = content.AppendThreads(append(out, `{"data":`...), list)
	out = append(out, `,"nextCursor":`...)
	if next == "" {
		return append(out, "null}\n"...)
	}
	return append(jsontext.AppendQuoted(out, next), "}\n"...)
}

// Created describes a new thread.
type Created struct {
	ID         int64  `json:"id"`
	PostID     int64  `json:"postId"`
	Slug       string `json:"slug"`
	Visibility string `json:"visibility"`
}

// postThread serves POST /forums/{forumId}/threads.
func (s *service) postThread(c *rest.Call, a *rights.Actor) (any, error) {
	in := withBody(c)
	request := posts.NewThread{
		Title: in.Object.Text("title"), Message: in.Object.Text("message"), Prefix: orZero(in.Nullable("prefixId")),
		Subscribe: orZero(in.Flag("subscribe")),
	}
	once, forum := in.once(), in.id("forumId")
	if err := in.finish(); err != nil {
		return nil, err
	}
	done, err := s.Posts.StartThread(c.R.Context(), a, forum, request, once)
	if err != nil {
		return nil, err
	}
	s.locate(c, "/threads/"+kernel.Itoa(done.Thread))
	return envelope{Created{done.Thread, done.Post, done.Slug, rights.VisibilityNames[done.Visibility]}}, nil
}

// getThread serves GET /threads/{threadId}.
func (s *service) getThread(c *rest.Call, a *rights.Actor, id int64) (any, error) {
	view, err := s.Posts.Thread(c.R.Context(), a, id)
	if err == nil {
		s.Posts.CountView(view.ID)
	}
	return envelope{view}, err
}

// PostPage is a page of posts.
type PostPage struct {
	Data        []content.PostInfo `json:"data"`
	NextAfterID *int64             `json:"nextAfterId"`
}

// getPosts serves GET /threads/{threadId}/posts.
func (s *service) getPosts(c *rest.Call, a *rights.Actor) (any, error) {
	in := noBody(c)
	cursor, limit := in.page()
	thread := in.id("threadId")
	if err := in.finish(); err != nil {
		return nil, err
	}
	list, more, err := s.Posts.Posts(c.R.Context(), a, thread, cursor, limit)
	page := PostPage{Data: list}
	if more {
		page.NextAfterID = &list[len(list)-1].ID
	}
	return page, err
}

// Replied is the response to a reply: where the post is, and whether it is held.
type Replied struct {
	ID         int64  `json:"id"`
	ThreadID   int64  `json:"threadId"`
	Visibility string `json:"visibility"`
}

// postReply serves POST /threads/{threadId}/posts.
func (s *service) postReply(c *rest.Call, a *rights.Actor) (any, error) {
	in := withBody(c)
	request := posts.NewReply{Message: in.Object.Text("message"), Subscribe: orZero(in.Flag("subscribe"))}
	once, thread := in.once(), in.id("threadId")
	if err := in.finish(); err != nil {
		return nil, err
	}
	done, err := s.Posts.Reply(c.R.Context(), a, thread, request, once)
	if err != nil {
		return nil, err
	}
	s.locate(c, "/threads/"+kernel.Itoa(thread)+"/posts/"+kernel.Itoa(done.Post))
	return envelope{Replied{done.Post, thread, rights.VisibilityNames[done.Visibility]}}, nil
}

// Edited describes a post after an edit.
type Edited struct {
	ID              int64 `json:"id"`
	ThreadID        int64 `json:"threadId"`
	Changed         bool  `json:"changed"`
	HeldForApproval bool  `json:"heldForApproval"`
}

// patchPost serves PATCH /threads/{threadId}/posts/{postId}.
func (s *service) patchPost(c *rest.Call, a *rights.Actor) (any, error) {
	in := withBody(c)
	edit := posts.PostEdit{Message: in.Object.Text("message"), Reason: orZero(in.OptionalText("reason"))}
	thread, id := in.post()
	edit.Match = in.match()
	if err := in.finish(); err != nil {
		return nil, err
	}
	done, err := s.Posts.Edit(c.R.Context(), a, thread, id, edit)
	if err == nil {
		c.Tell(done.Tag)
	}
	return envelope{Edited{id, thread, done.Changed, done.Held}}, err
}

// orZero returns *value, or the zero value if value is nil.
func orZero[T any](value *T) (zero T) {
	if value == nil {
		return zero
	}
	return *value
}

// getPost serves GET /threads/{threadId}/posts/{postId}.
func (s *service) getPost(c *rest.Call, a *rights.Actor, thread, id int64) (any, error) {
	view, err := s.Posts.PostInfo(c.R.Context(), a, thread, id)
	if err == nil {
		c.Tell(view.Tag())
	}
	return envelope{view}, err
}

// RevisionInfo is the view of a former version of a post for clients.
type RevisionInfo struct {
	Revision         int64         `json:"revision"`
	Message          string        `json:"message"`
	EditedByUsername string        `json:"editedByUsername"`
	EditedAt         kernel.Moment `json:"editedAt"`
	Reason           *string       `json:"reason"`
}

// getRevisions serves GET /threads/{threadId}/posts/{postId}/revisions.
func (s *service) getRevisions(c *rest.Call, a *rights.Actor, thread, id int64) (any, error) {
	list, err := s.Posts.Revisions(c.R.Context(), a, thread, id, 0, kernel.MaxPage)
	return envelope{each(list, viewRevision)}, err
}

// viewRevision returns the view of a former version of a post for clients.
func viewRevision(r posts.Revision) RevisionInfo {
	view := RevisionInfo{r.Number, r.Message, r.EditedBy, r.EditedAt, nil}
	if r.Reason != "" {
		view.Reason = &r.Reason
	}
	return view
}

// Removed describes a deleted post.
type Removed struct {
	ID       int64 `json:"id"`
	ThreadID int64 `json:"threadId"`
	Changed  bool  `json:"changed"`
}

// deletePost serves DELETE /threads/{threadId}/posts/{postId}.
func (s *service) deletePost(c *rest.Call, a *rights.Actor) (any, error) {
	in := noBody(c)
	thread, id := in.post()
	match := in.match()
	if err := in.finish(); err != nil {
		return nil, err
	}
	changed, err := s.Posts.Delete(c.R.Context(), a, thread, id, match)
	return envelope{Removed{id, thread, changed}}, err
}

// patchThread serves PATCH /threads/{threadId}.
func (s *service) patchThread(c *rest.Call, a *rights.Actor) (any, error) {
	in := withBody(c)
	change := posts.ThreadChange{
		Title: in.OptionalText("title"), Prefix: in.Nullable("prefixId"), Locked: in.Flag("isLocked"),
		Sticky: in.Flag("isSticky"), Forum: in.Integer("forumId"),
	}
	id := in.id("threadId")
	if err := in.finish(); err != nil {
		return nil, err
	}
	if err := s.Posts.Change(c.R.Context(), a, id, change); err != nil {
		return nil, err
	}
	view, err := s.Posts.Thread(c.R.Context(), a, id)
	return envelope{view}, err
}

// page is a page of a list. The next page begins after NextAfterID, which is null on the last page.
type page struct {
	Data        any    `json:"data"`
	NextAfterID *int64 `json:"nextAfterId"`
}

// postReset requests a link to set a new password. The response does not reveal whether a member has the address.
func (s *service) postReset(c *rest.Call, _ *rights.Actor) (any, error) {
	in := withBody(c)
	email := in.Object.Text("email")
	if err := in.finish(); err != nil {
		return nil, err
	}
	return nil, s.Accounts.AskReset(c.R.Context(), email, s.kernel.Address(c.R))
}

// postConfirmation sends the link that confirms the mail address of the token's owner again.
func (s *service) postConfirmation(c *rest.Call, a *rights.Actor) (any, error) {
	return nil, s.Accounts.AskEmailAgain(c.R.Context(), a, s.kernel.Address(c.R))
}

// MemberInfo is the view of a member for others.
type MemberInfo struct {
	UserID    int64         `json:"userId"`
	Username  string        `json:"username"`
	Title     string        `json:"title"`
	Bio       string        `json:"bio"`
	PostCount int64         `json:"postCount"`
	JoinedAt  kernel.Moment `json:"joinedAt"`
}

// Member returns the view of a member for others.
func Member(u *rights.User) MemberInfo {
	return MemberInfo{u.ID, u.Name, u.Title, u.Bio, u.PostCount, u.JoinedAt}
}

// getMember serves GET /members/{userId}.
func (s *service) getMember(c *rest.Call, a *rights.Actor, id int64) (any, error) {
	u, err := s.Accounts.Profile(c.R.Context(), a, id)
	if err != nil {
		return nil, err
	}
	return envelope{Member(u)}, nil
}

// FoundInfo is a post that a search found.
type FoundInfo struct {
	ThreadTitle string           `json:"threadTitle"`
	ForumID     int64            `json:"forumId"`
	Post        content.PostInfo `json:"post"`
}

// ViewFound returns the view of a found post for clients.
func ViewFound(f search.Found) FoundInfo {
	return FoundInfo{f.Thread.Title, f.Thread.Forum, content.ViewPost(f.Post)}
}

// getSearch serves GET /search.
func (s *service) getSearch(c *rest.Call, a *rights.Actor) (any, error) {
	in := noBody(c)
	cursor, limit := in.page()
	forum := in.number("forum", 1)
	if err := in.finish(); err != nil {
		return nil, err
	}
	list, next, err := s.Search.Find(c.R.Context(), a,
		search.Query{Text: c.Text("q"), Forum: forum, Author: c.Text("author"), After: cursor, Limit: limit})
	return page{each(list, ViewFound), kernel.NilIfZero(next)}, err
}
