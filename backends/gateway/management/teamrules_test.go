package management

import (
	"slices"
	"testing"
)

// TestCompleteClaims checks that claims are complete only if the token has every claim that the rules read. Only then
// do they show that a user is not in a team.
func TestCompleteClaims(t *testing.T) {
	t.Parallel()
	rules := TeamRules{{Claim: "groups", Value: "ops", Team: "operations"}, {Domain: "example.com", Team: "company"}}
	for _, c := range []struct {
		claims   map[string]any
		complete bool
	}{
		{map[string]any{}, false},
		{map[string]any{"groups": []any{"ops"}}, false},
		{map[string]any{"email": "a@example.org", "email_verified": true}, false},
		{map[string]any{"groups": []any{}, "email": "a@example.org"}, false},
		{map[string]any{"groups": []any{}, "email": "a@example.org", "email_verified": true}, true},
	} {
		if _, _, complete := rules.apply(NewCaller("ada", c.claims)); complete != c.complete {
			t.Errorf("%v is complete: %t", c.claims, complete)
		}
	}
}

// TestTeamRules checks the teams and groups that rules derive from a token's claims.
func TestTeamRules(t *testing.T) {
	t.Parallel()
	rules := TeamRules{
		{Claim: "department", Value: "r&d", Team: "research"},
		{Claim: "groups", Value: "ops", Team: "operations"},
		{Domain: "example.com", Team: "company"},
		{Claim: "roles"},
	}
	for name, c := range map[string]struct {
		claims        map[string]any
		teams, groups []string
	}{
		"nothing":                {claims: map[string]any{}},
		"a text":                 {claims: map[string]any{"department": "r&d"}, teams: []string{"research"}},
		"a list":                 {claims: map[string]any{"groups": []any{"ops", 7, "dev"}}, teams: []string{"operations"}},
		"another value":          {claims: map[string]any{"department": "sales", "groups": []any{"opsx"}}},
		"a domain":               {claims: map[string]any{"email": "ada@EXAMPLE.com", "email_verified": true}, teams: []string{"company"}},
		"a domain not confirmed": {claims: map[string]any{"email": "ada@example.com"}},
		"a longer domain":        {claims: map[string]any{"email": "ada@example.com.evil.test", "email_verified": true}},
		"two signs":              {claims: map[string]any{"email": "ada@evil.test@example.com", "email_verified": true}},
		"all values":             {claims: map[string]any{"roles": []any{"a", "b"}}, groups: []string{"a", "b"}},
		"several": {
			claims: map[string]any{"department": "r&d", "groups": "ops", "email": "a@example.com", "email_verified": true},
			teams:  []string{"research", "operations", "company"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			teams, groups, _ := rules.apply(NewCaller("ada", c.claims))
			if !slices.Equal(teams, c.teams) || !slices.Equal(groups, c.groups) {
				t.Errorf("teams %v, groups %v", teams, groups)
			}
		})
	}
}
