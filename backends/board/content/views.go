package content

import (
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/markup"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
)

// The API returns these types as JSON. Every field is present in each JSON object.

// PrefixInfo is a prefix of threads.
type PrefixInfo struct {
	ID    int64  `json:"id"`
	Label string `json:"label"`
}

// ForumInfo is a forum.
type ForumInfo struct {
	ID             int64          `json:"id"`
	Title          string         `json:"title"`
	Slug           string         `json:"slug"`
	Type           string         `json:"type"`
	ParentID       *int64         `json:"parentId"`
	Depth          int64          `json:"depth"`
	Position       int64          `json:"position"`
	Description    string         `json:"description"`
	LinkURL        *string        `json:"linkUrl"`
	IsOpen         bool           `json:"isOpen"`
	RequiresPrefix bool           `json:"requiresPrefix"`
	Prefixes       []PrefixInfo   `json:"prefixes"`
	ThreadCount    int64          `json:"threadCount"`
	PostCount      int64          `json:"postCount"`
	LastPostAt     *kernel.Moment `json:"lastPostAt"`
	Can            ForumCan       `json:"can"`
	Answers        bool           `json:"-"` // whether replies can be marked as the answer; for pages only
}

// ForumCan lists which actions the actor may do in a forum.
type ForumCan struct {
	PostThread bool `json:"postThread"`
	Reply      bool `json:"reply"`
}

// ThreadInfo is a thread.
type ThreadInfo struct {
	ID                 int64         `json:"id"`
	ForumID            int64         `json:"forumId"`
	Title              string        `json:"title"`
	Slug               string        `json:"slug"`
	AuthorUserID       *int64        `json:"authorUserId"`
	AuthorUsername     string        `json:"authorUsername"`
	Prefix             *PrefixInfo   `json:"prefix"`
	ReplyCount         int64         `json:"replyCount"`
	ViewCount          int64         `json:"viewCount"`
	IsSticky           bool          `json:"isSticky"`
	IsLocked           bool          `json:"isLocked"`
	Visibility         string        `json:"visibility"`
	CreatedAt          kernel.Moment `json:"createdAt"`
	FirstPostID        int64         `json:"firstPostId"`
	LastPostID         int64         `json:"lastPostId"`
	LastPostAt         kernel.Moment `json:"lastPostAt"`
	LastPosterUsername string        `json:"lastPosterUsername"`
	IsSubscribed       *bool         `json:"isSubscribed"`
	Unread             *bool         `json:"unread"`
	Solved             bool          `json:"-"` // whether a reply is marked as the answer; for pages only
}

// PostInfo is a post.
type PostInfo struct {
	ID               int64          `json:"id"`
	ThreadID         int64          `json:"threadId"`
	Number           int64          `json:"number"`
	AuthorUserID     *int64         `json:"authorUserId"`
	AuthorUsername   string         `json:"authorUsername"`
	Message          string         `json:"message"`
	MessageHTML      string         `json:"messageHtml"`
	Visibility       string         `json:"visibility"`
	PostedAt         kernel.Moment  `json:"postedAt"`
	EditedAt         *kernel.Moment `json:"editedAt"`
	EditedByUsername *string        `json:"editedByUsername"`
	EditReason       *string        `json:"editReason"`
	EditCount        int64          `json:"editCount"`
}

// ViewThread returns the view of a thread for an actor. m holds the Marks of the actor for this thread.
func ViewThread(a *rights.Actor, t *Thread, m Marks, now kernel.Moment) ThreadInfo {
	view := ThreadInfo{
		ID: t.ID, ForumID: t.Forum, Title: t.Title, Slug: t.Slug, AuthorUserID: kernel.NilIfZero(t.Author),
		AuthorUsername: t.AuthorName,
		ReplyCount:     t.Replies, ViewCount: t.Views, IsSticky: t.Sticky, IsLocked: t.Locked,
		Visibility: rights.VisibilityNames[t.Visibility],
		CreatedAt:  t.Created, FirstPostID: t.First, LastPostID: t.Last, LastPostAt: t.LastAt,
		LastPosterUsername: t.LastPoster,
	}
	if f := a.Rights.Access.Forums[t.Forum]; f != nil {
		view.Solved = t.Answer != 0 && f.Answers
	}
	if p, ok := a.Rights.Access.Prefixes[t.Prefix]; ok {
		view.Prefix = &PrefixInfo{p.ID, p.Label}
	}
	if a.User != nil {
		subscribed, unread := m.Subscribed[t.ID] != 0, m.Unread(t, now)
		view.IsSubscribed, view.Unread = &subscribed, &unread
	}
	return view
}

// Tag returns the entity tag of the post. A client that edits the post sends the tag back, to name the version that it
// has read.
func (p PostInfo) Tag() string { return kernel.Tag(p) }

// ViewPost returns the view of a post for clients.
func ViewPost(p *Post) PostInfo {
	view := PostInfo{
		ID: p.ID, ThreadID: p.Thread, Number: p.Number,
		AuthorUserID: kernel.NilIfZero(p.Author), AuthorUsername: p.AuthorName,
		Message: p.Message, MessageHTML: markup.Shown(p.ID, p.Message, p.HTML, p.RenderVersion),
		Visibility: rights.VisibilityNames[p.Visibility], PostedAt: p.Created,
		EditedAt: kernel.NilIfZero(p.EditedAt), EditCount: p.Edits,
	}
	if p.editedBy.Valid {
		view.EditedByUsername = &p.editedBy.String
	}
	if p.reason.Valid {
		view.EditReason = &p.reason.String
	}
	return view
}
