// Package runevents serves the run events of configuration agents, and has the
// commands that look after them.
package runevents

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/runevents"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

func init() {
	caddy.RegisterModule(new(Handler))
}

// Handler keeps the reports of agents' runs and answers queries about them. Its
// routes, behind the prefix:
//
//	POST     /cmd/v1                              store report, deactivate node
//	GET|POST /query/v4                            any entity, as JSON or PQL
//	GET|POST /query/v4/events                     and event-counts, aggregate-event-counts,
//	                                              reports, nodes, environments
//	GET|POST /query/v4/reports/{hash}/events      and metrics, logs
//	GET|POST /query/v4/environments/{name}/events and reports
//	GET      /meta/v1/version
//	GET      /status/v1/simple                    running, or 503 while the database is down
//	GET      /                                    a page for people
//
// A path outside of the prefix goes to the next handler. A command is answered when it is
// durable. Reports and events are deleted in the background when they are old.
//
// Who may read and who may submit is said apart. A client is let in by any of
// the rules of its right; without rules it must come from this machine.
//
// In the Caddyfile:
//
//	run_events {
//		prefix              /store
//		read                loopback | any | user [<id>...] | certname <name>...
//		submit              loopback | any | user [<id>...] | certname <name>...
//		resource_events_ttl 14d
//		report_ttl          14d
//		node_ttl            7d        # off
//		node_purge_ttl      14d
//		max_body            32MB
//		corrective_change             # off
//	}
//
// Errors: 403 for a client that no rule lets in; 413 above max_body; 503 with
// Retry-After while the database is down or too much is being written.
type Handler struct {
	// Prefix is the path before /query and /cmd. Default: "/store".
	Prefix string `json:"prefix,omitempty"`

	// Read says who may query. Default: this machine.
	Read *Access `json:"read,omitempty"`

	// Submit says who may send commands. Default: this machine.
	Submit *Access `json:"submit,omitempty"`

	// ResourceEventsTTL is the age at which events are deleted; older ones are
	// not taken from a report either. Default: 14d.
	ResourceEventsTTL caddy.Duration `json:"resource_events_ttl,omitempty"`

	// ReportTTL is the age at which reports are deleted. Default: 14d.
	ReportTTL caddy.Duration `json:"report_ttl,omitempty"`

	// NodeTTL is how long a node may be silent before it is inactive. Default:
	// for ever.
	NodeTTL caddy.Duration `json:"node_ttl,omitempty"`

	// NodePurgeTTL is how long an inactive node is kept. Default: 14d.
	NodePurgeTTL caddy.Duration `json:"node_purge_ttl,omitempty"`

	// MaxBody bounds a command, packed and unpacked, in bytes. Default: 32 MiB,
	// at most 256 MiB.
	MaxBody int64 `json:"max_body,omitempty"`

	// CorrectiveChange shows corrective_change as it was sent instead of null.
	CorrectiveChange bool `json:"corrective_change,omitempty"`

	app      *tollgate.App
	logger   *zap.Logger
	service  *runevents.Service
	key      serviceKey
	requests atomic.Int64
}

// services keep writing over reloads.
var services = caddy.NewUsagePool()

// serviceKey are the settings that matter to a service.
type serviceKey struct {
	db      *store.DB
	options string
}

// pooled is a service with what works for it in the background.
type pooled struct {
	service *runevents.Service
	cancel  context.CancelFunc
	ended   chan struct{}
}

// Destruct implements caddy.Destructor.
func (p *pooled) Destruct() error {
	p.cancel()
	<-p.ended
	p.service.Close()
	return nil
}

// CaddyModule returns the Caddy module information.
func (*Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.run_events",
		New: func() caddy.Module { return new(Handler) },
	}
}

