package counters

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// redisTarget is a parsed URL.
type redisTarget struct {
	address            string // host:port
	host               string
	secure             bool
	username, password string
	db                 int
}

// CheckRedisURL returns an error if NewRedis does not accept the URL. The error contains no part of the URL.
func CheckRedisURL(rawURL string) error {
	_, err := parseRedisURL(rawURL)
	return err
}

// parseRedisURL parses a redis:// or rediss:// URL. Unlike the client's parser it refuses parameters, because some
// would turn off certificate checks. Its errors never quote the URL; those of url.Parse do, including the password.
func parseRedisURL(rawURL string) (redisTarget, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return redisTarget{}, errors.New(
			"redis url: not a valid URL such as redis://host:6379 or rediss://user:password@host:6379/0, with a percent-encoded password")
	}
	var t redisTarget
	switch u.Scheme {
	case "redis", "valkey":
	case "rediss", "valkeys":
		t.secure = true
	default:
		return redisTarget{}, errors.New("redis url: the scheme must be redis:// or rediss://")
	}
	t.host = u.Hostname()
	if t.host == "" || u.Opaque != "" {
		return redisTarget{}, errors.New("redis url: the host is missing")
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return redisTarget{}, errors.New("redis url: parameters are not supported")
	}
	port := u.Port()
	if port == "" {
		port = "6379"
	}
	t.address = net.JoinHostPort(t.host, port)
	if u.User != nil {
		t.username = u.User.Username()
		t.password, _ = u.User.Password()
	}
	if path := strings.TrimPrefix(u.Path, "/"); path != "" {
		db, err := strconv.ParseUint(path, 10, 16)
		if err != nil {
			return redisTarget{}, errors.New("redis url: the path must be a database number")
		}
		t.db = int(db)
	}
	return t, nil
}

// newRedisPool returns a pool of connections to the server. The pool dials when an operation needs a connection.
// timeout limits dialling, each read and each write. stale reports whether the server has closed a connection since
// lastUsed, the time at which the connection was last used.
func newRedisPool(t redisTarget, timeout time.Duration, stale func(lastUsed time.Time) bool) *redis.Pool {
	options := []redis.DialOption{
		redis.DialConnectTimeout(timeout),
		redis.DialTLSHandshakeTimeout(timeout),
		redis.DialReadTimeout(timeout),
		redis.DialWriteTimeout(timeout),
		redis.DialUsername(t.username),
		redis.DialPassword(t.password),
		redis.DialClientName("tollgate"),
		redis.DialDatabase(t.db),
		redis.DialUseTLS(t.secure),
		redis.DialTLSConfig(&tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.host}),
	}
	return &redis.Pool{
		DialContext: func(ctx context.Context) (redis.Conn, error) {
			return redis.DialContext(ctx, "tcp", t.address, options...)
		},
		// A connection that the server has closed meanwhile would fail the operation that uses it next.
		TestOnBorrowContext: func(ctx context.Context, c redis.Conn, lastUsed time.Time) error {
			switch {
			case stale(lastUsed):
				return net.ErrClosed
			case time.Since(lastUsed) < redisQuiet:
				return nil
			}
			_, err := redis.DoContext(c, ctx, "PING")
			return err
		},
		MaxActive:   redisConnections,
		MaxIdle:     redisConnections,
		IdleTimeout: redisIdleTimeout,
		Wait:        true,
	}
}
