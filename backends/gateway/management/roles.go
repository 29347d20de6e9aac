package management

import (
	"net/http"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// Role determines a user's rights over the users, teams and limits of others.
type Role string

// The roles. An administrator of a team has the role RoleMember, and rights in that team.
const (
	// RoleMember has no rights over others.
	RoleMember Role = "member"
	// RoleAuditor may see everything but change nothing.
	RoleAuditor Role = "auditor"
	// RoleOperator may do everything.
	RoleOperator Role = "operator"
)

// Who selects users: those with an id or a confirmed mail address in Users, and those whose token has one of the listed
// values for a claim of Claims. A claim in a token may be a string or a list of strings.
type Who struct {
	Users  []string
	Claims map[string][]string
}

// selects reports whether w selects the caller: by id, by confirmed mail address or by a claim.
func (w *Who) selects(c *Caller) bool {
	if slices.Contains(w.Users, c.ID) {
		return true
	}
	if c.Email != "" && slices.ContainsFunc(w.Users, func(name string) bool { return strings.EqualFold(name, c.Email) }) {
		return true
	}
	for name, values := range w.Claims {
		for _, value := range claimValues(c.Claims[name]) {
			if slices.Contains(values, value) {
				return true
			}
		}
	}
	return false
}

// claimValues returns the values of a claim that is a string or a list of strings, and nil for any other claim.
func claimValues(claim any) []string {
	switch claim := claim.(type) {
	case string:
		return []string{claim}
	case []string:
		return claim
	case []any:
		var list []string
		for _, value := range claim {
			if text, ok := value.(string); ok {
				list = append(list, text)
			}
		}
		return list
	}
	return nil
}

// Caller is the user who signed in, according to the token. It implements rest.Identity.
type Caller struct {
	ID     string
	Claims map[string]any
	// Email is the claim email if email_verified is true, and empty otherwise.
	Email string
	// Name is the claim name.
	Name string
}

// NewCaller returns the user with the given id, whose token has these claims.
func NewCaller(id string, claims map[string]any) *Caller {
	c := &Caller{ID: id, Claims: claims}
	c.Name, _ = claims["name"].(string)
	if verified, _ := claims["email_verified"].(bool); verified {
		c.Email, _ = claims["email"].(string)
	}
	return c
}

// UserID implements rest.Identity.
func (c *Caller) UserID() string { return c.ID }

// role returns the role of the caller. A caller without a token, such as in tests, is a member.
func (s *Service) role(c *rest.Call) Role {
	caller, ok := c.Who.(*Caller)
	switch {
	case !ok:
		return RoleMember
	case s.Operators.selects(caller):
		return RoleOperator
	case s.Auditors.selects(caller):
		return RoleAuditor
	}
	return RoleMember
}

// errForbidden returns the error of a request that needs more rights than the caller has.
func errForbidden() error {
	return apierror.New(http.StatusForbidden, "forbidden", "only the gateway's operators may do this: ask one of them")
}

// forOperator returns a handler that runs fn for operators and, if the request only reads, for auditors.
func (s *Service) forOperator(fn handler) handler {
	return func(c *rest.Call) (any, error) {
		role := s.role(c)
		if role != RoleOperator && (role != RoleAuditor || mayChange(c)) {
			return nil, errForbidden()
		}
		return s.asCaller(c, fn)
	}
}

// forTeamID returns a handler that runs fn for the team in the path. The caller must be an administrator of that team
// or an operator, or an auditor if the request only reads.
func (s *Service) forTeamID(fn idHandler) handler {
	return func(c *rest.Call) (any, error) {
		team := c.Path("team_id")
		run := func(c *rest.Call) (any, error) { return fn(c, team) }
		admin, err := s.Keychain.Administers(c.R.Context(), c.User(), team)
		if err != nil {
			return nil, unavailable(err)
		}
		if admin {
			return s.asCaller(c, run)
		}
		return s.forOperator(run)(c)
	}
}

// forTeam is like forTeamID, but fn gets the team from the path itself.
func (s *Service) forTeam(fn handler) handler {
	return s.forTeamID(func(c *rest.Call, _ string) (any, error) { return fn(c) })
}

// forOwner returns the guard of routes for provider keys and aliases of one kind of owner. The guard runs fn for the
// owner in the path, or for the organisation, if the caller may manage the owner's keys and aliases.
func (s *Service) forOwner(kind string) func(fn ownerHandler) handler {
	return func(fn ownerHandler) handler {
		withOwner := func(c *rest.Call, id string) (any, error) { return fn(c, keychain.Owner{Kind: kind, ID: id}) }
		switch kind {
		case keychain.OnUser:
			return s.forUser(withOwner)
		case keychain.OnTeam:
			return s.forTeamID(withOwner)
		}
		return s.forOperator(func(c *rest.Call) (any, error) { return fn(c, keychain.TheOrganisation) })
	}
}

// asCaller runs fn with a context that names the caller as the author of changes, for the audit log. It returns an
// error with status 403 if the caller is not active.
func (s *Service) asCaller(c *rest.Call, fn handler) (any, error) {
	if err := s.Keychain.Active(c.R.Context(), c.User()); err != nil {
		return nil, unavailable(err)
	}
	c.R = c.R.WithContext(keychain.ActedBy(c.R.Context(), c.User()))
	answer, err := fn(c)
	return answer, unavailable(err)
}

// mayChange reports whether the method of a request can change data.
func mayChange(c *rest.Call) bool {
	return c.R.Method != http.MethodGet && c.R.Method != http.MethodHead
}
