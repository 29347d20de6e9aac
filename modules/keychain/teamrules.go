package keychain

import (
	"errors"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/management"
	"github.com/tollgate-gateway/tollgate/modules/directive"
)

// TeamRule adds users to a team when they sign in. It removes them again at a later sign-in at which the rule no longer
// matches. A rule has either a claim or a domain.
type TeamRule struct {
	// Claim is the name of a claim, whose value in the token must be a text or a list of texts.
	Claim string `json:"claim,omitempty"`

	// Value is the value that the claim must have or contain. Default: no value. The claim's values are then names of
	// teams, and users are added to those teams that exist.
	Value string `json:"value,omitempty"`

	// Domain is the domain of a mail address that the identity provider has confirmed.
	Domain string `json:"domain,omitempty"`

	// Team is the name of the team, which is created if it does not exist. A rule with a claim but no value has no
	// team.
	Team string `json:"team,omitempty"`
}

// rule checks the rule and converts it to the type of the management API.
func (r *TeamRule) rule() (management.TeamRule, error) {
	switch {
	case (r.Claim == "") == (r.Domain == ""):
		return management.TeamRule{}, errors.New("a rule must have either a claim or a domain")
	case r.Value != "" && r.Claim == "":
		return management.TeamRule{}, errors.New("a rule with a value must have a claim")
	case (r.Team == "") != (r.Claim != "" && r.Value == ""):
		return management.TeamRule{}, errors.New("a rule must have a team, except a claim without a value, which must have none")
	case r.Team == "":
		return management.TeamRule{Claim: r.Claim}, nil
	}
	return management.TeamRule{Claim: r.Claim, Value: r.Value, Domain: r.Domain, Team: r.Team},
		keychain.CheckTeamName(r.Team)
}

// unmarshalTeams parses the Caddyfile form of teams.
func unmarshalTeams(d *caddyfile.Dispenser) (rules []TeamRule, err error) {
	if d.NextArg() {
		return nil, d.ArgErr()
	}
	for d.NextBlock(1) {
		option, args := d.Val(), d.RemainingArgs()
		switch {
		case option == "claim" && len(args) == 1:
			rules = append(rules, TeamRule{Claim: args[0]})
		case option == "claim" && len(args) == 3:
			rules = append(rules, TeamRule{Claim: args[0], Value: args[1], Team: args[2]})
		case option == "domain" && len(args) == 2:
			rules = append(rules, TeamRule{Domain: args[0], Team: args[1]})
		case option == "claim":
			return nil, d.Err("claim must be: claim <name>, or claim <name> <value> <team>")
		case option == "domain":
			return nil, d.Err("domain must be: domain <domain> <team>")
		default:
			return nil, directive.NoOption(d, "unknown option %q; there are: claim, domain", option)
		}
	}
	if len(rules) == 0 {
		return nil, d.Err("at least one claim <name> [<value> <team>] or domain <domain> <team> is required")
	}
	return rules, nil
}
