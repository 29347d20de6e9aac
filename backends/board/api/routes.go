package api

import (
	"net/http"

	"github.com/tollgate-gateway/tollgate/internal/blob"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// These tags group the operations in the documentation.
const (
	tagForums      = "Forums"
	tagThreads     = "Threads"
	tagPosts       = "Posts"
	tagMembers     = "Members"
	tagModeration  = "Moderation"
	tagAttachments = "Attachments"
	tagDocument    = "Document"
)

// These are the scopes that routes require.
const (
	membersRead  = "members:read"
	forumsRead   = "forums:read"
	threadsRead  = "threads:read"
	threadsWrite = "threads:write"
	postsRead    = "posts:read"
	postsWrite   = "posts:write"
)

var (
	limitParam = rest.Param{
		Name: "limit", Schema: `{"type":"integer","minimum":1,"default":25}`,
		Description: "Length of the page; more than 100 counts as 100.",
	}
	afterParam = rest.Param{
		Name: "after", Schema: `{"type":"integer","minimum":0}`,
		Description: "The nextAfterId from the previous page.",
	}
	forumParam = rest.Param{Name: "forum", Schema: `{"type":"integer","minimum":1}`, Description: "Only this forum."}
)

// routes returns the routes of the API, with paths below Mount.
func (s *service) routes() []rest.Route {
	table := []entry{
		{1, rest.Route{
			Method: "GET", Path: "/me", Tag: tagMembers, Scope: membersRead, Serve: with(s.getMe), Answer: "IdentityAnswer",
			Summary: "Show the token and its owner",
		}},
		{1, rest.Route{
			Method: "GET", Path: "/forums", Tag: tagForums, Scope: forumsRead, Guest: true, Serve: with(s.getForums),
			Answer: "ForumList", Versioned: true,
			Summary: "List the forums", Description: "Depth first, in the order of their positions.",
		}},
		{1, rest.Route{
			Method: "GET", Path: "/forums/{forumId}/threads", Tag: tagThreads, Scope: threadsRead, Guest: true,
			Serve: with(s.getThreads), Answer: "ThreadPage",
			Query: []rest.Param{limitParam, {
				Name: "after", Schema: `{"type":"string"}`,
				Description: "The nextCursor from the previous page.",
			}},
			Summary: "List the threads of a forum", Description: "Newest activity first. Sticky threads are not listed first.",
		}},
		{10, rest.Route{
			Method: "POST", Path: "/forums/{forumId}/threads", Tag: tagThreads, Scope: threadsWrite, Serve: with(s.postThread),
			Body: "NewThread", Answer: "CreatedThread", Status: http.StatusCreated,
			Summary: "Start a thread", Description: "For 24 hours, a repeated request with the same Idempotency-Key gets the" +
				" answer of the first.",
		}},
		{1, rest.Route{
			Method: "GET", Path: "/threads/{threadId}", Tag: tagThreads, Scope: threadsRead, Guest: true,
			Serve: withID("threadId", s.getThread), Answer: "ThreadAnswer",
			Summary: "Read a thread",
		}},
		{1, rest.Route{
			Method: "GET", Path: "/threads/{threadId}/posts", Tag: tagPosts, Scope: postsRead, Guest: true,
			Serve: with(s.getPosts), Answer: "PostPage",
			Query: []rest.Param{limitParam, afterParam}, Summary: "List the posts of a thread", Description: "Oldest first.",
		}},
		{5, rest.Route{
			Method: "POST", Path: "/threads/{threadId}/posts", Tag: tagPosts, Scope: postsWrite, Serve: with(s.postReply),
			Body: "NewReply", Answer: "SettledPost", Status: http.StatusCreated,
			Summary: "Reply in a thread", Description: "For 24 hours, a repeated request with the same Idempotency-Key gets" +
				" the answer of the first.",
		}},
		{5, rest.Route{
			Method: "PATCH", Path: "/threads/{threadId}/posts/{postId}", Tag: tagPosts, Scope: postsWrite,
			Serve: with(s.patchPost), Body: "PostEdit", Answer: "EditedPost", Versioned: true,
			Summary: "Edit a post",
		}},

		{0, rest.Route{
			Method: "GET", Path: "/openapi.json", Tag: tagDocument, Guest: true, Serve: rest.Publish(s.openAPI).Serve,
			Answer:  "Document",
			Summary: "Show this document",
		}},
		{1, rest.Route{
			Method: "GET", Path: "/threads/{threadId}/posts/{postId}", Tag: tagPosts, Scope: postsRead, Guest: true,
			Serve: withPost(s.getPost), Answer: "PostAnswer", Versioned: true,
			Summary: "Read a post",
		}},
		{1, rest.Route{
			Method: "GET", Path: "/threads/{threadId}/posts/{postId}/revisions", Tag: tagPosts, Scope: postsRead,
			Serve: withPost(s.getRevisions), Answer: "RevisionList",
			Summary:     "List the former texts of a post",
			Description: "Oldest first. If there are more than 100, only the newest 100.",
		}},
		{5, rest.Route{
			Method: "DELETE", Path: "/threads/{threadId}/posts/{postId}", Tag: tagPosts, Scope: postsWrite,
			Serve: with(s.deletePost), Answer: "DeletedPost", Versioned: true,
			Summary: "Delete a post", Description: "If the post is the first of its thread, the thread is deleted.",
		}},
		{5, rest.Route{
			Method: "PATCH", Path: "/threads/{threadId}", Tag: tagThreads, Scope: threadsWrite, Serve: with(s.patchThread),
			Body: "ThreadChange", Answer: "ThreadAnswer",
			Summary: "Change a thread", Description: "Properties that the body omits do not change. Another forumId moves the" +
				" thread.",
		}},
		{2, rest.Route{
			Method: "PUT", Path: "/threads/{threadId}/subscription", Tag: tagMembers, Scope: threadsWrite,
			Serve: with(s.putSubscription), Body: "SubscriptionChange", OptionalBody: true,
			Answer: "SubscriptionAnswer", Summary: "Follow a thread",
		}},
		{2, rest.Route{
			Method: "DELETE", Path: "/threads/{threadId}/subscription", Tag: tagMembers, Scope: threadsWrite,
			Serve:  withID("threadId", s.deleteSubscription),
			Answer: "SubscriptionAnswer", Summary: "Stop following a thread",
		}},
		{1, rest.Route{
			Method: "GET", Path: "/subscriptions", Tag: tagMembers, Scope: threadsRead, Serve: with(s.getSubscriptions),
			Answer:  "SubscriptionList",
			Summary: "List the threads that the owner follows",
		}},
		{1, rest.Route{
			Method: "GET", Path: "/notifications", Tag: tagMembers, Scope: threadsRead, Serve: with(s.getNotifications),
			Answer: "NotificationPage",
			Query:  []rest.Param{limitParam, afterParam}, Summary: "List the owner's notifications",
			Description: "Newest first.",
		}},
		{1, rest.Route{
			Method: "POST", Path: "/notifications/read", Tag: tagMembers, Scope: threadsRead, Serve: with(s.readNotifications),
			Body: "ReadUpTo", Answer: "ReadAnswer",
			Summary: "Mark notifications as read",
		}},
		{1, rest.Route{
			Method: "POST", Path: "/threads/{threadId}/read", Tag: tagThreads, Scope: threadsRead, Serve: with(s.readThread),
			Body: "ReadPost", Answer: "ReadThreadAnswer",
			Summary: "Mark a thread as read up to a post",
		}},
		{1, rest.Route{
			Method: "GET", Path: "/members/{userId}", Tag: tagMembers, Scope: membersRead, Guest: true,
			Serve:   withID("userId", s.getMember),
			Answer:  "MemberAnswer",
			Summary: "Read a member",
		}},
		{10, rest.Route{
			Method: "POST", Path: "/password-reset", Tag: tagMembers, Guest: true, Serve: with(s.postReset),
			Body:    "ResetRequest",
			Summary: "Request a link that sets a new password",
			Description: "The link is mailed if a member has the address. It works once, for an hour. The answer is the same" +
				" if no member has the address. At most 3 links an hour are mailed to an address, and a client may request 10.",
		}},
		{10, rest.Route{
			Method: "POST", Path: "/email-confirmation", Tag: tagMembers, Scope: membersRead, Serve: with(s.postConfirmation),
			Summary: "Request again the link that confirms the owner's mail address",
			Description: "Other mails are sent only to a confirmed address. At most 3 links an hour are mailed to an address," +
				" and a client may request 10. The status is 409 if no address waits for confirmation.",
		}},
		{10, rest.Route{
			Method: "GET", Path: "/search", Tag: tagPosts, Scope: postsRead, Guest: true, Serve: with(s.getSearch),
			Answer: "FoundPage",
			Query: []rest.Param{
				{
					Name: "q", Required: true, Schema: `{"type":"string"}`,
					Description: "1 to 16 words. A post must have all of them.",
				},
				forumParam,
				{Name: "author", Schema: `{"type":"string"}`, Description: "Only posts of this member."},
				limitParam, afterParam,
			},
			Summary: "Search posts", Description: "Newest first.",
		}},
		{5, rest.Route{
			Method: "POST", Path: "/posts/{postId}/report", Tag: tagModeration, Scope: postsWrite, Serve: with(s.postReport),
			Body: "NewReport", Answer: "ReportAnswer", Status: http.StatusCreated,
			Summary: "Report a post to the moderators",
		}},
		{1, rest.Route{
			Method: "GET", Path: "/moderation/queue", Tag: tagModeration, Scope: postsRead, Serve: with(s.getQueue),
			Answer: "HeldPage",
			Query:  []rest.Param{forumParam, limitParam, afterParam}, Summary: "List held posts",
			Description: "Oldest first, of the forums in which the owner may approve.",
		}},
		{5, rest.Route{
			Method: "POST", Path: "/moderation/queue/{postId}/approve", Tag: tagModeration, Scope: postsWrite,
			Serve: with(s.approve), Body: "Reason", OptionalBody: true, Answer: "SettledPost", Versioned: true,
			Summary: "Approve a held post",
		}},
		{5, rest.Route{
			Method: "POST", Path: "/moderation/queue/{postId}/reject", Tag: tagModeration, Scope: postsWrite,
			Serve: with(s.reject), Body: "Reason", OptionalBody: true, Answer: "SettledPost", Versioned: true,
			Summary: "Reject a held post",
		}},
		{5, rest.Route{
			Method: "POST", Path: "/posts/{postId}/restore", Tag: tagModeration, Scope: postsWrite,
			Serve:   withID("postId", s.restore),
			Answer:  "SettledPost",
			Summary: "Restore a deleted post",
		}},

		{1, rest.Route{
			Method: "GET", Path: "/threads/{threadId}/posts/{postId}/attachments", Tag: tagAttachments, Scope: postsRead,
			Guest: true, Serve: withPost(s.getAttachments), Answer: "AttachmentList",
			Summary: "List the files of a post", Description: "In the order in which they were attached.",
		}},
		{5, rest.Route{
			Method: "POST", Path: "/threads/{threadId}/posts/{postId}/attachments", Tag: tagAttachments, Scope: postsWrite,
			Serve: withPost(s.postAttachment), BodyMedia: "*/*",
			Answer: "AttachmentAnswer", Status: http.StatusCreated,
			Query: []rest.Param{{
				Name: "name", Schema: `{"type":"string"}`,
				Description: "The name of the file. Its extension must agree with the content.", Required: true,
			}},
			Summary: "Attach a file to a post", Description: "The body is the content of the file.",
		}},
		{5, rest.Route{
			Method: "DELETE", Path: "/threads/{threadId}/posts/{postId}/attachments/{attachmentId}", Tag: tagAttachments,
			Scope: postsWrite, Serve: with(s.deleteAttachment),
			Summary: "Remove a file from a post",
		}},
		{1, rest.Route{
			Method: "GET", Path: "/attachments/{attachmentId}", Tag: tagAttachments, Scope: postsRead, Guest: true,
			Serve: withID("attachmentId", s.getAttachment), Media: blob.MediaTypes(),
			Also:    []int{http.StatusPartialContent},
			Summary: "Download a file", Description: "Ranges and conditional requests are answered as in RFC 9110.",
		}},
	}
	routes := make([]rest.Route, len(table))
	for i, e := range table {
		e.route.Cost = &e.cost
		e.route.Errors = refusals(e.route)
		routes[i] = e.route
	}
	return routes
}

// entry is a route and the cost of its requests.
type entry struct {
	cost  int64
	route rest.Route
}

// refusals returns the error statuses of a route, except those that every route can return.
func refusals(r rest.Route) []int {
	if r.Scope == "" {
		list := []int{http.StatusUnauthorized, http.StatusInternalServerError} // 401 for an invalid token
		if r.Body != "" {
			list = append(list, http.StatusForbidden, http.StatusUnprocessableEntity)
		}
		return list
	}
	list := []int{http.StatusForbidden, http.StatusNotFound, http.StatusInternalServerError}
	switch r.Method {
	case http.MethodPost:
		list = append(list, http.StatusConflict, http.StatusUnprocessableEntity)
	case http.MethodPatch, http.MethodPut:
		list = append(list, http.StatusUnprocessableEntity)
	}
	return list
}
