package management

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/alerts"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// The statuses of a user.
const (
	statusActive    = "active"
	statusSuspended = "suspended"
	statusWaiting   = "waiting"
)

// userRecord is a user as operators see them.
type userRecord struct {
	ID          string     `json:"id"`
	Email       string     `json:"email"`
	Name        string     `json:"name"`
	Status      string     `json:"status"`
	TeamID      *string    `json:"team_id"`
	CreatedAt   time.Time  `json:"created_at"`
	SuspendedAt *time.Time `json:"suspended_at"`
	// WaitingSince is the time of the first sign-in of a user who waits for approval, and null for other users.
	WaitingSince *time.Time `json:"waiting_since"`
}

// userOf converts a user for the response.
func userOf(u *keychain.User) userRecord {
	r := userRecord{
		ID: u.ID, Email: u.Email, Name: u.Name, Status: statusActive, TeamID: text(u.TeamID),
		CreatedAt: u.CreatedAt, SuspendedAt: u.SuspendedAt, WaitingSince: u.WaitingSince,
	}
	switch {
	case u.SuspendedAt != nil:
		r.Status = statusSuspended
	case u.WaitingSince != nil:
		r.Status = statusWaiting
	}
	return r
}

// self returns the user who signed in, with their role.
func (s *Service) self(c *rest.Call) (any, error) {
	answer := struct {
		UserID string              `json:"user_id"`
		Role   Role                `json:"role"`
		Email  string              `json:"email"`
		Name   string              `json:"name"`
		Teams  []keychain.TeamRole `json:"teams"`
	}{UserID: c.User(), Role: s.role(c)}
	if caller, ok := c.Who.(*Caller); ok {
		answer.Email, answer.Name = caller.Email, caller.Name
	}
	teams, err := s.Keychain.TeamsOf(c.R.Context(), c.User())
	answer.Teams = orEmpty(teams)
	return answer, unavailable(err)
}

// budgets returns the budgets that apply to the user who signed in, with the amounts left.
func (s *Service) budgets(c *rest.Call) (any, error) {
	left, err := s.Keychain.BudgetsLeft(c.R.Context(), c.User())
	return listInData(left, err)
}

func (s *Service) users(c *rest.Call) (any, error) {
	return listAfter(c, func(afterID string, limit int) ([]keychain.User, error) {
		return s.Keychain.Users(c.R.Context(), strings.TrimSpace(c.R.URL.Query().Get("q")), afterID, limit)
	}, func(u *keychain.User) string { return u.ID }, userOf)
}

func (s *Service) user(c *rest.Call) (any, error) {
	user, err := s.Keychain.UserBy(c.R.Context(), c.Path("user_id"))
	if err != nil {
		return nil, err
	}
	teams, err := s.Keychain.TeamsOf(c.R.Context(), user.ID)
	if err != nil {
		return nil, err
	}
	limits, err := s.Keychain.ImposedLimits(c.R.Context(), keychain.OnUser, user.ID)
	return struct {
		userRecord
		Teams  []keychain.TeamRole `json:"teams"`
		Limits keychain.Limits     `json:"limits"`
	}{userOf(&user), orEmpty(teams), limits}, err
}

// makeUser creates a user with a first key, before the user signs in.
func (s *Service) makeUser(c *rest.Call) (any, error) {
	var in struct {
		ID string `json:"id"`
	}
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	user, key, created, err := s.Keychain.InitUser(c.R.Context(), in.ID)
	if err != nil {
		return nil, err
	}
	if !created {
		return nil, apierror.New(http.StatusConflict, "already_exists", "the user %.200q already exists", in.ID).With("id")
	}
	return userAnswer{UserID: user.ID, CreatedAt: user.CreatedAt.UTC(), Created: true, Key: key}, nil
}

func (s *Service) suspend(c *rest.Call) (any, error) {
	return nil, s.Keychain.SuspendUser(c.R.Context(), c.Path("user_id"))
}

