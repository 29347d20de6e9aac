package keychain

import (
	"errors"
	"fmt"
	netmail "net/mail"
	"net/url"
	"slices"
	"strconv"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/alerts"
	"github.com/tollgate-gateway/tollgate/internal/mail"
	"github.com/tollgate-gateway/tollgate/internal/webhook"
	"github.com/tollgate-gateway/tollgate/modules/directive"
	"github.com/tollgate-gateway/tollgate/modules/placeholder"
)

// Alerts configures the recipients and conditions of alerts. An alert is sent when a set percentage of an imposed
// budget has been spent, when a provider refuses one of the operator's keys, and when too many requests fail or answers
// take too long.
type Alerts struct {
	// Thresholds are the percentages of a budget at which an alert is sent. Default: 50, 80, 95, 100.
	Thresholds []int `json:"thresholds,omitempty"`

	// Mail are the addresses that get every alert. They require the handler's option mail.
	Mail []string `json:"mail,omitempty"`

	// Webhooks are addresses to which every alert is posted, as Standard Webhooks specifies.
	Webhooks []AlertWebhook `json:"webhooks,omitempty"`

	// MembersOff sends alerts to the operator only. Default: a team's administrators also get mails about the team's
	// budgets, and users about their budgets and their keys' budgets.
	MembersOff bool `json:"members_off,omitempty"`

	Watch
}

// AlertWebhook is an address to which alerts are posted.
type AlertWebhook struct {
	// URL is a public address, or one in allow_networks. It may contain the placeholders {env.*} and {file.*}.
	URL string `json:"url"`

	// Secret is "whsec_" followed by 24 to 64 bytes in base64. It may contain the placeholders {env.*} and {file.*}.
	Secret string `json:"secret"`
}

// Bounds of the options.
const (
	maxAlertTargets = 20 // of each kind
	maxThresholds   = 10
)

// unmarshal parses the Caddyfile form of alerts.
func (a *Alerts) unmarshal(d *caddyfile.Dispenser) error {
	if d.NextArg() {
		return d.ArgErr()
	}
	return directive.Options(d, func(option string) error {
		args := d.RemainingArgs()
		switch option {
		case "thresholds":
			for _, text := range args {
				percent, err := strconv.Atoi(text)
				if err != nil {
					return d.Errf("thresholds: %q is not a percentage such as 80", text)
				}
				a.Thresholds = append(a.Thresholds, percent)
			}
			if len(args) == 0 {
				return d.ArgErr()
			}
		case "mail":
			if len(args) == 0 {
				return d.ArgErr()
			}
			a.Mail = append(a.Mail, args...)
		case "webhook":
			if len(args) != 2 {
				return d.ArgErr()
			}
			a.Webhooks = append(a.Webhooks, AlertWebhook{URL: args[0], Secret: args[1]})
		case "members":
			if len(args) != 1 || args[0] != "off" {
				return d.ArgErr()
			}
			a.MembersOff = true
		case "errors", "latency", "window", "requests":
			return a.Watch.unmarshal(d, option, args)
		default:
			return directive.NoOption(d, "unknown option %q; there are: thresholds, mail, webhook, members, errors, latency, window, requests", option)
		}
		return nil
	}, "mail", "webhook")
}

// options checks the options and converts them to the type of the package alerts. It does not set Mail and Failing.
func (a *Alerts) options() (*alerts.Options, error) {
	o := &alerts.Options{Thresholds: slices.Clone(a.Thresholds), Concerned: !a.MembersOff}
	if len(o.Thresholds) == 0 {
		o.Thresholds = alerts.DefaultThresholds
	}
	slices.Sort(o.Thresholds)
	hasDuplicates := len(slices.Compact(slices.Clone(o.Thresholds))) < len(o.Thresholds)
	if hasDuplicates || len(o.Thresholds) > maxThresholds || o.Thresholds[0] < 1 ||
		o.Thresholds[len(o.Thresholds)-1] > 100 {
		return nil, fmt.Errorf("thresholds: must be at most %d different percentages from 1 to 100, such as 50 80 95 100",
			maxThresholds)
	}
	var err error
	if o.Watch, err = a.Watch.options(); err != nil {
		return nil, err
	}
	if len(a.Mail) > maxAlertTargets || len(a.Webhooks) > maxAlertTargets {
		return nil, fmt.Errorf("there can be at most %d addresses and %d webhooks", maxAlertTargets, maxAlertTargets)
	}
	for _, text := range a.Mail {
		address, err := netmail.ParseAddress(text)
		if err != nil || address.Name != "" {
			return nil, fmt.Errorf("mail: %q is not a mail address such as ops@example.com", text)
		}
		o.Addresses = append(o.Addresses, address.Address)
	}
	for i := range a.Webhooks {
		w, err := a.Webhooks[i].resolve()
		if err != nil {
			return nil, fmt.Errorf("webhook: %w", err)
		}
		if slices.ContainsFunc(o.Webhooks, func(other alerts.Webhook) bool { return other.URL == w.URL }) {
			return nil, errors.New("webhook: a URL is given twice")
		}
		o.Webhooks = append(o.Webhooks, w)
	}
	return o, nil
}

// resolve replaces the placeholders and checks the URL and the secret.
func (w *AlertWebhook) resolve() (alerts.Webhook, error) {
	address, err := placeholder.Resolve(w.URL)
	if err != nil {
		return alerts.Webhook{}, fmt.Errorf("url: %w", err)
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
		return alerts.Webhook{}, errors.New(
			"the URL must be an http or https URL such as https://example.com/hook, without user and fragment")
	}
	text, err := placeholder.Resolve(w.Secret)
	if err != nil {
		return alerts.Webhook{}, fmt.Errorf("secret: %w", err)
	}
	secret, err := webhook.ParseStandardSecret(text)
	if err != nil {
		return alerts.Webhook{}, fmt.Errorf("secret: %w; make one with: echo whsec_$(openssl rand -base64 32)", err)
	}
	return alerts.Webhook{URL: address, Secret: secret}, nil
}

// provisionAlerts passes the alert options to the app.
func (h *Handler) provisionAlerts(logger *zap.Logger) error {
	if h.Alerts == nil {
		return nil
	}
	o, err := h.Alerts.options()
	if err != nil {
		return fmt.Errorf("alerts: %w", err)
	}
	if o.Mail, err = h.transport(logger); err != nil {
		return err
	}
	if err := h.app.SetAlerts(o); err != nil {
		return fmt.Errorf("alerts: %w", err)
	}
	return nil
}

// transport returns the transport for mails, or nil if the option mail is not set. With `mail log` it logs the mails
// instead of sending them.
func (h *Handler) transport(logger *zap.Logger) (mail.Transport, error) {
	switch {
	case h.Mail == nil:
		return nil, nil // a nil transport sends no mail
	case !h.Mail.Sends():
		return mail.Log{Logger: logger}, nil
	}
	smtp, err := h.Mail.SMTP("Model gateway")
	if err != nil {
		return nil, err
	}
	sender, err := mail.NewSMTP(smtp)
	if err != nil {
		return nil, fmt.Errorf("mail: %w", err)
	}
	return sender, nil
}

// Validate checks options that depend on each other.
func (h *Handler) Validate() error {
	if a := h.Alerts; a != nil && h.Mail == nil {
		switch {
		case len(a.Mail) > 0:
			return errors.New("alerts: mails need a mail server: set the handler's option mail smtp://…, outside of alerts")
		case len(a.Webhooks) == 0:
			return errors.New("alerts: there are no recipients: set webhook <url> <secret>, or the handler's option mail smtp://…")
		}
	}
	return h.Mail.Validate()
}
