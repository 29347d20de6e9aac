package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/singleflight"
)

// ReadTimeout limits a read that a request waits for.
const ReadTimeout = 5 * time.Second

// InTime runs a read that a request waits for. If it takes longer than ReadTimeout, InTime returns an error that wraps
// ErrUnavailable: a database that hangs is as good as gone.
func InTime(ctx context.Context, read func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, ReadTimeout)
	defer cancel()
	err := read(ctx)
	if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ErrUnavailable) {
		err = fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}

// JointReads lets concurrent callers that want the same read share one.
type JointReads struct {
	logger *zap.Logger
	flight singleflight.Group
}

// NewJointReads returns a JointReads that logs panics to logger.
func NewJointReads(logger *zap.Logger) *JointReads { return &JointReads{logger: logger} }

// Do runs read, or waits for a read of the same name that is under way. The read runs on a goroutine of its own, so
// that a request that streams for minutes does not keep the stack a query needs. A caller whose ctx ends returns
// without ending the read for the others. The read is limited as by InTime. A panic in it is logged and becomes an
// error.
func (j *JointReads) Do(ctx context.Context, name string, read func(ctx context.Context) (any, error)) (any, error) {
	guarded := func() (found any, err error) {
		defer func() {
			if v := recover(); v != nil { // it would end the process with all its streams
				j.logger.Error("a read of the database panicked", zap.Any("panic", v), zap.Stack("stack"))
				err = errors.New("reading from the database failed")
			}
		}()
		err = InTime(context.WithoutCancel(ctx), func(ctx context.Context) (err error) {
			found, err = read(ctx)
			return err
		})
		return found, err
	}
	select {
	case found := <-j.flight.DoChan(name, guarded):
		return found.Val, found.Err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
