package counters

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
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

// errNotYet is the error of dialling while the client is being made.
var errNotYet = errors.New("connecting is left to the first operation")

// newRedisClient makes a client that connects on first use. The constructor of rueidis dials; with ForceSingleClient it
// returns a working client even if that fails, so the first dial is made to fail without using the network.
func newRedisClient(t redisTarget, timeout time.Duration) (rueidis.Client, error) {
	var ready atomic.Bool
	options := rueidis.ClientOption{
		InitAddress:       []string{t.address},
		Username:          t.username,
		Password:          t.password,
		SelectDB:          t.db,
		ClientName:        "tollgate",
		ClientSetInfo:     rueidis.DisableClientSetInfo,
		ForceSingleClient: true,
		// Nothing is cached, and a script that may have run is not run again.
		DisableCache: true,
		DisableRetry: true,
		// Use one connection. Its reader goroutine notices a loss at once, and a call can time out without closing it.
		PipelineMultiplex:   -1,
		AlwaysPipelining:    true,
		RingScaleEachConn:   redisRingScale,
		ReadBufferEachConn:  redisBuffer,
		WriteBufferEachConn: redisBuffer,
		BlockingPoolSize:    1,
		ConnWriteTimeout:    timeout,
		Dialer:              net.Dialer{Timeout: timeout, KeepAlive: time.Second},
		DialCtxFn: func(ctx context.Context, address string, dialer *net.Dialer, config *tls.Config) (net.Conn, error) {
			if !ready.Load() {
				return nil, errNotYet
			}
			if config != nil {
				return (&tls.Dialer{NetDialer: dialer, Config: config}).DialContext(ctx, "tcp", address)
			}
			return dialer.DialContext(ctx, "tcp", address)
		},
	}
	if t.secure {
		options.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.host}
	}
	client, err := rueidis.NewClient(options)
	if client == nil || (err != nil && !errors.Is(err, errNotYet)) {
		return nil, fmt.Errorf("making the redis client: %w", err)
	}
	ready.Store(true)
	return client, nil
}
