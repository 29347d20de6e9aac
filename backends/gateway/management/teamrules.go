package management

import (
	"slices"
	"strings"
)

// TeamRule adds people to a team when they sign in, and removes them again when the rule no longer applies. It applies
// to people with the value Value in the claim Claim of their token (a string or a list of strings), and to people with
// a confirmed mail address in the domain Domain.
type TeamRule struct {
	Claim, Value, Domain string
	// Team is the name of the team. It is empty for a rule with a Claim and no Value. Such a rule adds people to the
	// teams named by the claim's values.
	Team string
}

// TeamRules is a list of rules. All rules that apply to a person have effect.
type TeamRules []TeamRule

// apply returns the teams that the rules give to a caller. teams has the names in matching rules with a Team. groups
// has the values of the claims of rules without a Team; a value counts only if a team has that name. complete reports
// whether the token has every claim that the rules use, and a confirmed mail address if a rule has a Domain.
func (rules TeamRules) apply(c *Caller) (teams, groups []string, complete bool) {
	complete = true
	for _, r := range rules {
		if r.Domain != "" {
			complete = complete && c.Email != ""
			// An address with two @ signs matches no domain.
			if _, domain, _ := strings.Cut(c.Email, "@"); strings.EqualFold(domain, r.Domain) {
				teams = append(teams, r.Team)
			}
			continue
		}
		claim, present := c.Claims[r.Claim]
		complete = complete && present
		values := claimValues(claim)
		switch {
		case r.Value == "":
			groups = append(groups, values...)
		case slices.Contains(values, r.Value):
			teams = append(teams, r.Team)
		}
	}
	return teams, groups, complete
}
