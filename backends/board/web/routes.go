package web

import (
	"net/http"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/board/web/administration"
	"github.com/tollgate-gateway/tollgate/internal/pages"
)

const (
	get  = http.MethodGet
	post = http.MethodPost
)

// page is the route of a page or of a form's request.
type page = pages.Page[*call]

// routes lists all pages.
var routes = slices.Concat([]page{
	{Method: get, Path: "/{$}", Admit: guests, Serve: (*call).index},
	{Method: get, Path: "/forums/{forumId}", Admit: guests, Serve: (*call).forum},
	{Method: get, Path: "/forums/{forumId}/new", Serve: (*call).newThread},
	{
		Method: post, Path: "/forums/{forumId}/new", Serve: (*call).startThread, Upload: maxEnclosed,
		Keeps: []string{"title", "message", "prefixId", "subscribe", "tags", "pollQuestion", "pollAnswers", "pollChoices", "pollDays", "pollHidden", "pollChange"},
	},
	{Method: post, Path: "/forums/{forumId}/read", Serve: (*call).readForum},
	{Method: get, Path: "/new", Serve: (*call).unread},
	{Method: post, Path: "/read", Serve: (*call).readAll},
	{Method: get, Path: "/feed.atom", Public: true, Admit: readers, Serve: (*call).boardFeed},
	{Method: get, Path: "/forums/{forumId}/feed.atom", Public: true, Admit: readers, Serve: (*call).forumFeed},
	{Method: get, Path: "/robots.txt", Public: true, Admit: everybody, Serve: (*call).robots},
	{Method: get, Path: "/sitemap.xml", Public: true, Admit: readers, Serve: (*call).sitemap},

	{Method: get, Path: "/threads/{threadId}", Admit: guests, Serve: (*call).thread},
	{Method: get, Path: "/threads/{threadId}/unread", Admit: guests, Serve: (*call).firstUnread},
	{Method: get, Path: "/threads/{threadId}/last", Admit: guests, Serve: (*call).lastPage},
	{Method: get, Path: "/threads/{threadId}/reply", Serve: (*call).newReply},
	{
		Method: post, Path: "/threads/{threadId}/reply", Serve: (*call).reply, Upload: maxEnclosed,
		Keeps: []string{"message", "subscribe"},
	},
	{Method: get, Path: "/threads/{threadId}/manage", Serve: (*call).manage},
	{Method: post, Path: "/threads/{threadId}/manage", Serve: (*call).change},
	{Method: post, Path: "/threads/{threadId}/subscription", Serve: (*call).subscribe},

	{Method: get, Path: "/posts/{postId}", Admit: guests, Serve: (*call).permalink},
	{Method: get, Path: "/threads/{threadId}/posts/{postId}/edit", Serve: (*call).editPost},
	{
		Method: post, Path: "/threads/{threadId}/posts/{postId}/edit", Serve: (*call).savePost,
		Keeps: []string{"message", "reason", "version"},
	},
	{Method: get, Path: "/threads/{threadId}/posts/{postId}/history", Serve: (*call).history},
	{Method: get, Path: "/threads/{threadId}/posts/{postId}/delete", Serve: (*call).askDelete},
	{Method: post, Path: "/threads/{threadId}/posts/{postId}/delete", Serve: (*call).deletePost},
	{Method: post, Path: "/posts/{postId}/restore", Serve: (*call).restorePost},
	{Method: get, Path: "/posts/{postId}/report", Serve: (*call).askReport},
	{Method: post, Path: "/posts/{postId}/report", Serve: (*call).report},
	{Method: get, Path: "/posts/{postId}/warn", Serve: (*call).askWarn},
	{Method: post, Path: "/posts/{postId}/warn", Serve: (*call).warn},

	{Method: get, Path: "/search", Admit: guests, Serve: (*call).search},
	{Method: get, Path: "/members/{userId}", Admit: guests, Serve: (*call).member},
	{Method: post, Path: "/members/{userId}/record", Serve: (*call).saveRecord},

	{Method: get, Path: "/conversations", Serve: (*call).conversations},
	{Method: get, Path: "/conversations/new", Serve: (*call).newConversation},
	{
		Method: post, Path: "/conversations/new", Serve: (*call).startConversation,
		Keeps: []string{"recipients", "title", "message"},
	},
	{Method: post, Path: "/conversations/wishes", Serve: (*call).wish},
	{Method: get, Path: "/conversations/{conversationId}", Serve: (*call).conversation},
	{
		Method: post, Path: "/conversations/{conversationId}", Serve: (*call).answerConversation,
		Keeps: []string{"message"},
	},
	{Method: post, Path: "/conversations/{conversationId}/leave", Serve: (*call).leaveConversation},
	{
		Method: get, Path: "/conversations/{conversationId}/messages/{messageId}/report",
		Serve: (*call).askReportMessage,
	},
	{Method: post, Path: "/conversations/{conversationId}/messages/{messageId}/report", Serve: (*call).reportMessage},
	{Method: post, Path: "/members/{userId}/ignore", Serve: (*call).ignore},

	{Method: get, Path: "/login", Admit: everybody, Serve: (*call).askLogin},
	{Method: post, Path: "/login", Admit: everybody, Serve: (*call).login, Else: (*call).loginMeanwhile},
	{Method: get, Path: "/login/oidc", Admit: everybody, Serve: (*call).beginSignOn},
	{Method: get, Path: "/login/oidc/callback", Secret: true, Admit: everybody, Serve: (*call).signOn},
	{Method: post, Path: "/logout", Admit: everybody, Serve: (*call).logout, Else: (*call).logoutMeanwhile},
	{Method: get, Path: "/register", Admit: everybody, Serve: (*call).askRegister},
	{Method: post, Path: "/register", Admit: everybody, Serve: (*call).register},
	{Method: get, Path: "/forgot", Admit: everybody, Serve: (*call).askReset},
	{Method: post, Path: "/forgot", Admit: everybody, Serve: (*call).mailReset},
	{Method: get, Path: "/reset", Secret: true, Admit: everybody, Serve: (*call).openReset},
	{Method: post, Path: "/reset", Admit: everybody, Serve: (*call).reset},
	{Method: get, Path: "/email", Secret: true, Admit: everybody, Serve: (*call).openEmail},
	{Method: post, Path: "/email", Admit: everybody, Serve: (*call).confirmEmail},
	{Method: get, Path: "/confirm", Serve: (*call).askConfirm},
	{Method: post, Path: "/confirm", Serve: (*call).confirm},

	{Method: get, Path: "/account", Serve: (*call).account},
	{Method: post, Path: "/account", Serve: (*call).saveProfile},
	{Method: get, Path: "/account/data", Serve: (*call).ownData},
	{Method: post, Path: "/account/language", Serve: (*call).chooseLanguage},
	{Method: get, Path: "/account/password", Serve: (*call).askPassword},
	{Method: post, Path: "/account/password", Serve: (*call).savePassword},
	{Method: get, Path: "/account/email", Admit: joining, Serve: (*call).email},
	{Method: post, Path: "/account/email", Admit: joining, Serve: (*call).mailEmail},
	{Method: post, Path: "/account/email/again", Admit: joining, Serve: (*call).mailEmailAgain},
	{Method: get, Path: "/account/tokens", Serve: (*call).tokens},
	{Method: post, Path: "/account/tokens", Serve: (*call).issueToken},
	{Method: post, Path: "/account/tokens/{tokenId}/revoke", Serve: (*call).revokeToken},
	{Method: get, Path: "/account/subscriptions", Serve: (*call).subscriptions},
	{Method: post, Path: "/account/digests", Serve: (*call).saveDigests},
	{Method: get, Path: "/account/warnings", Serve: (*call).ownWarnings},
	{Method: get, Path: "/account/notifications", Serve: (*call).notifications},
	{Method: post, Path: "/account/notifications", Serve: (*call).readNotifications},
}, reactionRoutes, composeRoutes, tagRoutes, pollRoutes, moderationRoutes, attachmentRoutes, faceRoutes,
	memberRoutes, oldRoutes, pages.Within(administration.Pages, administrators, (*call).administration))
