package moderation

import (
	"context"
	"database/sql"
	"errors"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// MergedInto returns the thread into which another one was merged, and the post there that was its first one. The
// error is NotFound if there is none that the actor sees.
func (s *Service) MergedInto(ctx context.Context, a *rights.Actor, thread int64) (into, first int64, err error) {
	err = s.Read(ctx, func(c store.Conn) error {
		err := c.Row("SELECT into_id, first_post FROM board_merged_threads WHERE thread_id = ? AND merged_at IS NOT NULL",
			thread).Scan(&into, &first)
		if errors.Is(err, sql.ErrNoRows) {
			return kernel.NotFound()
		}
		if err != nil {
			return err
		}
		_, err = content.ThreadFor(c, a, into, "")
		return err
	})
	return into, first, err
}
