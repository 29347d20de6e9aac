package keychain

import (
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/tollgate-gateway/tollgate/backends/gateway/management"
	"github.com/tollgate-gateway/tollgate/modules/directive"
	"github.com/tollgate-gateway/tollgate/modules/mailserver"
)

func init() {
	directive.Register[Handler]("keychain")
}

var optionNames = []string{"console", "new_users", "teams", "operators", "auditors", "mail", "alerts", "request_log"}

// UnmarshalCaddyfile sets up the handler from its Caddyfile form:
//
//	keychain [<matcher>] {
//		console off | {
//			oidc <issuer> <client_id>
//			scopes <scope>...        # default: openid profile email
//			resource <uri>
//			token access|id          # default: access
//			origins <origin>...
//		}
//		new_users refuse|approve|allow {  # default: allow, without limits
//			team              <name>
//			allow             <model>...
//			tools             <tool>...|none
//			rate_limit        <requests>  # a minute
//			tokens_per_minute <tokens>
//			parallel_requests <requests>
//			tokens_per_day    <tokens>    # also _per_week, _per_month, _total
//			usd_per_day       <amount>    # likewise
//		}
//		teams {                           # default: no rules
//			claim  <name> [<value> <team>]
//			domain <domain> <team>
//		}
//		operators {                      # default: nobody
//			user  <id or address>...
//			claim <name> <value>...
//		}
//		auditors { … }                   # as operators
//		mail log | smtp[s]://<host>[:<port>] { … }  # as that of board; default: nobody is mailed
//		alerts {                         # default: nobody is told
//			thresholds <percent>...  # default: 50 80 95 100
//			mail       <address>...
//			webhook    <url> <secret>
//			members    off
//			errors     <percent>|off # default: 20
//			latency    <duration>    # default: off
//			window     <duration>    # default: 10m
//			requests   <number>      # in the window; default: 20
//		}
//		request_log <duration>|forever   # default: 90d
//	}
func (h *Handler) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // keychain
	if d.NextArg() {
		return d.ArgErr()
	}
	for d.NextBlock(0) {
		switch d.Val() {
		case "console":
			if h.Console != nil {
				return d.Err("console is given twice")
			}
			h.Console = new(Console)
			if err := h.Console.unmarshal(d); err != nil {
				return err
			}
		case "new_users":
			if h.NewUsers != nil {
				return d.Err("new_users is given twice")
			}
			h.NewUsers = new(NewUsers)
			if err := h.NewUsers.unmarshal(d); err != nil {
				return err
			}
		case "teams":
			if h.Teams != nil {
				return d.Err("teams is given twice")
			}
			var err error
			if h.Teams, err = unmarshalTeams(d); err != nil {
				return err
			}
		case "operators", "auditors":
			into := &h.Operators
			if d.Val() == "auditors" {
				into = &h.Auditors
			}
			if *into != nil {
				return d.Errf("%s is given twice", d.Val())
			}
			*into = new(People)
			if err := (*into).unmarshal(d); err != nil {
				return err
			}
		case "mail":
			if h.Mail != nil {
				return d.Err("mail is given twice")
			}
			var err error
			if h.Mail, err = mailserver.Unmarshal(d); err != nil {
				return err
			}
		case "alerts":
			if h.Alerts != nil {
				return d.Err("alerts is given twice")
			}
			h.Alerts = new(Alerts)
			if err := h.Alerts.unmarshal(d); err != nil {
				return err
			}
		case "request_log":
			if h.RequestLog != 0 {
				return d.Err("request_log is given twice")
			}
			if err := h.unmarshalRequestLog(d); err != nil {
				return err
			}
		default:
			return directive.NoOption(d, "unknown option %q; there are: %s", d.Val(), strings.Join(optionNames, ", "))
		}
	}
	return nil
}

func (h *Handler) unmarshalRequestLog(d *caddyfile.Dispenser) error {
	var text string
	if !d.AllArgs(&text) {
		return d.ArgErr()
	}
	if text == "forever" {
		h.RequestLog = -1
		return nil
	}
	kept, err := caddy.ParseDuration(text)
	if err != nil || kept < time.Hour {
		return d.Errf("request_log: %q is neither a duration of at least 1h, such as 90d, nor forever", text)
	}
	h.RequestLog = caddy.Duration(kept)
	return nil
}

func (c *Console) unmarshal(d *caddyfile.Dispenser) error {
	if d.NextArg() {
		if d.Val() != "off" || d.NextArg() {
			return d.ArgErr()
		}
		c.Off = true
		if d.NextBlock(1) {
			return d.Err("a console that is off has no options")
		}
		return nil
	}
	provider := new(management.OIDC)
	seen := make(map[string]bool)
	for d.NextBlock(1) {
		option := d.Val()
		if seen[option] {
			return d.Errf("%s is given twice", option)
		}
		seen[option] = true
		switch option {
		case "oidc":
			if !d.AllArgs(&provider.Issuer, &provider.ClientID) {
				return d.ArgErr()
			}
			c.OIDC = provider
		case "scopes":
			if provider.Scopes = d.RemainingArgs(); len(provider.Scopes) == 0 {
				return d.ArgErr()
			}
		case "resource":
			if !d.AllArgs(&provider.Resource) || provider.Resource == "" {
				return d.ArgErr()
			}
		case "token":
			if !d.AllArgs(&provider.Token) {
				return d.ArgErr()
			}
		case "origins":
			if c.Origins = d.RemainingArgs(); len(c.Origins) == 0 {
				return d.ArgErr()
			}
		default:
			return directive.NoOption(d, "unknown option %q; there are: oidc, scopes, resource, token, origins", option)
		}
	}
	if c.OIDC == nil && (seen["scopes"] || seen["resource"] || seen["token"] || seen["origins"]) {
		return d.Err("scopes, resource, token and origins need a line oidc <issuer> <client_id>")
	}
	return nil
}

// Interface guards
var _ caddyfile.Unmarshaler = (*Handler)(nil)
