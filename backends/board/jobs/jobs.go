// Package jobs runs the background jobs of a board. They deliver webhooks, send mails, delete old rows, and maintain
// attachments, the archive, names and the search index. Each job runs on only one node at a time.
package jobs

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/attachments"
	"github.com/tollgate-gateway/tollgate/backends/board/mails"
	"github.com/tollgate-gateway/tollgate/backends/board/moderation"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/backends/board/search"
	"github.com/tollgate-gateway/tollgate/internal/jobs"
	"github.com/tollgate-gateway/tollgate/internal/webhook"
)

// The names of the jobs of List.
const (
	JobWebhooks    = "webhooks"
	JobMail        = "mail"
	JobPurge       = "purge"
	JobAttachments = "attachments"
	JobImages      = "images"
	JobArchive     = "archive"
	JobNames       = "names"
	JobSearch      = "search"
	JobMerges      = "merges"
)

// Work holds the services that the jobs use. All fields are required.
type Work struct {
	Attachments *attachments.Service
	Search      *search.Service
	Posts       *posts.Service
	Accounts    *accounts.Service
	Mails       *mails.Service
	Hooks       *webhook.Hooks
	Moderation  *moderation.Service
	// Ready prepares the board, for example its schema. It is called before every run of a job.
	Ready func(ctx context.Context) error
	// Purge deletes old rows and returns how many it deleted.
	Purge func(ctx context.Context) (int64, error)
	// Webhooks sends deliveries to the addresses of webhooks.
	Webhooks *webhook.Sender
	// Mail sends mails.
	Mail   *Mailer
	Logger *zap.Logger
}

// List returns the jobs of a board. Before each run a job calls current for the Work to use. While current returns nil
// the job does nothing.
func List(current func() *Work) []jobs.Job {
	job := func(name string, every time.Duration, run func(ctx context.Context, w *Work) (int, error)) jobs.Job {
		return jobs.Job{Name: name, Every: every, Run: func(ctx context.Context) (int, error) {
			w := current()
			if w == nil {
				return 0, jobs.ErrNotNow
			}
			if err := w.Ready(ctx); err != nil {
				return 0, err
			}
			return run(ctx, w)
		}}
	}
	return []jobs.Job{
		job(JobWebhooks, 2*time.Second, func(ctx context.Context, w *Work) (int, error) {
			return w.Hooks.Deliver(ctx, w.Webhooks)
		}),
		job(JobMail, 5*time.Second, func(ctx context.Context, w *Work) (int, error) { return w.Mail.Send(ctx, w.Mails) }),
		job(JobPurge, time.Hour, func(ctx context.Context, w *Work) (int, error) {
			n, err := w.Purge(ctx)
			return int(n), err
		}),
		job(JobAttachments, 6*time.Hour, func(ctx context.Context, w *Work) (int, error) {
			return w.Attachments.SweepAttachments(ctx)
		}),
		job(JobImages, time.Hour, func(ctx context.Context, w *Work) (int, error) {
			return w.Attachments.StripAttachments(ctx)
		}),
		job(JobArchive, 24*time.Hour, func(ctx context.Context, w *Work) (int, error) {
			n, err := w.Posts.Archive(ctx)
			return int(n), err
		}),
		job(JobNames, time.Minute, func(ctx context.Context, w *Work) (int, error) { return w.Accounts.FillNames(ctx) }),
		job(JobSearch, time.Minute, func(ctx context.Context, w *Work) (int, error) { return w.Search.IndexPosts(ctx) }),
		job(JobMerges, time.Minute, func(ctx context.Context, w *Work) (int, error) {
			return w.Moderation.ResumeMerges(ctx)
		}),
	}
}
