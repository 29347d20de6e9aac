// Package otlp provides the log core caddy.logging.cores.otlp, which sends log lines to an OpenTelemetry collector.
package otlp

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/tollgate-gateway/tollgate/internal/otlp"
	"github.com/tollgate-gateway/tollgate/modules/directive"
	"github.com/tollgate-gateway/tollgate/modules/placeholder"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

func init() {
	caddy.RegisterModule(new(Core))
}

// Core sends the lines of a log to an OpenTelemetry collector, by OTLP over gRPC, in addition to the log's output. With
// `output discard`, lines go only to the collector. A line with a trace_id belongs to that trace. Lines that the
// collector does not accept in time are lost.
//
// In the Caddyfile, in the option log or the directive log:
//
//	core otlp <host:port> {
//		insecure
//		level   <level>
//		service <name>
//	}
type Core struct {
	// Endpoint is the address of the collector: a host with a port, or an http or https URL. Required.
	Endpoint string `json:"endpoint,omitempty"`

	// Insecure disables TLS. Default: false.
	Insecure bool `json:"insecure,omitempty"`

	// Level is the lowest level that is sent: DEBUG, INFO, WARN or ERROR. Default: INFO.
	Level string `json:"level,omitempty"`

	// Service is the attribute service.name of the lines. Default: tollgate.
	Service string `json:"service,omitempty"`

	zapcore.Core `json:"-"`

	key key
}

// key identifies a sender. Logs with equal keys share a sender, which therefore survives reloads.
type key struct {
	collector otlp.Collector
	service   string
	level     zapcore.Level
}

// senders keeps senders across reloads, by key.
var senders = caddy.NewUsagePool()

// LogUnsent makes the process log an error if data cannot be sent to a collector. Every module that sends such data
// calls it; only the first call has an effect.
var LogUnsent = sync.OnceFunc(func() {
	otlp.OnError(func(err error) {
		caddy.Log().Named("otlp").Warn("telemetry is not sent", zap.Error(err))
	})
})

// sender is the zapcore.Core that sends logs. The pool shares it between configurations.
type sender struct{ *otlp.Logs }

// Destruct implements caddy.Destructor.
func (s sender) Destruct() error { return s.Close() }

// CaddyModule returns the Caddy module information.
func (*Core) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "caddy.logging.cores.otlp",
		New: func() caddy.Module { return new(Core) },
	}
}

// Provision creates the sender. The sender does not connect before it has the first log line to send.
func (c *Core) Provision(caddy.Context) error {
	endpoint, err := placeholder.Resolve(c.Endpoint)
	if err != nil {
		return fmt.Errorf("endpoint: %w", err)
	}
	if endpoint == "" {
		return errors.New("endpoint is required")
	}
	k := key{otlp.Collector{Endpoint: endpoint, Insecure: c.Insecure}, c.Service, zapcore.InfoLevel}
	if k.service == "" {
		k.service = "tollgate"
	}
	if c.Level != "" {
		if k.level, err = zapcore.ParseLevel(strings.ToLower(c.Level)); err != nil {
			return fmt.Errorf("level: %q is not one of: DEBUG, INFO, WARN, ERROR", c.Level)
		}
	}
	LogUnsent()
	loaded, _, err := senders.LoadOrNew(k, func() (caddy.Destructor, error) {
		logs, err := otlp.NewLogs(k.collector, otlp.Service{Name: k.service, Version: tollgate.Version()}, k.level)
		return sender{logs}, err
	})
	if err != nil {
		return err
	}
	c.key, c.Core = k, loaded.(sender).Logs
	return nil
}

// Cleanup releases the sender. The last release sends the buffered lines.
func (c *Core) Cleanup() error {
	if c.Core == nil {
		return nil
	}
	_, err := senders.Delete(c.key)
	return err
}

// UnmarshalCaddyfile parses the core; see Core for the syntax.
func (c *Core) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // otlp
	if !d.AllArgs(&c.Endpoint) {
		return d.ArgErr()
	}
	return directive.Options(d, func(option string) error {
		switch option {
		case "insecure":
			return directive.Flag(d, &c.Insecure)
		case "level":
			return directive.Text(d, &c.Level)
		case "service":
			return directive.Text(d, &c.Service)
		}
		return directive.NoOption(d, "unknown option %q; there are: insecure, level, service", option)
	})
}

// Interface guards
var (
	_ caddy.Provisioner     = (*Core)(nil)
	_ caddy.CleanerUpper    = (*Core)(nil)
	_ caddyfile.Unmarshaler = (*Core)(nil)
	_ zapcore.Core          = (*Core)(nil)
)