func (s *Service) resume(c *rest.Call) (any, error) {
	return nil, s.Keychain.ResumeUser(c.R.Context(), c.Path("user_id"))
}

func (s *Service) removeUser(c *rest.Call) (any, error) {
	return nil, s.Keychain.RemoveUser(c.R.Context(), c.Path("user_id"))
}

// limits returns a handler that serves the limits of a holder. kind is the kind of the holder, and holder returns the
// holder's id, for example from the path.
func (s *Service) limits(kind string, holder func(c *rest.Call) string) handler {
	return func(c *rest.Call) (any, error) {
		return s.Keychain.ImposedLimits(c.R.Context(), kind, holder(c))
	}
}

// setLimits returns a handler that replaces the limits of a holder. kind is the kind of the holder, and holder returns
// the holder's id. A limit that is absent from the body or null is removed.
func (s *Service) setLimits(kind string, holder func(c *rest.Call) string) handler {
	return func(c *rest.Call) (any, error) {
		var in keychain.Limits
		if err := c.Decode(&in); err != nil {
			return nil, err
		}
		return s.Keychain.SetLimits(c.R.Context(), kind, holder(c), in, s.Catalog())
	}
}

func (s *Service) teams(c *rest.Call) (any, error) {
	return listAfter(c, func(afterName string, limit int) ([]keychain.Team, error) {
		return s.Keychain.Teams(c.R.Context(), afterName, limit)
	}, func(t *keychain.Team) string { return t.Name }, unchanged)
}

// teamName is the body for a new team and for a change of a team.
type teamName struct {
	Name string `json:"name"`
}

func (s *Service) makeTeam(c *rest.Call) (any, error) {
	var in teamName
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	return s.Keychain.AddTeam(c.R.Context(), in.Name)
}

func (s *Service) team(c *rest.Call, id string) (any, error) {
	team, err := s.Keychain.Team(c.R.Context(), id)
	if err != nil {
		return nil, err
	}
	limits, err := s.Keychain.ImposedLimits(c.R.Context(), keychain.OnTeam, team.ID)
	return struct {
		keychain.Team
		Limits keychain.Limits `json:"limits"`
	}{team, limits}, err
}

func (s *Service) renameTeam(c *rest.Call) (any, error) {
	var in teamName
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	if err := s.Keychain.RenameTeam(c.R.Context(), c.Path("team_id"), in.Name); err != nil {
		return nil, err
	}
	return s.team(c, c.Path("team_id"))
}

func (s *Service) removeTeam(c *rest.Call) (any, error) {
	return nil, s.Keychain.RemoveTeam(c.R.Context(), c.Path("team_id"))
}

func (s *Service) members(c *rest.Call, team string) (any, error) {
	return listAfter(c, func(afterID string, limit int) ([]keychain.Member, error) {
		if _, err := s.Keychain.Team(c.R.Context(), team); err != nil {
			return nil, err
		}
		return s.Keychain.Members(c.R.Context(), team, afterID, limit)
	}, func(m *keychain.Member) string { return m.UserID }, unchanged)
}

// setMember adds a user to a team or changes the user's membership. Only operators may change default teams.
func (s *Service) setMember(c *rest.Call, team string) (any, error) {
	var in struct {
		Role    string `json:"role"`
		Default bool   `json:"default"`
	}
	if err := c.DecodeIfAny(&in); err != nil {
		return nil, err
	}
	if in.Default && s.role(c) != RoleOperator {
		return nil, errForbidden()
	}
	user, err := s.Keychain.UserBy(c.R.Context(), c.Path("user_id"))
	if err != nil {
		return nil, err
	}
	return nil, s.Keychain.SetMember(c.R.Context(), team, user.ID,
		keychain.Membership{Default: in.Default, Role: in.Role})
}

// removeMember removes a user from a team. Only operators may remove someone from their only team.
func (s *Service) removeMember(c *rest.Call, team string) (any, error) {
	return nil, s.Keychain.RemoveMember(c.R.Context(), team, c.Path("user_id"), s.role(c) == RoleOperator)
}

