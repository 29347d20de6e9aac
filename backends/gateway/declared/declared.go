// Package declared reads and writes the operator's settings of the model gateway as one file. The file holds the
// limits, provider keys and aliases of the organisation and of teams, the members of teams, the limits and suspensions
// of users, and prices. It contains no secrets: for a provider key it has a reference to the text.
//
// Settings that the file does not mention stay unchanged. See [Apply] for how a file is applied, and [Export] for how
// the current state is written as a file.
package declared

import (
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
)

// File is the content of a file.
type File struct {
	// Organisation are the limits of the organisation as a whole. Nil means that the file does not mention them.
	Organisation *Limits
	// ProviderKeys are the provider keys of the organisation. Nil means that the file does not mention them.
	ProviderKeys *ProviderKeys
	// Aliases are the aliases of the organisation. Nil means that the file does not mention them.
	Aliases *Aliases
	Teams   []Team
	Users   []User
	// Prices replace list prices. Nil means that the file does not mention them.
	Prices *Prices
}

// Limits are limits that the operator imposes on a holder. Line is the line of the file where they begin.
type Limits struct {
	keychain.Limits
	Line int
}

// Team is a team with its members.
type Team struct {
	Name         string
	Limits       *Limits       // nil if the file does not mention them
	ProviderKeys *ProviderKeys // nil if the file does not mention them
	Aliases      *Aliases      // nil if the file does not mention them
	Members      []Member
	Line         int
}

// Member is a user in a team.
type Member struct {
	// User is the id of a user, or a mail address that exactly one user has.
	User string
	// Role is keychain.RoleMember or keychain.RoleAdmin.
	Role string
	// Default makes this team the user's default team, for which the user's keys without a chosen team count.
	Default bool
	Line    int
}

// User holds the settings of one user in a file.
type User struct {
	ID        string // as in Member.User
	Suspended *bool  // nil if the file does not mention it
	Limits    *Limits
	Line      int
}

// limitField is one of the fields of keychain.Limits, named as in the operator's API.
type limitField struct {
	name   string
	budget bool // whether it is a field of Budgets
}

// limitFields are all limit fields, in the order in which they are written.
var limitFields = []limitField{
	{"usd_per_day", true},
	{"usd_per_week", true},
	{"usd_per_month", true},
	{"usd_total", true},
	{"tokens_per_day", true},
	{"tokens_per_week", true},
	{"tokens_per_month", true},
	{"tokens_total", true},
	{"rate_limit_per_minute", false},
	{"tokens_per_minute", false},
	{"parallel_requests", false},
	{"expires_at", false},
	{"allowed_models", false},
	{"allowed_tools", false},
}
