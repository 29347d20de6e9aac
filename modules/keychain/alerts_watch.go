package keychain

import (
	"cmp"
	"errors"
	"strconv"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/tollgate-gateway/tollgate/backends/gateway/alerts"
	"github.com/tollgate-gateway/tollgate/backends/gateway/timings"
)

// Watch sets the error rate and the latency at which alerts are sent. Both are measured for all requests together, and
// for the attempts at each model of a provider.
type Watch struct {
	// Errors is the percentage of failed requests at which an alert is sent. Only failures of the gateway or a provider
	// count. A negative number disables these alerts. Default: 20.
	Errors int `json:"errors,omitempty"`

	// Latency is the response time at which an alert is sent: the 95th percentile of the time until an answer is
	// complete. Default: no alerts.
	Latency caddy.Duration `json:"latency,omitempty"`

	// Window is the period that is evaluated, from a minute to a day. A rate or latency that has exceeded its threshold
	// counts as normal again after it has been below the threshold for the same period. Default: 10m.
	Window caddy.Duration `json:"window,omitempty"`

	// Requests is the minimum number of requests in the window for an alert. Default: 20.
	Requests int64 `json:"requests,omitempty"`
}

// Defaults of the options.
const (
	defaultErrors   = 20
	defaultWindow   = 10 * time.Minute
	defaultRequests = 20
)

// unmarshal parses an option of Watch. args are its arguments.
func (w *Watch) unmarshal(d *caddyfile.Dispenser, option string, args []string) error {
	if len(args) != 1 {
		return d.ArgErr()
	}
	var err error
	text := args[0]
	switch option {
	case "errors":
		if text == "off" {
			w.Errors = -1
		} else if w.Errors, err = strconv.Atoi(text); err != nil || w.Errors <= 0 {
			return d.Errf("errors: %q is neither off nor a percentage such as 20", text)
		}
	case "requests":
		if w.Requests, err = strconv.ParseInt(text, 10, 64); err != nil || w.Requests <= 0 {
			return d.Errf("requests: %q is not a number such as 20", text)
		}
	default: // latency and window
		field := &w.Latency
		if option == "window" {
			field = &w.Window
		}
		duration, err := caddy.ParseDuration(text)
		if err != nil || duration <= 0 {
			return d.Errf("%s: %q is not a duration such as 30s or 10m", option, text)
		}
		*field = caddy.Duration(duration)
	}
	return nil
}

// options checks the options, and converts them with their defaults to the type of the package alerts.
func (w *Watch) options() (alerts.Watch, error) {
	o := alerts.Watch{
		Errors: max(cmp.Or(w.Errors, defaultErrors), 0), Latency: time.Duration(w.Latency),
		Window: cmp.Or(time.Duration(w.Window), defaultWindow), MinRequests: cmp.Or(w.Requests, defaultRequests),
	}
	switch {
	case o.Errors > 100:
		return o, errors.New("errors: must be a percentage from 1 to 100, or off")
	case o.Latency < 0:
		return o, errors.New("latency: must be a duration such as 30s")
	case o.Window < time.Minute || o.Window > timings.MaxWindow:
		return o, errors.New("window: must be from 1m to 24h")
	case o.MinRequests < 1:
		return o, errors.New("requests: must be at least 1")
	}
	return o, nil
}