// Provision gets the database of the service from the app. Nothing is opened.
func (h *Handler) Provision(ctx caddy.Context) error {
	if err := h.Validate(); err != nil {
		return err
	}
	app, err := tollgate.From(ctx)
	if err != nil {
		return fmt.Errorf("loading the app tollgate: %w", err)
	}
	h.app, h.logger = app, ctx.Logger()
	db, err := app.ServiceDatabase(runevents.SchemaName, runevents.Schema())
	if err != nil {
		return err
	}
	if h.Read == nil {
		h.Read = &Access{Loopback: true}
	}
	if h.Submit == nil {
		h.Submit = &Access{Loopback: true}
	}
	options := runevents.Options{
		Prefix: h.Prefix, EventTTL: time.Duration(h.ResourceEventsTTL), ReportTTL: time.Duration(h.ReportTTL), NodeTTL: time.Duration(h.NodeTTL),
		NodePurgeTTL: time.Duration(h.NodePurgeTTL), MaxBody: h.MaxBody, CorrectiveChange: h.CorrectiveChange,
	}
	key := serviceKey{db, fmt.Sprintf("%+v", options)}
	options.DB, options.Logger = db, h.logger
	loaded, _, err := services.LoadOrNew(key, func() (caddy.Destructor, error) {
		service, err := runevents.New(options)
		if err != nil {
			return nil, err
		}
		background, cancel := context.WithCancel(context.Background())
		p := &pooled{service, cancel, make(chan struct{})}
		go func() {
			defer close(p.ended)
			service.Run(background)
		}()
		return p, nil
	})
	if err != nil {
		return err
	}
	p, ok := loaded.(*pooled)
	if !ok {
		return errors.New("the pooled value has another type")
	}
	h.key, h.service = key, p.service
	return nil
}

// Validate checks the settings.
func (h *Handler) Validate() error {
	if h.Prefix != "" && (!strings.HasPrefix(h.Prefix, "/") || strings.HasSuffix(h.Prefix, "/") || strings.ContainsAny(h.Prefix, "{} ")) {
		return fmt.Errorf("prefix: %q is not a path such as /store", h.Prefix)
	}
	for _, ttl := range []struct {
		name  string
		value caddy.Duration
	}{
		{"resource_events_ttl", h.ResourceEventsTTL}, {"report_ttl", h.ReportTTL}, {"node_ttl", h.NodeTTL}, {"node_purge_ttl", h.NodePurgeTTL},
	} {
		if ttl.value < 0 || ttl.value > 0 && time.Duration(ttl.value) < time.Minute {
			return fmt.Errorf("%s: must be at least 1m", ttl.name)
		}
	}
	if h.MaxBody < 0 || h.MaxBody > 256<<20 {
		return errors.New("max_body: must be from 1 byte to 256 MiB")
	}
	return nil
}

// Cleanup gives the service back when no request uses it any more: at once when
// the process ends.
func (h *Handler) Cleanup() error {
	if h.service == nil {
		return nil
	}
	give := func() error {
		_, err := services.Delete(h.key)
		return err
	}
	if _, err := h.app.Gateway(); err != nil || caddy.Exiting() { // it never ran, or is over
		return give()
	}
	release := h.app.Acquire() // the database stays open
	go func() {
		defer release()
		for quiet := 0; quiet < 10 && !caddy.Exiting(); quiet++ {
			time.Sleep(100 * time.Millisecond)
			if h.requests.Load() > 0 {
				quiet = 0
			}
		}
		if err := give(); err != nil {
			h.logger.Error("closing the run events of the old configuration", zap.Error(err))
		}
	}()
	return nil
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	need, ok, ours := h.service.Find(r)
	switch {
	case !ok && ours:
		return caddyhttp.Error(http.StatusNotFound, apierror.New(http.StatusNotFound, "no_such_route", "there is nothing at this path"))
	case !ok:
		return next.ServeHTTP(w, r)
	}
	access, what := h.Read, "read run events"
	if need == runevents.Submit {
		access, what = h.Submit, "submit commands"
	}
	if !access.allows(r) {
		return caddyhttp.Error(http.StatusForbidden, apierror.New(http.StatusForbidden, "forbidden", "this client may not %s; see the option %s of run_events", what, word(need)))
	}
	h.requests.Add(1)
	defer h.requests.Add(-1)
	defer h.app.Acquire()()
	h.service.ServeHTTP(w, r)
	return nil
}

func word(need runevents.Right) string {
	if need == runevents.Submit {
		return "submit"
	}
	return "read"
}

// Interface guards
var (
	_ caddy.Provisioner           = (*Handler)(nil)
	_ caddy.Validator             = (*Handler)(nil)
	_ caddy.CleanerUpper          = (*Handler)(nil)
	_ caddyhttp.MiddlewareHandler = (*Handler)(nil)
)
