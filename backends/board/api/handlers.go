package api

import (
	"context"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/following"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/backends/board/search"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// Identity is who a token acts for.
type Identity struct {
	UserID    int64          `json:"userId"`
	Username  string         `json:"username"`
	Scopes    []string       `json:"scopes"`
	Groups    []string       `json:"groups"`
	TokenName string         `json:"tokenName"`
	ExpiresAt *kernel.Moment `json:"expiresAt"`
}

func (s *service) getMe(_ *rest.Call, a *rights.Actor) (any, error) {
	me := Identity{UserID: a.ID(), Username: a.User.Name, Scopes: rights.Scopes, Groups: a.Rights.Groups}
	if a.Token != nil {
		me.Scopes, me.TokenName, me.ExpiresAt = a.Token.Scopes, a.Token.Name, kernel.OrNull(a.Token.ExpiresAt)
	}
	if me.Groups == nil {
		me.Groups = []string{}
	}
	return envelope{me}, nil
}

func (s *service) getForums(c *rest.Call, a *rights.Actor) (any, error) {
	list, err := s.posts.Forums(c.R.Context(), a)
	if err == nil {
		c.Tell(kernel.Tag(list))
	}
	return envelope{list}, err
}

// ThreadPage is a page of threads.
type ThreadPage struct {
	Data       []content.ThreadInfo `json:"data"`
	NextCursor *string              `json:"nextCursor"`
}

func (s *service) getThreads(c *rest.Call, a *rights.Actor) (any, error) {
	in := noBody(c)
	most, forum := in.limit(), in.id("forumId")
	after, given := c.R.URL.Query()["after"]
	if given && after[0] == "" {
		in.note(kernel.BadRequest("after", "after must be the nextCursor of a page of this forum, unchanged"))
	}
	if err := in.finish(); err != nil {
		return nil, err
	}
	list, next, err := s.posts.Threads(c.R.Context(), a, forum, strings.Join(after, ""), most)
	if err != nil {
		return nil, err
	}
	return rest.Raw{Type: JsonType, Data: threadPage(list, next)}, nil
}

// threadPage is a ThreadPage as JSON.
func threadPage(list []content.ThreadInfo, next string) []byte {
	out := make([]byte, 0, 64+448*len(list)) // few need more
	out = content.AppendThreads(append(out, `{"data":`...), list)
	out = append(out, `,"nextCursor":`...)
	if next == "" {
		return append(out, "null}\n"...)
	}
	return append(jsontext.AppendQuoted(out, next), "}\n"...)
}

// Created tells of a new thread.
type Created struct {
	ID         int64  `json:"id"`
	PostID     int64  `json:"postId"`
	Slug       string `json:"slug"`
	Visibility string `json:"visibility"`
}

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
	done, err := s.posts.StartThread(c.R.Context(), a, forum, request, once)
	if err != nil {
		return nil, err
	}
	s.locate(c, "/threads/"+kernel.Itoa(done.Thread))
	return envelope{Created{done.Thread, done.Post, done.Slug, rights.VisibilityNames[done.Visibility]}}, nil
}

// thread reads the thread of the path.
func (s *service) thread(c *rest.Call, a *rights.Actor) (content.ThreadInfo, error) {
	in := noBody(c)
	id := in.id("threadId")
	if err := in.finish(); err != nil {
		return content.ThreadInfo{}, err
	}
	return s.posts.Thread(c.R.Context(), a, id)
}

func (s *service) getThread(c *rest.Call, a *rights.Actor) (any, error) {
	view, err := s.thread(c, a)
	if err == nil {
		s.posts.CountView(view.ID)
	}
	return envelope{view}, err
}

// PostPage is a page of posts.
type PostPage struct {
	Data        []content.PostInfo `json:"data"`
	NextAfterID *int64             `json:"nextAfterId"`
}

func (s *service) getPosts(c *rest.Call, a *rights.Actor) (any, error) {
	in := noBody(c)
	after, most := in.page()
	thread := in.id("threadId")
	if err := in.finish(); err != nil {
		return nil, err
	}
	list, more, err := s.posts.Posts(c.R.Context(), a, thread, after, most)
	page := PostPage{Data: list}
	if more {
		page.NextAfterID = &list[len(list)-1].ID
	}
	return page, err
}

