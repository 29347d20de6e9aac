package management

import (
	"slices"
	"strings"
)

// TeamRule puts people into a team when they sign in, and removes them from it again. It applies to those whose token
// has Value in Claim, which may be a string or a list of strings, or whose confirmed mail address has the domain
// Domain.
type TeamRule struct {
	Claim, Value, Domain string
	// Team is the name of the team. It is empty for a rule with a Claim and no Value: the teams are then those that
	// have the values of the claim as names.
	Team string
}

// TeamRules are all rules. Each of those that apply has effect.
type TeamRules []TeamRule

// of applies the rules to a caller. teams are the names of the teams that rules name. groups are the values of claims
// that are names of teams by a rule without one, and that count only if the team exists. complete reports whether the
// token has every claim, and the confirmed mail address, that the rules look at.
func (rules TeamRules) of(c *Caller) (teams, groups []string, complete bool) {
	complete = true
	for _, r := range rules {
		claim, given := c.Claims[r.Claim]
		values := texts(claim)
		complete = complete && (given || r.Domain != "" && c.Email != "")
		switch {
		case r.Domain != "":
			// An address with two @ signs matches no domain.
			if _, domain, _ := strings.Cut(c.Email, "@"); strings.EqualFold(domain, r.Domain) {
				teams = append(teams, r.Team)
			}
		case r.Value == "":
			groups = append(groups, values...)
		case slices.Contains(values, r.Value):
			teams = append(teams, r.Team)
		}
	}
	return teams, groups, complete
}
