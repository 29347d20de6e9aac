package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/singleflight"
)

// ReadTimeout bounds a read that requests wait for.
const ReadTimeout = 5 * time.Second

// InTime runs a read that a request waits for. One that takes longer than ReadTimeout ends with an
// error that wraps ErrUnavailable: a database that hangs is as good as gone.
func InTime(ctx context.Context, read func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, ReadTimeout)
	defer cancel()
	err := read(ctx)
	if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ErrUnavailable) {
		err = fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}

// JointReads runs one read for all who wait for the same.
type JointReads struct {
	logger *zap.Logger
	flight singleflight.Group
}

// NewJointReads returns reads whose panics are logged.
func NewJointReads(logger *zap.Logger) *JointReads { return &JointReads{logger: logger} }

// Do runs read, or waits for one of the same name that is under way, on a goroutine of its own:
// the stack that a query needs is not kept by a request that streams for minutes. One of those
// who wait may leave, by its context, without ending the read for the others. It is bounded as by
// InTime. A panic in it is an error, and logged.
func (j *JointReads) Do(ctx context.Context, name string, read func(ctx context.Context) (any, error)) (any, error) {
	guarded := func() (found any, err error) {
		defer func() {
			if v := recover(); v != nil { // it would end the process, and all its streams
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
