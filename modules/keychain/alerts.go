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

// Alerts configures who is notified when a set percentage of an imposed budget has been spent, when a provider refuses
// one of the operator's keys, and when too many requests fail or answers take too long.
type Alerts struct {
	// Thresholds are the percentages of a budget at which an alert is sent. Default: 50, 80, 95, 100.
	Thresholds []int `json:"thresholds,omitempty"`

	// Mail has the addresses that get every alert. They need the option mail of the handler.
	Mail []string `json:"mail,omitempty"`

	// Webhooks get every alert, in the form that Standard Webhooks specifies.
	Webhooks []AlertWebhook `json:"webhooks,omitempty"`

	// MembersOff sends alerts to the operator only. Default: mails also go to the administrators of a team about its
	// budgets, and to users about their own budgets and those of their keys.
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
					return d.Errf("thresholds: %q is not a number of percent such as 80", text)
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

// options checks the option and converts it for the gateway.
func (a *Alerts) options() (*alerts.Options, error) {
	o := &alerts.Options{Thresholds: slices.Clone(a.Thresholds), Concerned: !a.MembersOff}
	if len(o.Thresholds) == 0 {
		o.Thresholds = alerts.DefaultThresholds
	}
	slices.Sort(o.Thresholds)
	if len(o.Thresholds) > maxThresholds || o.Thresholds[0] < 1 || o.Thresholds[len(o.Thresholds)-1] > 100 ||
		len(slices.Compact(slices.Clone(o.Thresholds))) < len(o.Thresholds) {
		return nil, fmt.Errorf("thresholds: up to %d different numbers of percent from 1 to 100, such as 50 80 95 100",
			maxThresholds)
	}
	var err error
	if o.Watch, err = a.Watch.options(); err != nil {
		return nil, err
	}
	if len(a.Mail) > maxAlertTargets || len(a.Webhooks) > maxAlertTargets {
		return nil, fmt.Errorf("at most %d addresses and %d webhooks can be told", maxAlertTargets, maxAlertTargets)
	}
	for _, text := range a.Mail {
		address, err := netmail.ParseAddress(text)
		if err != nil || address.Name != "" {
			return nil, fmt.Errorf("mail: %q is not an address such as ops@example.com", text)
		}
		o.Addresses = append(o.Addresses, address.Address)
	}
	for i := range a.Webhooks {
		w, err := a.Webhooks[i].resolve()
		if err != nil {
			return nil, fmt.Errorf("webhook: %w", err)
		}
		if slices.ContainsFunc(o.Webhooks, func(other alerts.Webhook) bool { return other.URL == w.URL }) {
			return nil, errors.New("webhook: an address is given twice")
		}
		o.Webhooks = append(o.Webhooks, w)
	}
	return o, nil
}

// resolve replaces the placeholders and checks the address and the secret.
func (w *AlertWebhook) resolve() (alerts.Webhook, error) {
	address, err := placeholder.Resolve(w.URL)
	if err != nil {
		return alerts.Webhook{}, fmt.Errorf("url: %w", err)
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
		return alerts.Webhook{}, errors.New(
			"the address must be a URL such as https://example.com/hook, without a user and a fragment")
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

// transport returns the transport that sends mails, or nil if no mail is sent.
func (h *Handler) transport(logger *zap.Logger) (mail.Transport, error) {
	if !h.Mail.Sends() {
		if h.Mail == nil {
			return nil, nil //nolint:nilnil // no mail is sent
		}
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
	switch a := h.Alerts; {
	case a == nil:
	case h.Mail == nil && len(a.Mail) > 0:
		return errors.New("alerts: mail needs a server that sends mails: give the option mail smtp://… beside alerts")
	case h.Mail == nil && len(a.Webhooks) == 0:
		return errors.New("alerts: nobody is told: give webhook <url> <secret>, or mail smtp://… beside alerts")
	}
	return h.Mail.Validate()
}
