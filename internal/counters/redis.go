package counters

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"
	"go.uber.org/zap"
	"golang.org/x/sync/singleflight"
)

// Defaults of RedisOptions.
const (
	DefaultRedisTimeout = 500 * time.Millisecond
	DefaultRedisPrefix  = "tollgate:"
)

const (
	// redisConnections limits the number of connections to the server, and thereby the number of operations at the same
	// time. Further operations wait for a connection within their time limit.
	redisConnections = 64
	// redisIdleTimeout is the time after which an unused connection is closed.
	redisIdleTimeout = time.Minute
	// redisQuiet is the time after which an unused connection is tested with a PING before its next use.
	redisQuiet = time.Second
	// readyFor is how long the result of Ready is cached.
	readyFor = 500 * time.Millisecond
	// readyTTL is the lifetime of the key that Ready writes.
	readyTTL = time.Second
)

// RedisOptions are the settings of a Redis store.
type RedisOptions struct {
	// Timeout limits each operation, including connecting. Default: 500ms.
	Timeout time.Duration
	// Prefix is the prefix of every key. Default: "tollgate:".
	Prefix string
	// Logger logs when the server is lost and when it is back. Default: no log.
	Logger *zap.Logger
}

// Redis is a Store on one Redis (7 or later) or Valkey server, shared by any number of nodes. Each operation is one
// script or command and one round trip. It uses the server's clock, so that the clocks of the nodes do not matter.
//
// The store connects when it is first used, and reconnects after a loss. While the server is unreachable operations
// fail with ErrUnavailable: the first ones within the time limit, later ones at once, except for one attempt every 200
// ms to find out whether the server is back. An operation whose answer was lost is not repeated, though it may have
// been counted.
type Redis struct {
	pool    *redis.Pool
	timeout time.Duration
	lost    atomic.Pointer[time.Time] // when the server last closed a connection, nil before the first time
	windows string                    // key prefix of windows
	marks   string                    // key prefix of marks
	places  string                    // key prefix of held places
	health  health
	closed  atomic.Bool
	probing singleflight.Group
	probed  atomic.Pointer[probed] // result of the last probe
	// clock replaces the server's time in tests. It returns microseconds, more than 0.
	clock func() int64
}

// NewRedis returns a store on the server at rawURL, which has one of the forms
//
//	redis://[user[:password]@]host[:port][/db]
//	rediss://… (TLS 1.2 or later, certificate checked against the system's roots)
//
// It does not connect and returns an error only for a malformed URL. The error does not contain the URL.
func NewRedis(rawURL string, o RedisOptions) (*Redis, error) {
	target, err := parseRedisURL(rawURL)
	if err != nil {
		return nil, err
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultRedisTimeout
	}
	if o.Prefix == "" {
		o.Prefix = DefaultRedisPrefix
	}
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	r := &Redis{
		timeout: o.Timeout,
		windows: o.Prefix + "window:",
		marks:   o.Prefix + "mark:",
		places:  o.Prefix + "places:",
		health:  health{logger: o.Logger.With(zap.String("server", target.address))},
	}
	// A restarted server has closed every connection that was idle then. Such a connection was last used before the loss.
	r.pool = newRedisPool(target, o.Timeout, func(lastUsed time.Time) bool {
		lost := r.lost.Load()
		return lost != nil && !lastUsed.After(*lost)
	})
	return r, nil
}

// Both scripts begin with the code that loads the window, window.lua.
var (
	//go:embed window.lua
	windowLua string
	//go:embed take.lua
	takeLua string
	//go:embed charge.lua
	chargeLua string

	takeScript   = redis.NewScript(1, windowLua+takeLua)
	chargeScript = redis.NewScript(1, windowLua+chargeLua)
)

// Take implements Store.
func (r *Redis) Take(ctx context.Context, key string, cost, limit int64, window time.Duration) (Result, error) {
	if err := checkTake(cost, limit, window); err != nil {
		return Result{}, fmt.Errorf("taking from the counters: %w", err)
	}
	width := window.Microseconds()
	resp, err := redis.Int64s(r.run(ctx, takeScript, key, width, cost, limit))
	if err != nil {
		return Result{}, fmt.Errorf("taking from the counters: %w", err)
	}
	// The reply has the values allowed, current, previous and rest.
	if len(resp) != 4 || resp[1] < 0 || resp[2] < 0 || resp[3] <= 0 || resp[3] > width {
		return Result{}, fmt.Errorf("taking from the counters: %w: unexpected answer %v", ErrUnavailable, resp)
	}
	s := state{current: resp[1], previous: resp[2], rest: resp[3], window: width}
	return s.result(resp[0] == 1, cost, limit), nil
}

// Charge implements Store.
func (r *Redis) Charge(ctx context.Context, key string, cost int64, window time.Duration) error {
	if err := checkCharge(cost, window); err != nil {
		return fmt.Errorf("charging the counters: %w", err)
	}
	if cost == 0 {
		return nil
	}
	if _, err := r.run(ctx, chargeScript, key, window.Microseconds(), cost, 0); err != nil {
		return fmt.Errorf("charging the counters: %w", err)
	}
	return nil
}

