// Package redis provides counters that any number of nodes share.
package redis

import (
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/modules/directive"
	"github.com/tollgate-gateway/tollgate/modules/placeholder"
)

func init() {
	caddy.RegisterModule(Redis{})
}

// Redis keeps the counters of the app tollgate on a Redis (7 or later) or Valkey server, so that any number of nodes
// together admit exactly one budget. Only the server's clock counts; the nodes' clocks need not agree.
//
// The server need not be up when Tollgate starts. While it is down, each use of the counters fails: the first uses
// after the timeout, later ones at once. The connection is restored automatically. The module that counts a request
// decides what happens to it meanwhile; see on_error of the budget. Redis Cluster and Sentinel are not supported.
//
// In the Caddyfile, inside the tollgate option:
//
//	counters redis {env.TOLLGATE_REDIS_URL} {
//		timeout 500ms
//		prefix  tollgate:
//	}
type Redis struct {
	// URL is the URL of the server, redis://[user[:password]@]host[:port][/db], or rediss:// for TLS with a certificate
	// that the system trusts. Write it as {env.NAME} or {file./path}, because it contains the password and the admin API
	// shows the configuration. Special characters in the password are percent-encoded. Required.
	URL string `json:"url,omitempty"`

	// Timeout is the time limit of one operation, including the time to connect, from 1ms to 10s. Default: 500ms.
	Timeout caddy.Duration `json:"timeout,omitempty"`

	// Prefix is the prefix of every key, for a server that other programs use too. Nodes that share budgets must have the
	// same prefix. Default: "tollgate:".
	Prefix string `json:"prefix,omitempty"`

	url string // URL with its placeholders replaced; a secret
}

// maxTimeout is the greatest Timeout.
const maxTimeout = 10 * time.Second

// CaddyModule returns the Caddy module information.
func (Redis) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "tollgate.counters.redis",
		New: func() caddy.Module { return new(Redis) },
	}
}

// Provision sets defaults and reads the URL. It does not connect.
func (r *Redis) Provision(caddy.Context) error {
	if r.Timeout == 0 {
		r.Timeout = caddy.Duration(counters.DefaultRedisTimeout)
	}
	if r.Prefix == "" {
		r.Prefix = counters.DefaultRedisPrefix
	}
	url, err := placeholder.Resolve(r.URL)
	if err != nil {
		return fmt.Errorf("url: %w", err)
	}
	r.url = url
	return nil
}

// Validate checks the URL and the time limit.
func (r *Redis) Validate() error {
	if r.url == "" {
		return fmt.Errorf("url is required")
	}
	if err := counters.CheckRedisURL(r.url); err != nil {
		return fmt.Errorf("url: %w", err)
	}
	if d := time.Duration(r.Timeout); d < time.Millisecond || d > maxTimeout {
		return fmt.Errorf("timeout %s is not within 1ms..%s", d, maxTimeout)
	}
	return nil
}

// Open returns a store that connects at its first use. It logs when the server is lost and when it is back.
func (r *Redis) Open(logger *zap.Logger) (counters.Store, error) {
	return counters.NewRedis(r.url, counters.RedisOptions{
		Timeout: time.Duration(r.Timeout),
		Prefix:  r.Prefix,
		Logger:  logger,
	})
}

// key identifies a store: equal keys mean the same store. It contains a digest of the URL instead of the password.
type key struct {
	url     [sha256.Size]byte
	timeout caddy.Duration
	prefix  string
}

// Key returns a value that is equal for equal settings.
func (r *Redis) Key() any {
	return key{sha256.Sum256([]byte(r.url)), r.Timeout, r.Prefix}
}

// UnmarshalCaddyfile sets up the module from Caddyfile tokens:
//
//	redis <url> {
//		timeout <duration>
//		prefix  <text>
//	}
func (r *Redis) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // redis
	if !d.AllArgs(&r.URL) {
		return d.ArgErr()
	}
	return directive.Options(d, func(option string) error {
		var value string
		if option != "timeout" && option != "prefix" {
			return directive.NoOption(d, "unknown option %q; there are: timeout, prefix", option)
		}
		if !d.AllArgs(&value) {
			return d.ArgErr()
		}
		if option == "prefix" {
			r.Prefix = value
			return nil
		}
		timeout, err := caddy.ParseDuration(value)
		if err != nil {
			return d.Errf("timeout: %v", err)
		}
		r.Timeout = caddy.Duration(timeout)
		return nil
	})
}

// Interface guards
var (
	_ caddy.Provisioner     = (*Redis)(nil)
	_ caddy.Validator       = (*Redis)(nil)
	_ caddyfile.Unmarshaler = (*Redis)(nil)
)
