package board

import (
	"context"
	"net/http"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/rest"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

func (s *Service) getMe(_ *rest.Call, a *Actor) (any, error) {
	me := Identity{UserID: a.id(), Username: a.User.Name, Scopes: Scopes, Groups: a.rights.groups}
	if a.Token != nil {
		me.Scopes, me.TokenName, me.ExpiresAt = a.Token.Scopes, a.Token.Name, wireTimeOrNull(a.Token.ExpiresAt)
	}
	if me.Groups == nil {
		me.Groups = []string{}
	}
	return envelope{me}, nil
}

func (s *Service) getForums(c *rest.Call, a *Actor) (any, error) {
	list, err := s.Forums(c.R.Context(), a)
	if err == nil {
		c.Tell(tagOf(list))
	}
	return envelope{list}, err
}

type threadPage struct {
	Data       []ThreadInfo `json:"data"`
	NextCursor *string      `json:"nextCursor"`
}

func (s *Service) getThreads(c *rest.Call, a *Actor) (any, error) {
	most, err := limit(c)
	if err != nil {
		return nil, err
	}
	in, idErr := number(c.Path("forumId"))
	if idErr != nil {
		return nil, idErr
	}
	after, given := c.R.URL.Query()["after"]
	if given && after[0] == "" {
		return nil, badRequest("after", "after must be the nextCursor of a page of this forum, unchanged")
	}
	page := threadPage{}
	var next string
	page.Data, next, err = s.Threads(c.R.Context(), a, in, strings.Join(after, ""), most)
	if next != "" {
		page.NextCursor = &next
	}
	return page, err
}

// created tells of a new thread.
type created struct {
	ID         int64  `json:"id"`
	PostID     int64  `json:"postId"`
	Slug       string `json:"slug"`
	Visibility string `json:"visibility"`
}

func (s *Service) postThread(c *rest.Call, a *Actor) (any, error) {
	b, err := readBody(c)
	if err != nil {
		return nil, err
	}
	request := NewThread{Title: b.text("title"), Message: b.text("message")}
	if id := b.nullable("prefixId"); id != nil {
		request.Prefix = *id
	}
	if yes := b.flag("subscribe"); yes != nil {
		request.Subscribe = *yes
	}
	if err := b.finish(); err != nil {
		return nil, err
	}
	once, err := onceOf(c, b)
	if err != nil {
		return nil, err
	}
	in, err := number(c.Path("forumId"))
	if err != nil {
		return nil, err
	}
	done, err := s.StartThread(c.R.Context(), a, in, request, once)
	if err != nil {
		return nil, err
	}
	s.locate(c, "/threads/"+itoa(done.Thread))
	return envelope{created{done.Thread, done.Post, done.Slug, visibilityNames[done.Visibility]}}, nil
}

// thread reads the thread of the path.
func (s *Service) thread(c *rest.Call, a *Actor) (ThreadInfo, error) {
	id, err := number(c.Path("threadId"))
	if err != nil {
		return ThreadInfo{}, err
	}
	return s.Thread(c.R.Context(), a, id)
}

func (s *Service) getThread(c *rest.Call, a *Actor) (any, error) {
	view, err := s.thread(c, a)
	if err == nil {
		s.views.add(view.ID)
	}
	return envelope{view}, err
}

type postPage struct {
	Data        []PostInfo `json:"data"`
	NextAfterID *int64     `json:"nextAfterId"`
}

func (s *Service) getPosts(c *rest.Call, a *Actor) (any, error) {
	most, err := limit(c)
	if err != nil {
		return nil, err
	}
	after, _, err := queryNumber(c, "after", 0)
	if err != nil {
		return nil, err
	}
	in, err := number(c.Path("threadId"))
	if err != nil {
		return nil, err
	}
	page := postPage{Data: []PostInfo{}}
	err = s.read(c.R.Context(), func(q store.Conn) error {
		t, err := threadFor(q, a, in, "")
		if err != nil {
			return err
		}
		list, more, err := s.posts(q, a, t, after, most)
		if err != nil {
			return err
		}
		for _, p := range list {
			page.Data = append(page.Data, viewPost(p))
		}
		if more {
			page.NextAfterID = &page.Data[len(page.Data)-1].ID
		}
		return nil
	})
	return page, err
}

type replied struct {
	ID         int64  `json:"id"`
	ThreadID   int64  `json:"threadId"`
	Visibility string `json:"visibility"`
}

func (s *Service) postReply(c *rest.Call, a *Actor) (any, error) {
	b, err := readBody(c)
	if err != nil {
		return nil, err
	}
	request := NewReply{Message: b.text("message")}
	if yes := b.flag("subscribe"); yes != nil {
		request.Subscribe = *yes
	}
	if err := b.finish(); err != nil {
		return nil, err
	}
	once, err := onceOf(c, b)
	if err != nil {
		return nil, err
	}
	in, err := number(c.Path("threadId"))
	if err != nil {
		return nil, err
	}
	done, err := s.Reply(c.R.Context(), a, in, request, once)
	if err != nil {
		return nil, err
	}
	s.locate(c, "/threads/"+itoa(in)+"/posts/"+itoa(done.Post))
	return envelope{replied{done.Post, in, visibilityNames[done.Visibility]}}, nil
}

type edited struct {
	ID              int64 `json:"id"`
	ThreadID        int64 `json:"threadId"`
	Changed         bool  `json:"changed"`
	HeldForApproval bool  `json:"heldForApproval"`
}

func (s *Service) patchPost(c *rest.Call, a *Actor) (any, error) {
	b, err := readBody(c)
	if err != nil {
		return nil, err
	}
	message, reason := b.text("message"), b.optionalText("reason")
	if err := b.finish(); err != nil {
		return nil, err
	}
	in, id, err := ids(c)
	if err != nil {
		return nil, err
	}
	match, err := c.Match()
	if err != nil {
		return nil, err
	}
	done, err := s.Edit(c.R.Context(), a, in, id, PostEdit{message, orEmpty(reason), match})
	if err == nil {
		c.Tell(done.Tag)
	}
	return envelope{edited{id, in, done.Changed, done.Held}}, err
}

// ids are those of the thread and the post of a path.
func ids(c *rest.Call) (thread, post int64, err error) {
	if thread, err = number(c.Path("threadId")); err == nil {
		post, err = number(c.Path("postId"))
	}
	return thread, post, err
}

func orEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

func (s *Service) getPost(c *rest.Call, a *Actor) (any, error) {
	in, id, err := ids(c)
	if err != nil {
		return nil, err
	}
	var view PostInfo
	err = s.read(c.R.Context(), func(q store.Conn) error {
		t, err := threadFor(q, a, in, "")
		if err != nil {
			return err
		}
		p, err := postFor(q, a, t, id)
		if err == nil {
			view = viewPost(p)
		}
		return err
	})
	if err == nil {
		c.Tell(view.Tag())
	}
	return envelope{view}, err
}

type revisionInfo struct {
	Revision         int64   `json:"revision"`
	Message          string  `json:"message"`
	EditedByUsername string  `json:"editedByUsername"`
	EditedAt         string  `json:"editedAt"`
	Reason           *string `json:"reason"`
}

func (s *Service) getRevisions(c *rest.Call, a *Actor) (any, error) {
	in, id, err := ids(c)
	if err != nil {
		return nil, err
	}
	list, err := s.Revisions(c.R.Context(), a, in, id)
	views := []revisionInfo{}
	for _, r := range list {
		view := revisionInfo{r.Number, r.Message, r.EditedBy, wireTime(r.EditedAt), nil}
		if r.Reason != "" {
			view.Reason = &r.Reason
		}
		views = append(views, view)
	}
	return envelope{views}, err
}

type removed struct {
	ID       int64 `json:"id"`
	ThreadID int64 `json:"threadId"`
	Changed  bool  `json:"changed"`
}

func (s *Service) deletePost(c *rest.Call, a *Actor) (any, error) {
	in, id, err := ids(c)
	if err != nil {
		return nil, err
	}
	match, err := c.Match()
	if err != nil {
		return nil, err
	}
	changed, err := s.Delete(c.R.Context(), a, in, id, match)
	return envelope{removed{id, in, changed}}, err
}

func (s *Service) patchThread(c *rest.Call, a *Actor) (any, error) {
	b, err := readBody(c)
	if err != nil {
		return nil, err
	}
	change := ThreadChange{
		Title: b.optionalText("title"), Prefix: b.nullable("prefixId"), Locked: b.flag("isLocked"), Sticky: b.flag("isSticky"), Forum: b.integer("forumId"),
	}
	if err := b.finish(); err != nil {
		return nil, err
	}
	id, err := number(c.Path("threadId"))
	if err != nil {
		return nil, err
	}
	if err := s.Change(c.R.Context(), a, id, change); err != nil {
		return nil, err
	}
	view, err := s.thread(c, a)
	return envelope{view}, err
}

// SubscriptionInfo is a thread that a member follows.
type SubscriptionInfo struct {
	ThreadID  int64   `json:"threadId"`
	Mode      string  `json:"mode"`
	Title     *string `json:"title"`
	CreatedAt *string `json:"createdAt"`
}

func (s *Service) putSubscription(c *rest.Call, a *Actor) (any, error) {
	b, err := optionalBody(c)
	if err != nil {
		return nil, err
	}
	mode := "instant"
	if m := b.optionalText("mode"); m != nil {
		mode = *m
	}
	if err := b.finish(); err != nil {
		return nil, err
	}
	id, err := number(c.Path("threadId"))
	if err != nil {
		return nil, err
	}
	return envelope{SubscriptionInfo{ThreadID: id, Mode: mode}}, s.Subscribe(c.R.Context(), a, id, mode)
}

func (s *Service) deleteSubscription(c *rest.Call, a *Actor) (any, error) {
	id, err := number(c.Path("threadId"))
	if err != nil {
		return nil, err
	}
	return envelope{SubscriptionInfo{ThreadID: id, Mode: "none"}}, s.Unsubscribe(c.R.Context(), a, id)
}

// Info is the subscription as clients see it.
func (sub Subscription) Info() SubscriptionInfo {
	return SubscriptionInfo{sub.thread.id, sub.mode, &sub.thread.title, wireTimeOrNull(sub.createdAt)}
}

func (s *Service) getSubscriptions(c *rest.Call, a *Actor) (any, error) {
	list, err := s.Subscriptions(c.R.Context(), a)
	views := make([]SubscriptionInfo, 0, len(list))
	for _, sub := range list {
		views = append(views, sub.Info())
	}
	return envelope{views}, err
}

// NotificationInfo tells a member of a post.
type NotificationInfo struct {
	ID            int64   `json:"id"`
	Kind          string  `json:"kind"`
	ThreadID      int64   `json:"threadId"`
	ThreadTitle   string  `json:"threadTitle"`
	PostID        int64   `json:"postId"`
	ActorUsername string  `json:"actorUsername"`
	CreatedAt     string  `json:"createdAt"`
	ReadAt        *string `json:"readAt"`
}

// Info is the notification as clients see it.
func (n Notification) Info() NotificationInfo {
	return NotificationInfo{n.id, n.kind, n.thread, n.title, n.post, n.actor, wireTime(n.created), wireTimeOrNull(n.read)}
}

// page is a list that goes on behind an id.
type page struct {
	Data        any    `json:"data"`
	NextAfterID *int64 `json:"nextAfterId"`
}

// pageOf reads how long a page is to be and behind what it begins.
func pageOf(c *rest.Call) (after int64, most int, err error) {
	if most, err = limit(c); err == nil {
		after, _, err = queryNumber(c, "after", 0)
	}
	return after, most, err
}

func (s *Service) getNotifications(c *rest.Call, a *Actor) (any, error) {
	after, most, err := pageOf(c)
	if err != nil {
		return nil, err
	}
	list, next, err := s.Notifications(c.R.Context(), a, after, most)
	views := []NotificationInfo{}
	for _, n := range list {
		views = append(views, n.Info())
	}
	return page{views, orNull(next)}, err
}

func (s *Service) readNotifications(c *rest.Call, a *Actor) (any, error) {
	b, err := readBody(c)
	if err != nil {
		return nil, err
	}
	upTo := b.required("upTo")
	if err := b.finish(); err != nil {
		return nil, err
	}
	n, err := s.ReadNotifications(c.R.Context(), a, upTo)
	return envelope{map[string]int64{"read": n}}, err
}

func (s *Service) readThread(c *rest.Call, a *Actor) (any, error) {
	b, err := readBody(c)
	if err != nil {
		return nil, err
	}
	post := b.required("postId")
	if err := b.finish(); err != nil {
		return nil, err
	}
	id, err := number(c.Path("threadId"))
	if err != nil {
		return nil, err
	}
	return envelope{map[string]int64{"threadId": id, "postId": post}}, s.MarkRead(c.R.Context(), a, id, post)
}

// postReset answers the same whether anybody has the address.
func (s *Service) postReset(c *rest.Call, _ *Actor) (any, error) {
	b, err := readBody(c)
	if err != nil {
		return nil, err
	}
	email := b.text("email")
	if err := b.finish(); err != nil {
		return nil, err
	}
	return nil, s.AskReset(c.R.Context(), email, s.Address(c.R))
}

// postConfirmation mails the link once more that confirms the owner's address.
func (s *Service) postConfirmation(c *rest.Call, a *Actor) (any, error) {
	return nil, s.AskEmailAgain(c.R.Context(), a, s.Address(c.R))
}

// MemberInfo is a member as others see it.
type MemberInfo struct {
	UserID    int64  `json:"userId"`
	Username  string `json:"username"`
	Title     string `json:"title"`
	Bio       string `json:"bio"`
	PostCount int64  `json:"postCount"`
	JoinedAt  string `json:"joinedAt"`
}

// Info is the member as others see it.
func (u *User) Info() MemberInfo {
	return MemberInfo{u.ID, u.Name, u.Title, u.Bio, u.PostCount, wireTime(u.JoinedAt)}
}

func (s *Service) getMember(c *rest.Call, a *Actor) (any, error) {
	id, err := number(c.Path("userId"))
	if err != nil {
		return nil, err
	}
	u, err := s.Profile(c.R.Context(), a, id)
	if err != nil {
		return nil, err
	}
	return envelope{u.Info()}, nil
}

// FoundInfo is a post that was looked for.
type FoundInfo struct {
	ThreadTitle string   `json:"threadTitle"`
	ForumID     int64    `json:"forumId"`
	Post        PostInfo `json:"post"`
}

// Info is the post as clients see it.
func (f Found) Info() FoundInfo { return FoundInfo{f.thread.title, f.thread.forum, viewPost(f.post)} }

func (s *Service) getSearch(c *rest.Call, a *Actor) (any, error) {
	after, most, err := pageOf(c)
	if err != nil {
		return nil, err
	}
	in, _, err := queryNumber(c, "forum", 1)
	if err != nil {
		return nil, err
	}
	list, next, err := s.Search(c.R.Context(), a, SearchQuery{Text: c.Text("q"), Forum: in, Author: c.Text("author"), After: after, Limit: most})
	views := []FoundInfo{}
	for _, f := range list {
		views = append(views, f.Info())
	}
	return page{views, orNull(next)}, err
}

func (s *Service) postReport(c *rest.Call, a *Actor) (any, error) {
	b, err := readBody(c)
	if err != nil {
		return nil, err
	}
	reason := b.text("reason")
	if err := b.finish(); err != nil {
		return nil, err
	}
	id, err := number(c.Path("postId"))
	if err != nil {
		return nil, err
	}
	report, err := s.Report(c.R.Context(), a, id, reason)
	return envelope{map[string]int64{"id": report, "postId": id}}, err
}

// HeldInfo is a post that waits for approval.
type HeldInfo struct {
	Reason      string   `json:"reason"`
	ThreadTitle string   `json:"threadTitle"`
	ForumID     int64    `json:"forumId"`
	Post        PostInfo `json:"post"`
}

// Info is the post as clients see it.
func (h Held) Info() HeldInfo {
	return HeldInfo{h.reason, h.thread.title, h.thread.forum, viewPost(h.post)}
}

func (s *Service) getQueue(c *rest.Call, a *Actor) (any, error) {
	after, most, err := pageOf(c)
	if err != nil {
		return nil, err
	}
	in, _, err := queryNumber(c, "forum", 1)
	if err != nil {
		return nil, err
	}
	list, next, err := s.Queue(c.R.Context(), a, in, after, most)
	views := []HeldInfo{}
	for _, h := range list {
		views = append(views, h.Info())
	}
	return page{views, orNull(next)}, err
}

func (s *Service) approve(c *rest.Call, a *Actor) (any, error) { return s.decide(c, a, s.Approve) }
func (s *Service) reject(c *rest.Call, a *Actor) (any, error)  { return s.decide(c, a, s.Reject) }

// decision settles a held post.
type decision = func(ctx context.Context, a *Actor, id int64, reason string) (Settled, error)

func (s *Service) decide(c *rest.Call, a *Actor, decision decision) (any, error) {
	b, err := optionalBody(c)
	if err != nil {
		return nil, err
	}
	reason := b.optionalText("reason")
	if err := b.finish(); err != nil {
		return nil, err
	}
	id, err := number(c.Path("postId"))
	if err != nil {
		return nil, err
	}
	done, err := decision(c.R.Context(), a, id, orEmpty(reason))
	return envelope{replied{done.Post, done.Thread, visibilityNames[done.Visibility]}}, err
}

func (s *Service) restore(c *rest.Call, a *Actor) (any, error) {
	id, err := number(c.Path("postId"))
	if err != nil {
		return nil, err
	}
	done, err := s.Restore(c.R.Context(), a, id)
	return envelope{replied{done.Post, done.Thread, visibilityNames[done.Visibility]}}, err
}

// unchanged answers a request for the document that the client has already.
func (s *Service) unchanged(w http.ResponseWriter, r *http.Request) bool {
	if _, err := s.OpenAPI(); err != nil || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	w.Header().Set("ETag", s.document.tag)
	w.Header().Set("Cache-Control", "public, max-age=300")
	if r.Header.Get("If-None-Match") != s.document.tag {
		return false
	}
	w.WriteHeader(http.StatusNotModified)
	return true
}

func (s *Service) getOpenAPI(*rest.Call, *Actor) (any, error) {
	text, err := s.OpenAPI()
	return rest.Raw{Type: "application/json", Data: text}, err
}
