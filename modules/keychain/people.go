package keychain

import (
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/tollgate-gateway/tollgate/backends/gateway/management"
	"github.com/tollgate-gateway/tollgate/modules/directive"
)

// People selects the users who get certain permissions.
type People struct {
	// Users are user ids, or mail addresses that the identity provider has confirmed.
	Users []string `json:"users,omitempty"`

	// Claims maps names of claims to accepted values, such as groups to llm-admins. A user is selected if one of these
	// claims in the user's token is an accepted value, or a list that contains one.
	Claims map[string][]string `json:"claims,omitempty"`
}

// who converts the option for the management API. A nil receiver selects nobody.
func (p *People) who() management.Who {
	if p == nil {
		return management.Who{}
	}
	return management.Who{Users: p.Users, Claims: p.Claims}
}

// unmarshal parses the Caddyfile form of operators or auditors.
func (p *People) unmarshal(d *caddyfile.Dispenser) error {
	if d.NextArg() {
		return d.ArgErr()
	}
	for d.NextBlock(1) {
		switch option := d.Val(); option {
		case "user":
			users := d.RemainingArgs()
			if len(users) == 0 {
				return d.ArgErr()
			}
			p.Users = append(p.Users, users...)
		case "claim":
			args := d.RemainingArgs()
			if len(args) < 2 {
				return d.ArgErr()
			}
			name, values := args[0], args[1:]
			if p.Claims == nil {
				p.Claims = make(map[string][]string)
			}
			p.Claims[name] = append(p.Claims[name], values...)
		default:
			return directive.NoOption(d, "unknown option %q; there are: user, claim", option)
		}
	}
	if len(p.Users) == 0 && len(p.Claims) == 0 {
		return d.Err("at least one user <id> or claim <name> <value> is required")
	}
	return nil
}
