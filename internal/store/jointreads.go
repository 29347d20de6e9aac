package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/singleflight"
)

// ReadTimeout limits a read for which a request waits.
const ReadTimeout = 5 * time.Second

// InTime runs a read for which a request waits. If it takes longer than ReadTimeout, InTime returns an error that wraps
// ErrUnavailable, because a database that hangs is of no more use than one that is down.
func InTime(ctx context.Context, read func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, ReadTimeout)
	defer cancel()
	err := read(ctx)
	if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ErrUnavailable) {
		err = fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}

// JointReads lets concurrent callers that need the same data share one read.
type JointReads struct {
	logger *zap.Logger
	flight singleflight.Group
}

// NewJointReads returns a JointReads that logs panics to logger.
func NewJointReads(logger *zap.Logger) *JointReads { return &JointReads{logger: logger} }

// Do runs read, or waits for a running read of the same name, and returns its result. The read runs on a separate
// goroutine, so that a request that streams for minutes does not keep the large stack of a query. If ctx ends, Do
// returns but the read goes on for the other callers. InTime limits the read. A panic in it is logged and becomes an
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
