package web

import (
	"net/http"
	"slices"
)

const (
	get  = http.MethodGet
	post = http.MethodPost
)

// who is whom a page is for. What they may do there is the service's to say.
type who int

const (
	guests who = iota // all
	members
	administrators
)

// route is a page, or what a form posts to.
type route struct {
	method, path string
	who          who
	serve        func(*call) error
	always       bool  // also for the banned, and while the board is offline
	public       bool  // the same for everybody: no cookie is asked for or set
	fresh        bool  // asks for the password, if that was long ago
	signed       bool  // its address holds a proof, and its form needs none
	joining      bool  // also for members who have not confirmed their mail address
	secret       bool  // its address holds a secret, which is not for logs
	upload       int64 // takes a multipart form of at most so many bytes
}

// routes are all pages.
var routes = slices.Concat([]route{
	{method: get, path: "/{$}", serve: (*call).index},
	{method: get, path: "/forums/{forumId}", serve: (*call).forum},
	{method: get, path: "/forums/{forumId}/new", who: members, serve: (*call).newThread},
	{method: post, path: "/forums/{forumId}/new", who: members, serve: (*call).startThread, upload: maxEnclosed},
	{method: post, path: "/forums/{forumId}/read", who: members, serve: (*call).readForum},
	{method: post, path: "/read", who: members, serve: (*call).readAll},
	{method: get, path: "/feed.atom", public: true, serve: (*call).boardFeed},
	{method: get, path: "/forums/{forumId}/feed.atom", public: true, serve: (*call).forumFeed},

	{method: get, path: "/threads/{threadId}", serve: (*call).thread},
	{method: get, path: "/threads/{threadId}/unread", serve: (*call).firstUnread},
	{method: get, path: "/threads/{threadId}/last", serve: (*call).lastPage},
	{method: get, path: "/threads/{threadId}/reply", who: members, serve: (*call).newReply},
	{method: post, path: "/threads/{threadId}/reply", who: members, serve: (*call).reply, upload: maxEnclosed},
	{method: get, path: "/threads/{threadId}/manage", who: members, serve: (*call).manage},
	{method: post, path: "/threads/{threadId}/manage", who: members, serve: (*call).change},
	{method: post, path: "/threads/{threadId}/subscription", who: members, serve: (*call).subscribe},

	{method: get, path: "/posts/{postId}", serve: (*call).permalink},
	{method: get, path: "/threads/{threadId}/posts/{postId}/edit", who: members, serve: (*call).editPost},
	{method: post, path: "/threads/{threadId}/posts/{postId}/edit", who: members, serve: (*call).savePost},
	{method: get, path: "/threads/{threadId}/posts/{postId}/history", who: members, serve: (*call).history},
	{method: get, path: "/threads/{threadId}/posts/{postId}/delete", who: members, serve: (*call).askDelete},
	{method: post, path: "/threads/{threadId}/posts/{postId}/delete", who: members, serve: (*call).deletePost},
	{method: post, path: "/posts/{postId}/restore", who: members, serve: (*call).restorePost},
	{method: get, path: "/posts/{postId}/report", who: members, serve: (*call).askReport},
	{method: post, path: "/posts/{postId}/report", who: members, serve: (*call).report},

	{method: get, path: "/search", serve: (*call).search},
	{method: get, path: "/members/{userId}", serve: (*call).member},

	{method: get, path: "/login", always: true, serve: (*call).askLogin},
	{method: post, path: "/login", always: true, serve: (*call).login},
	{method: post, path: "/logout", always: true, serve: (*call).logout},
	{method: get, path: "/register", always: true, serve: (*call).askRegister},
	{method: post, path: "/register", always: true, serve: (*call).register},
	{method: get, path: "/forgot", always: true, serve: (*call).askReset},
	{method: post, path: "/forgot", always: true, serve: (*call).mailReset},
	{method: get, path: "/reset", always: true, secret: true, serve: (*call).openReset},
	{method: post, path: "/reset", always: true, serve: (*call).reset},
	{method: get, path: "/email", always: true, secret: true, serve: (*call).openEmail},
	{method: post, path: "/email", always: true, serve: (*call).confirmEmail},
	{method: get, path: "/confirm", who: members, serve: (*call).askConfirm},
	{method: post, path: "/confirm", who: members, serve: (*call).confirm},

	{method: get, path: "/account", who: members, serve: (*call).account},
	{method: post, path: "/account", who: members, serve: (*call).saveProfile},
	{method: get, path: "/account/password", who: members, serve: (*call).askPassword},
	{method: post, path: "/account/password", who: members, serve: (*call).savePassword},
	{method: get, path: "/account/email", who: members, joining: true, serve: (*call).email},
	{method: post, path: "/account/email", who: members, joining: true, serve: (*call).mailEmail},
	{method: post, path: "/account/email/again", who: members, joining: true, serve: (*call).mailEmailAgain},
	{method: get, path: "/account/tokens", who: members, serve: (*call).tokens},
	{method: post, path: "/account/tokens", who: members, serve: (*call).issueToken},
	{method: post, path: "/account/tokens/{tokenId}/revoke", who: members, serve: (*call).revokeToken},
	{method: get, path: "/account/subscriptions", who: members, serve: (*call).subscriptions},
	{method: get, path: "/account/notifications", who: members, serve: (*call).notifications},
	{method: post, path: "/account/notifications", who: members, serve: (*call).readNotifications},

	{method: get, path: "/assets/{file}", always: true, public: true, serve: (*call).asset},
	{method: get, path: "/", always: true, serve: (*call).nothing},
	{method: post, path: "/", always: true, serve: (*call).nothing},
}, moderationRoutes, adminRoutes, attachmentRoutes)
