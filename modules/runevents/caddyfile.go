package runevents

import (
	"strconv"
	"strings"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/dustin/go-humanize"

	"github.com/tollgate-gateway/tollgate/modules/directive"
)

func init() {
	directive.Register[Handler]("run_events")
}

// optionNames are the options of the directive.
var optionNames = []string{
	"prefix", "alias", "read", "submit", "resource_events_ttl", "report_ttl", "node_ttl", "node_purge_ttl",
	"unreported_after", "max_body", "query_timeout", "query_max_time", "wide_queries", "corrective_change",
}

// UnmarshalCaddyfile sets up the handler; see Handler for the syntax. The lines read and submit may be repeated.
func (h *Handler) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // run_events
	if d.NextArg() {
		return d.ArgErr()
	}
	return directive.Options(d, func(option string) (err error) {
		switch option {
		case "prefix":
			err = directive.Text(d, &h.Prefix)
		case "alias":
			err = directive.Texts(d, &h.Aliases)
		case "read":
			h.Read, err = unmarshalAccess(d, h.Read)
		case "submit":
			h.Submit, err = unmarshalAccess(d, h.Submit)
		case "resource_events_ttl":
			err = directive.Duration(d, &h.ResourceEventsTTL, "14d")
		case "report_ttl":
			err = directive.Duration(d, &h.ReportTTL, "14d")
		case "node_ttl":
			err = directive.Duration(d, &h.NodeTTL, "14d")
		case "node_purge_ttl":
			err = directive.Duration(d, &h.NodePurgeTTL, "14d")
		case "unreported_after":
			err = directive.Duration(d, &h.UnreportedAfter, "14d")
		case "max_body":
			var size string
			if !d.AllArgs(&size) {
				return d.ArgErr()
			}
			n, err := humanize.ParseBytes(size)
			if err != nil || n == 0 || n > 256<<20 {
				return d.Errf("max_body: %q is not a size such as 32MB, at most 256MiB", size)
			}
			h.MaxBody = int64(n)
		case "query_timeout":
			err = directive.Duration(d, &h.QueryTimeout, "30s")
		case "query_max_time":
			err = directive.Duration(d, &h.QueryMaxTime, "30s")
		case "wide_queries":
			var number string
			if !d.AllArgs(&number) {
				return d.ArgErr()
			}
			if h.WideQueries, err = strconv.Atoi(number); err != nil || h.WideQueries < 1 || h.WideQueries > maxWideQueries {
				return d.Errf("wide_queries: %q is not a number from 1 to %d", number, maxWideQueries)
			}
		case "corrective_change":
			err = directive.Flag(d, &h.CorrectiveChange)
		default:
			return directive.NoOption(d, "run_events has no option %q; there are: %s", option, strings.Join(optionNames, ", "))
		}
		return err
	}, "read", "submit")
}

// unmarshalAccess reads the arguments of the option read or submit, which form one rule, and adds the rule to a. If a
// is nil, it creates an Access. It returns the Access.
func unmarshalAccess(d *caddyfile.Dispenser, a *Access) (*Access, error) {
	if a == nil {
		a = new(Access)
	}
	option := d.Val()
	words := d.RemainingArgs()
	if len(words) == 0 {
		return nil, d.ArgErr()
	}
	rule, names := words[0], words[1:]
	switch rule {
	case "loopback":
		a.Loopback = true
	case "any":
		a.Any = true
	case "certificate":
		a.Certificate = true
	case "user":
		a.AnyUser = a.AnyUser || len(names) == 0
		a.Users = append(a.Users, names...)
		return a, nil
	case "certname":
		if len(names) == 0 {
			return nil, d.Errf("%s certname: name the certificates", option)
		}
		a.Certnames = append(a.Certnames, names...)
		return a, nil
	default:
		return nil, d.Errf("%s: there is no rule %q; there are: loopback, any, user, certificate, certname", option, rule)
	}
	if len(names) > 0 { // loopback, any and certificate have no names
		return nil, d.ArgErr()
	}
	return a, nil
}

// Interface guard
var _ caddyfile.Unmarshaler = (*Handler)(nil)