// SetNX implements Store.
func (r *Redis) SetNX(ctx context.Context, key string, ttl time.Duration) (bool, error) {
	if err := checkMark(ttl); err != nil {
		return false, fmt.Errorf("marking in the counters: %w", err)
	}
	var wasUnmarked bool
	err := r.do(ctx, func(ctx context.Context, c redis.Conn) error {
		reply, err := redis.DoContext(c, ctx, "SET", r.marks+key, "1", "NX", "PX", ttl.Milliseconds())
		wasUnmarked = reply != nil
		return err
	})
	if err != nil {
		return false, fmt.Errorf("marking in the counters: %w", err)
	}
	return wasUnmarked, nil
}

// Ready implements Store. The result is cached for readyFor and concurrent callers share one probe, because clients may
// call it as often as they like.
func (r *Redis) Ready(ctx context.Context) error {
	if last := r.probed.Load(); last != nil && !r.closed.Load() && time.Since(last.time) < readyFor {
		return last.err
	}
	probe := r.probing.DoChan("", func() (any, error) {
		err := r.probe(context.WithoutCancel(ctx))
		r.probed.Store(&probed{err, time.Now()})
		return nil, err
	})
	select {
	case done := <-probe:
		return done.Err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// probed is the result of a probe.
type probed struct {
	err  error
	time time.Time
}

// probe writes a key, because some servers answer but refuse writes, such as a replica or a server whose memory is
// full.
func (r *Redis) probe(ctx context.Context) error {
	err := r.do(ctx, func(ctx context.Context, c redis.Conn) error {
		_, err := redis.DoContext(c, ctx, "SET", r.marks+"ready", "1", "PX", readyTTL.Milliseconds())
		return err
	})
	if err != nil {
		return fmt.Errorf("trying the counters: %w", err)
	}
	return nil
}

// Close implements Store. Operations under way still end, and their connections are closed then.
func (r *Redis) Close() error {
	if !r.closed.Swap(true) {
		return r.pool.Close()
	}
	return nil
}

// run executes a script on the window of key; see window.lua for its arguments.
func (r *Redis) run(
	ctx context.Context, script *redis.Script, key string, window, cost, limit int64,
) (reply any, err error) {
	now := int64(0)
	if r.clock != nil {
		now = r.clock()
	}
	name := r.windows + key + ":" + strconv.FormatInt(window, 10)
	err = r.do(ctx, func(ctx context.Context, c redis.Conn) error {
		var err error
		reply, err = script.DoContext(ctx, c, name, now, window, cost, limit)
		return err
	})
	return reply, err
}

// do runs one operation within the time limit and updates the server's health. All errors that it returns wrap
// ErrUnavailable.
func (r *Redis) do(ctx context.Context, op func(context.Context, redis.Conn) error) error {
	if r.closed.Load() {
		return errClosed
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if !r.health.admit(time.Now()) {
		return errDown
	}
	deadline := time.Now().Add(r.timeout)
	ownLimit := true
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline, ownLimit = d, false
	}
	// The caller's cancellation does not interrupt the operation: other callers may wait for the connection, and it must
	// be known whether the operation was counted.
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
	defer cancel()

	err := r.exchange(ctx, op)
	switch {
	case err == nil:
		r.health.up()
		return nil
	case r.closed.Load():
		return errClosed
	case !ownLimit && isTimeout(err):
		// The caller's deadline was earlier than our limit, so the error says nothing about the server.
	default:
		r.health.failed(err, time.Now())
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// exchange runs an operation on a connection of the pool, for which it waits until the deadline of ctx.
func (r *Redis) exchange(ctx context.Context, op func(context.Context, redis.Conn) error) error {
	c, err := r.pool.GetContext(ctx)
	if err != nil {
		return err
	}
	defer c.Close() //nolint:errcheck // the error of a broken connection is that of the operation
	err = op(ctx, c)
	if c.Err() != nil && !isTimeout(err) { // the server closed the connection; a server that stops closes all of them
		now := time.Now()
		r.lost.Store(&now)
	}
	return err
}

// isTimeout reports whether err means that a time limit was reached.
func isTimeout(err error) bool {
	var netErr net.Error // context.DeadlineExceeded implements it
	return errors.As(err, &netErr) && netErr.Timeout()
}

// isReply reports whether err is a reply of the server.
func isReply(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}

// isStateReply reports whether err is a reply which means that the server cannot serve any command now (LOADING,
// READONLY, OOM, NOAUTH …). Other replies concern only the key or the command.
func isStateReply(err error) bool {
	code, _, _ := strings.Cut(err.Error(), " ")
	return code != "ERR" && code != "WRONGTYPE"
}

var errDown = fmt.Errorf("%w: waiting for the server to come back", ErrUnavailable)

var _ Store = (*Redis)(nil)
