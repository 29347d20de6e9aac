package management

import (
	"slices"
	"strings"
)

// TeamRule puts people into a team when they sign in, and takes them out of it again. It is for
// those whose token has Value in Claim, which may be a text or a list of texts, or whose
// confirmed mail address is of Domain.
type TeamRule struct {
	Claim, Value, Domain string
	// Team is the name of the team. With a Claim and no Value it is empty: the teams are those
	// that are called as the values of the claim.
	Team string
}

// TeamRules are all that are given. Every one that fits counts.
type TeamRules []TeamRule

// of returns the names of the teams that the rules put a caller into, and the names of groups
// that are teams where there are teams of these names. complete reports that the token has all
// that the rules look at.
func (rules TeamRules) of(c *Caller) (teams, groups []string, complete bool) {
	complete = true
	for _, r := range rules {
		claim, given := c.Claims[r.Claim]
		values := texts(claim)
		complete = complete && (given || r.Domain != "" && c.Email != "")
		switch {
		case r.Domain != "":
			if _, domain, _ := strings.Cut(c.Email, "@"); strings.EqualFold(domain, r.Domain) { // one with two signs is of no domain
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