// Replied is what became of a post.
type Replied struct {
	ID         int64  `json:"id"`
	ThreadID   int64  `json:"threadId"`
	Visibility string `json:"visibility"`
}

func (s *service) postReply(c *rest.Call, a *rights.Actor) (any, error) {
	in := withBody(c)
	request := posts.NewReply{Message: in.Object.Text("message"), Subscribe: orZero(in.Flag("subscribe"))}
	once, thread := in.once(), in.id("threadId")
	if err := in.finish(); err != nil {
		return nil, err
	}
	done, err := s.posts.Reply(c.R.Context(), a, thread, request, once)
	if err != nil {
		return nil, err
	}
	s.locate(c, "/threads/"+kernel.Itoa(thread)+"/posts/"+kernel.Itoa(done.Post))
	return envelope{Replied{done.Post, thread, rights.VisibilityNames[done.Visibility]}}, nil
}

// Edited is a post after an edit.
type Edited struct {
	ID              int64 `json:"id"`
	ThreadID        int64 `json:"threadId"`
	Changed         bool  `json:"changed"`
	HeldForApproval bool  `json:"heldForApproval"`
}

func (s *service) patchPost(c *rest.Call, a *rights.Actor) (any, error) {
	in := withBody(c)
	edit := posts.PostEdit{Message: in.Object.Text("message"), Reason: orZero(in.OptionalText("reason"))}
	thread, id := in.post()
	edit.Match = in.match()
	if err := in.finish(); err != nil {
		return nil, err
	}
	done, err := s.posts.Edit(c.R.Context(), a, thread, id, edit)
	if err == nil {
		c.Tell(done.Tag)
	}
	return envelope{Edited{id, thread, done.Changed, done.Held}}, err
}

// orZero is what may have been left away.
func orZero[T any](value *T) (zero T) {
	if value == nil {
		return zero
	}
	return *value
}

func (s *service) getPost(c *rest.Call, a *rights.Actor) (any, error) {
	in := noBody(c)
	thread, id := in.post()
	if err := in.finish(); err != nil {
		return nil, err
	}
	view, err := s.posts.PostInfo(c.R.Context(), a, thread, id)
	if err == nil {
		c.Tell(view.Tag())
	}
	return envelope{view}, err
}

// RevisionInfo is a former version of a post.
type RevisionInfo struct {
	Revision         int64         `json:"revision"`
	Message          string        `json:"message"`
	EditedByUsername string        `json:"editedByUsername"`
	EditedAt         kernel.Moment `json:"editedAt"`
	Reason           *string       `json:"reason"`
}

func (s *service) getRevisions(c *rest.Call, a *rights.Actor) (any, error) {
	in := noBody(c)
	thread, id := in.post()
	if err := in.finish(); err != nil {
		return nil, err
	}
	list, err := s.posts.Revisions(c.R.Context(), a, thread, id, 0, kernel.PageMost)
	return envelope{each(list, viewRevision)}, err
}

func viewRevision(r posts.Revision) RevisionInfo {
	view := RevisionInfo{r.Number, r.Message, r.EditedBy, r.EditedAt, nil}
	if r.Reason != "" {
		view.Reason = &r.Reason
	}
	return view
}

// Removed is a post that was deleted.
type Removed struct {
	ID       int64 `json:"id"`
	ThreadID int64 `json:"threadId"`
	Changed  bool  `json:"changed"`
}

func (s *service) deletePost(c *rest.Call, a *rights.Actor) (any, error) {
	in := noBody(c)
	thread, id := in.post()
	match := in.match()
	if err := in.finish(); err != nil {
		return nil, err
	}
	changed, err := s.posts.Delete(c.R.Context(), a, thread, id, match)
	return envelope{Removed{id, thread, changed}}, err
}

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
	if err := s.posts.Change(c.R.Context(), a, id, change); err != nil {
		return nil, err
	}
	view, err := s.thread(c, a)
	return envelope{view}, err
}

// SubscriptionInfo is a thread that a member follows.
type SubscriptionInfo struct {
	ThreadID  int64          `json:"threadId"`
	Mode      string         `json:"mode"`
	Title     *string        `json:"title"`
	CreatedAt *kernel.Moment `json:"createdAt"`
}

