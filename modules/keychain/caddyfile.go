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

// optionNames are the names of all options of the directive.
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
//		mail log | smtp[s]://<host>[:<port>] { … }  # as in board; default: no mails
//		alerts {                         # default: no alerts
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
	return directive.Options(d, func(option string) (err error) {
		switch option {
		case "console":
			h.Console = new(Console)
			err = h.Console.unmarshal(d)
		case "new_users":
			h.NewUsers = new(NewUsers)
			err = h.NewUsers.unmarshal(d)
		case "teams":
			h.Teams, err = unmarshalTeams(d)
		case "operators":
			h.Operators = new(People)
			err = h.Operators.unmarshal(d)
		case "auditors":
			h.Auditors = new(People)
			err = h.Auditors.unmarshal(d)
		case "mail":
			h.Mail, err = mailserver.Unmarshal(d)
		case "alerts":
			h.Alerts = new(Alerts)
			err = h.Alerts.unmarshal(d)
		case "request_log":
			err = h.unmarshalRequestLog(d)
		default:
			err = directive.NoOption(d, "unknown option %q; there are: %s", option, strings.Join(optionNames, ", "))
		}
		return err
	})
}

// unmarshalRequestLog parses the Caddyfile form of request_log.
func (h *Handler) unmarshalRequestLog(d *caddyfile.Dispenser) error {
	var text string
	if !d.AllArgs(&text) {
		return d.ArgErr()
	}
	if text == "forever" {
		h.RequestLog = -1
		return nil
	}
	retention, err := caddy.ParseDuration(text)
	if err != nil || retention < time.Hour {
		return d.Errf("request_log: %q is neither a duration of at least 1h, such as 90d, nor forever", text)
	}
	h.RequestLog = caddy.Duration(retention)
	return nil
}

// unmarshal parses the Caddyfile form of console.
func (c *Console) unmarshal(d *caddyfile.Dispenser) error {
	if d.NextArg() {
		if d.Val() != "off" || d.NextArg() {
			return d.ArgErr()
		}
		c.Off = true
		if d.NextBlock(1) {
			return d.Err("console off must not have a block of options")
		}
		return nil
	}
	provider := new(management.OIDC)
	needsOIDC := false // whether there is an option that needs oidc
	err := directive.Options(d, func(option string) error {
		needsOIDC = needsOIDC || option != "oidc"
		switch option {
		case "oidc":
			c.OIDC = provider
			if !d.AllArgs(&provider.Issuer, &provider.ClientID) {
				return d.ArgErr()
			}
		case "scopes":
			return directive.Texts(d, &provider.Scopes)
		case "resource":
			if !d.AllArgs(&provider.Resource) || provider.Resource == "" {
				return d.ArgErr()
			}
		case "token":
			return directive.Text(d, &provider.Token)
		case "origins":
			return directive.Texts(d, &c.Origins)
		default:
			return directive.NoOption(d, "unknown option %q; there are: oidc, scopes, resource, token, origins", option)
		}
		return nil
	})
	if err == nil && c.OIDC == nil && needsOIDC {
		err = d.Err("scopes, resource, token and origins also need oidc <issuer> <client_id>")
	}
	return err
}

// Interface guards
var _ caddyfile.Unmarshaler = (*Handler)(nil)