func (s *Service) spending(c *rest.Call) (any, error) { return s.spendingOf(c, "") }

// spendingOf returns the sums spent by a team, or by all users if team is empty.
func (s *Service) spendingOf(c *rest.Call, team string) (any, error) {
	start, end, format, err := period(c)
	if err != nil {
		return nil, err
	}
	compare, err := c.Choice("compare", "false", "true")
	if err != nil {
		return nil, err
	}
	limit, err := c.Int("limit", spending.MaxLines, 1, spending.MaxLines)
	if err != nil {
		return nil, err
	}
	lines, err := s.Spending.Spending(c.R.Context(), spending.Query{
		From: start, To: end, By: c.List("by"), TeamID: team, Compare: compare == "true", Limit: limit,
	})
	if err != nil {
		return nil, err
	}
	if format == "csv" {
		return csvFile(spendingRows(lines), "spending.csv")
	}
	return listPage[spending.Line]{Rows: orEmpty(lines)}, nil
}

// spendingRows returns lines as the rows of a CSV file. The first row has the names of the columns.
func spendingRows(lines []spending.Line) [][]string {
	rows := append(make([][]string, 0, 1+len(lines)), []string{
		"day", "team_id", "team", "provider", "model", "requests", "succeeded", "failed", "cancelled",
		"input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens", "total_tokens", "cost_usd", "unpriced_requests",
		"hour", "user_id", "user", "key_id", "key", "tag", "end_user", "written_tokens", "usd_per_million",
		"requests_before", "total_tokens_before", "cost_usd_before",
	})
	for i := range lines {
		l := &lines[i]
		hour, perMillion, previous := "", "", []string{"", "", ""}
		if l.Hour != nil {
			hour = l.Hour.Format(time.RFC3339)
		}
		if l.USDPerMillion != nil {
			perMillion = money(int64(*l.USDPerMillion))
		}
		if b := l.Before; b != nil {
			previous = []string{number(b.Requests), number(b.TotalTokens), money(int64(b.CostUSD))}
		}
		rows = append(rows, append([]string{
			l.Day, deref(l.TeamID), deref(l.Team), deref(l.Provider), deref(l.Model),
			number(l.Requests), number(l.Succeeded), number(l.Failed), number(l.Cancelled),
			number(l.InputTokens), number(l.CachedTokens), number(l.OutputTokens), number(l.ReasoningTokens),
			number(l.TotalTokens), money(int64(l.CostUSD)), number(l.UnpricedRequests),
			hour, deref(l.UserID), deref(l.User), deref(l.KeyID), deref(l.Key), deref(l.Tag), deref(l.EndUser),
			number(l.WrittenTokens), perMillion,
		}, previous...))
	}
	return rows
}

// listAlerts serves the alerts that were sent.
func (s *Service) listAlerts(c *rest.Call) (any, error) {
	return listNewest(c, func(cursor int64, limit int) ([]alerts.Sent, error) {
		return s.Alerts.List(c.R.Context(), cursor, limit)
	}, (*alerts.Sent).Place)
}

// testAlerts sends a test alert to all recipients.
func (s *Service) testAlerts(c *rest.Call) (any, error) {
	err := s.Alerts.Test(c.R.Context())
	if errors.Is(err, alerts.ErrOff) {
		err = apierror.New(http.StatusConflict, "alerts_off", "%s", err.Error())
	}
	return nil, err
}

func (s *Service) audit(c *rest.Call) (any, error) {
	return listNewest(c, func(beforeID int64, limit int) ([]keychain.AuditEntry, error) {
		return s.Keychain.Audit(c.R.Context(), beforeID, limit)
	}, auditPosition)
}

// auditPosition returns the position of an entry for listNewest.
func auditPosition(e *keychain.AuditEntry) int64 { return e.ID }
