// Package declared reads and writes what operators set of the model gateway as one file:
// the limits of the organisation, teams with their members and limits, and users with their
// limits and whether they are suspended. It has no secret in it.
//
// What the file says shall be so; what it does not say stays. See [Apply] for how it is
// made so, and [Export] for the file of what there is.
package declared

import (
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
)

// File is what a file says.
type File struct {
	// Organisation are the limits of all together. Nil: it says nothing of them.
	Organisation *Limits
	Teams        []Team
	Users        []User
}

// Limits are those that the operator imposes on somebody, with the line where they stand.
type Limits struct {
	keychain.Limits
	Line int
}

// Team is one with its members.
type Team struct {
	Name    string
	Limits  *Limits // nil: it says nothing of them
	Members []Member
	Line    int
}

// Member is a user in a team.
type Member struct {
	// User is an id, or a mail address that one user has.
	User string
	// Role is keychain.RoleMember or keychain.RoleAdmin.
	Role string
	// Default makes the team the one that the user's keys count for.
	Default bool
	Line    int
}

// User is what a file says of one.
type User struct {
	ID        string // as Member.User
	Suspended *bool  // nil: it says nothing of that
	Limits    *Limits
	Line      int
}

// limitField is one of the fields of keychain.Limits, as the operator's API has it.
type limitField struct {
	name   string
	budget bool // it is one of the budgets
}

// limitFields are all of them, in the order in which they are written.
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