func (s *service) putSubscription(c *rest.Call, a *rights.Actor) (any, error) {
	in := bodyIfAny(c)
	mode, id := "instant", in.id("threadId")
	if m := in.OptionalText("mode"); m != nil {
		mode = *m
	}
	if err := in.finish(); err != nil {
		return nil, err
	}
	return envelope{SubscriptionInfo{ThreadID: id, Mode: mode}}, s.following.Subscribe(c.R.Context(), a, id, mode)
}

func (s *service) deleteSubscription(c *rest.Call, a *rights.Actor) (any, error) {
	in := noBody(c)
	id := in.id("threadId")
	if err := in.finish(); err != nil {
		return nil, err
	}
	return envelope{SubscriptionInfo{ThreadID: id, Mode: "none"}}, s.following.Unsubscribe(c.R.Context(), a, id)
}

// ViewSubscription is the subscription as clients see it.
func ViewSubscription(sub following.Subscription) SubscriptionInfo {
	return SubscriptionInfo{sub.Thread.ID, sub.Mode, &sub.Thread.Title, kernel.OrNull(sub.CreatedAt)}
}

func (s *service) getSubscriptions(c *rest.Call, a *rights.Actor) (any, error) {
	list, err := s.following.Subscriptions(c.R.Context(), a)
	return envelope{each(list, ViewSubscription)}, err
}

// NotificationInfo tells a member of a post.
type NotificationInfo struct {
	ID            int64          `json:"id"`
	Kind          string         `json:"kind"`
	ThreadID      int64          `json:"threadId"`
	ThreadTitle   string         `json:"threadTitle"`
	PostID        int64          `json:"postId"`
	ActorUsername string         `json:"actorUsername"`
	CreatedAt     kernel.Moment  `json:"createdAt"`
	ReadAt        *kernel.Moment `json:"readAt"`
}

// ViewNotification is the notification as clients see it.
func ViewNotification(n following.Notification) NotificationInfo {
	return NotificationInfo{n.ID, n.Kind, n.Thread, n.Title, n.Post, n.Actor, n.Created, kernel.OrNull(n.Read)}
}

// page is a list that goes on behind an id.
type page struct {
	Data        any    `json:"data"`
	NextAfterID *int64 `json:"nextAfterId"`
}

func (s *service) getNotifications(c *rest.Call, a *rights.Actor) (any, error) {
	in := noBody(c)
	after, most := in.page()
	if err := in.finish(); err != nil {
		return nil, err
	}
	list, next, err := s.following.Notifications(c.R.Context(), a, after, most)
	return page{each(list, ViewNotification), kernel.OrNull(next)}, err
}

func (s *service) readNotifications(c *rest.Call, a *rights.Actor) (any, error) {
	in := withBody(c)
	upTo := in.Required("upTo")
	if err := in.finish(); err != nil {
		return nil, err
	}
	n, err := s.following.ReadNotifications(c.R.Context(), a, upTo)
	return envelope{map[string]int64{"read": n}}, err
}

func (s *service) readThread(c *rest.Call, a *rights.Actor) (any, error) {
	in := withBody(c)
	post, id := in.Required("postId"), in.id("threadId")
	if err := in.finish(); err != nil {
		return nil, err
	}
	return envelope{map[string]int64{"threadId": id, "postId": post}}, s.following.MarkRead(c.R.Context(), a, id, post)
}

// postReset answers the same whether anybody has the address.
func (s *service) postReset(c *rest.Call, _ *rights.Actor) (any, error) {
	in := withBody(c)
	email := in.Object.Text("email")
	if err := in.finish(); err != nil {
		return nil, err
	}
	return nil, s.accounts.AskReset(c.R.Context(), email, s.kernel.Address(c.R))
}

// postConfirmation mails the link once more that confirms the owner's address.
func (s *service) postConfirmation(c *rest.Call, a *rights.Actor) (any, error) {
	return nil, s.accounts.AskEmailAgain(c.R.Context(), a, s.kernel.Address(c.R))
}

// MemberInfo is a member as others see it.
type MemberInfo struct {
	UserID    int64         `json:"userId"`
	Username  string        `json:"username"`
	Title     string        `json:"title"`
	Bio       string        `json:"bio"`
	PostCount int64         `json:"postCount"`
	JoinedAt  kernel.Moment `json:"joinedAt"`
}

