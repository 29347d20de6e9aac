package posts

import (
	"context"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/sitemap"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

const (
	// maxSitemap is the number of consecutive thread ids that a part of the sitemap covers. So a part cannot have more
	// URLs than a sitemap file may have, and a new thread changes only the last part.
	maxSitemap = sitemap.MaxURLs
	// sitemapBatch is the number of threads that are read at a time.
	sitemapBatch = 1000
)

// ListedThread is a thread in the sitemap.
type ListedThread struct {
	ID      int64
	Slug    string
	Changed time.Time
}

// Listed reports whether the actor may read the threads of all authors in at least one forum. If not, the actor's
// sitemap would be empty.
func (s *Service) Listed(a *rights.Actor) bool {
	for id, node := range a.Rights.Access.Forums {
		if node.Kind == "forum" && a.MayIn(id, rights.ThreadView|rights.ThreadViewOthers) {
			return true
		}
	}
	return false
}

// SitemapParts returns the number of parts of the sitemap that list threads.
func (s *Service) SitemapParts(ctx context.Context) (parts int, err error) {
	var last int64
	err = s.Read(ctx, func(c store.Conn) error {
		return c.Row("SELECT COALESCE(MAX(id), 0) FROM board_threads").Scan(&last)
	})
	return int((last + maxSitemap - 1) / maxSitemap), err
}

// sitemapThreads returns the query for the threads of a part of the sitemap. Its arguments are the id before the
// first thread, the id of the last thread, and the limit. The caller leaves out hidden threads: a condition for them
// could make the planner choose another index than the primary key.
func sitemapThreads() content.Listing {
	return content.Listing{
		Columns: "t.id, t.forum_id, t.visibility, t.slug, t.last_post_at", From: "board_threads t",
		Where: "t.id > ? AND t.id <= ?", Order: "t.id",
	}
}

// SitemapThreads calls fn for each visible thread in a part of the sitemap; the first part has the number 1. It leaves
// out forums in which the actor may not read the threads of all authors. It reads the threads in batches rather than in
// one long read, since the client determines how fast they are consumed.
func (s *Service) SitemapThreads(ctx context.Context, a *rights.Actor, part int, fn func(ListedThread)) error {
	afterID := int64(part-1) * maxSitemap // a part covers maxSitemap ids
	for end := afterID + maxSitemap; ; {
		var rows int
		var last int64 // the id of the last row
		var page []ListedThread
		err := s.Read(ctx, func(c store.Conn) error {
			rows, page = 0, page[:0]
			return c.All(sitemapThreads().SQL(c.Dialect()), []any{afterID, end, sitemapBatch}, func(r store.Row) error {
				var t content.Thread
				err := r.Scan(&t.ID, &t.Forum, &t.Visibility, &t.Slug, &t.LastAt)
				rows++
				last = t.ID
				if t.Visibility == rights.Visible && a.MayIn(t.Forum, rights.ThreadView|rights.ThreadViewOthers) {
					page = append(page, ListedThread{ID: t.ID, Slug: t.Slug, Changed: t.LastAt.Time()})
				}
				return err
			})
		})
		if err != nil {
			return err
		}
		for _, t := range page {
			fn(t)
		}
		if rows < sitemapBatch {
			return nil
		}
		afterID = last
	}
}
