package board

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/semaphore"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/admin"
	"github.com/tollgate-gateway/tollgate/backends/board/api"
	"github.com/tollgate-gateway/tollgate/backends/board/attachments"
	"github.com/tollgate-gateway/tollgate/backends/board/conversations"
	"github.com/tollgate-gateway/tollgate/backends/board/drafts"
	"github.com/tollgate-gateway/tollgate/backends/board/following"
	"github.com/tollgate-gateway/tollgate/backends/board/jobs"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/mails"
	"github.com/tollgate-gateway/tollgate/backends/board/moderation"
	"github.com/tollgate-gateway/tollgate/backends/board/owndata"
	"github.com/tollgate-gateway/tollgate/backends/board/polls"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/backends/board/reactions"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/backends/board/search"
	"github.com/tollgate-gateway/tollgate/backends/board/seed"
	"github.com/tollgate-gateway/tollgate/backends/board/tags"
	"github.com/tollgate-gateway/tollgate/backends/board/warnings"
	"github.com/tollgate-gateway/tollgate/backends/board/web"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/webhook"
)

// shared is the state that all servers of one board share, regardless of their options.
type shared struct {
	words   *search.Words
	views   *posts.Views
	strips  *semaphore.Weighted // bounds how many images are rewritten at once
	tokens  *accounts.Tokens
	looks   *rights.LookLog
	flushes *semaphore.Weighted    // held by the running Flush
	secret  atomic.Pointer[[]byte] // signs cursors and forms; nil until the board is ready
	prepare sync.Mutex             // guards end, and the creation of the secret
	end     func()                 // stops the background work; nil before it has started
}

// newShared returns the shared state of a new board: all counts are 0, and the secret is not set.
func newShared(now func() time.Time) *shared {
	return &shared{
		words: search.NewWords(), views: posts.NewViews(), strips: attachments.NewStrips(), tokens: accounts.NewTokens(),
		looks: rights.NewLookLog(now), flushes: semaphore.NewWeighted(1),
	}
}

// wire constructs the services of a board, and passes to each the kernel and the services that it uses.
func wire(common *shared, db *store.DB, options kernel.Options, logger *zap.Logger, now func() time.Time) *Server {
	k := kernel.New(db, options, logger, now, func() []byte { return *common.secret.Load() })

	s := &Server{kernel: k, shared: common}
	s.Rights = rights.New(k, common.looks)
	s.Attachments = attachments.New(k, common.strips)
	s.Following = following.New(k, s.Rights)
	s.Search = search.New(k, common.words)
	s.Reactions = reactions.New(k, s.Following)
	s.Posts = posts.New(k, posts.Options{
		Rights: s.Rights, Attachments: s.Attachments, Following: s.Following, Search: s.Search, Views: common.views,
	})
	s.Moderation = moderation.New(k, s.Rights, s.Search, s.Posts)
	s.Warnings = warnings.New(k, s.Rights)
	s.Tags = tags.New(k, s.Rights, s.Posts)
	s.Polls = polls.New(k, s.Rights, s.Posts)
	s.Conversations = conversations.New(k, s.Rights)
	s.Drafts = drafts.New(k)
	s.OwnData = owndata.New(k)
	s.Accounts = accounts.New(k, s.Rights, common.tokens)
	s.Mails = mails.New(k, s.Rights)
	s.Admin = admin.New(k, s.Rights, s.Posts, s.Accounts)
	s.seeds = seed.New(k, s.Accounts, s.Attachments)
	return s
}

// Pages returns the handler of the web pages of the board.
func (s *Server) Pages(options web.Options, logger *zap.Logger) http.Handler {
	return web.New(s.kernel, &s.Services, s.Ready, options, logger)
}

// Work returns the services for the background jobs (see jobs.List). webhooks delivers webhooks, and mailer sends
// mails.
func (s *Server) Work(webhooks *webhook.Sender, mailer *jobs.Mailer, logger *zap.Logger) *jobs.Work {
	return &jobs.Work{
		Attachments: s.Attachments, Search: s.Search, Posts: s.Posts, Accounts: s.Accounts, Mails: s.Mails,
		Moderation: s.Moderation, Hooks: s.kernel.Hooks, Ready: s.Ready, Purge: s.Purge, Webhooks: webhooks, Mail: mailer,
		Logger: logger,
	}
}

// API returns the JSON API of the board.
func (s *Server) API() *api.API {
	return api.New(s.kernel, api.Options{
		Attachments: s.Attachments, Following: s.Following, Search: s.Search, Posts: s.Posts, Accounts: s.Accounts,
	})
}