// Member is a member as others see it.
func Member(u *rights.User) MemberInfo {
	return MemberInfo{u.ID, u.Name, u.Title, u.Bio, u.PostCount, u.JoinedAt}
}

func (s *service) getMember(c *rest.Call, a *rights.Actor) (any, error) {
	in := noBody(c)
	id := in.id("userId")
	if err := in.finish(); err != nil {
		return nil, err
	}
	u, err := s.accounts.Profile(c.R.Context(), a, id)
	if err != nil {
		return nil, err
	}
	return envelope{Member(u)}, nil
}

// FoundInfo is a post that was looked for.
type FoundInfo struct {
	ThreadTitle string           `json:"threadTitle"`
	ForumID     int64            `json:"forumId"`
	Post        content.PostInfo `json:"post"`
}

// ViewFound is the post as clients see it.
func ViewFound(f search.Found) FoundInfo {
	return FoundInfo{f.Thread.Title, f.Thread.Forum, content.ViewPost(f.Post)}
}

func (s *service) getSearch(c *rest.Call, a *rights.Actor) (any, error) {
	in := noBody(c)
	after, most := in.page()
	forum := in.number("forum", 1)
	if err := in.finish(); err != nil {
		return nil, err
	}
	list, next, err := s.search.Find(c.R.Context(), a,
		search.Query{Text: c.Text("q"), Forum: forum, Author: c.Text("author"), After: after, Limit: most})
	return page{each(list, ViewFound), kernel.OrNull(next)}, err
}

func (s *service) postReport(c *rest.Call, a *rights.Actor) (any, error) {
	in := withBody(c)
	reason, id := in.Object.Text("reason"), in.id("postId")
	if err := in.finish(); err != nil {
		return nil, err
	}
	report, err := s.posts.Report(c.R.Context(), a, id, reason)
	return envelope{map[string]int64{"id": report, "postId": id}}, err
}

// HeldInfo is a post that waits for approval.
type HeldInfo struct {
	Reason      string           `json:"reason"`
	ThreadTitle string           `json:"threadTitle"`
	ForumID     int64            `json:"forumId"`
	Post        content.PostInfo `json:"post"`
}

// viewHeld is the post as clients see it.
func viewHeld(h posts.Held) HeldInfo {
	return HeldInfo{h.Reason, h.Thread.Title, h.Thread.Forum, content.ViewPost(h.Post)}
}

func (s *service) getQueue(c *rest.Call, a *rights.Actor) (any, error) {
	in := noBody(c)
	after, most := in.page()
	forum := in.number("forum", 1)
	if err := in.finish(); err != nil {
		return nil, err
	}
	list, next, err := s.posts.Queue(c.R.Context(), a, forum, after, most)
	return page{each(list, viewHeld), kernel.OrNull(next)}, err
}

func (s *service) approve(c *rest.Call, a *rights.Actor) (any, error) {
	return s.decide(c, a, s.posts.Approve)
}

func (s *service) reject(c *rest.Call, a *rights.Actor) (any, error) {
	return s.decide(c, a, s.posts.Reject)
}

// decision settles a held post.
type decision = func(ctx context.Context, a *rights.Actor, id int64, d posts.Decision) (posts.Settled, error)

func (s *service) decide(c *rest.Call, a *rights.Actor, decision decision) (any, error) {
	in := bodyIfAny(c)
	reason, id, match := in.OptionalText("reason"), in.id("postId"), in.match()
	if err := in.finish(); err != nil {
		return nil, err
	}
	done, err := decision(c.R.Context(), a, id, posts.Decision{Reason: orZero(reason), Match: match})
	if err == nil {
		c.Tell(done.Tag)
	}
	return envelope{Replied{done.Post, done.Thread, rights.VisibilityNames[done.Visibility]}}, err
}

func (s *service) restore(c *rest.Call, a *rights.Actor) (any, error) {
	in := noBody(c)
	id := in.id("postId")
	if err := in.finish(); err != nil {
		return nil, err
	}
	done, err := s.posts.Restore(c.R.Context(), a, id)
	return envelope{Replied{done.Post, done.Thread, rights.VisibilityNames[done.Visibility]}}, err
}
