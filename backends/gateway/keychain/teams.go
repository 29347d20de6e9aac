package keychain

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Team is a group of users whose requests count together. A user can be in several teams. A key of the user counts for
// the team that was chosen when the key was created. If there is none, the key counts for the user's default team.
type Team struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"created_at"`
	Members   int64     `json:"members"` // the number of members
}

// Member is a user in a team.
type Member struct {
	UserID  string    `json:"user_id"`
	AddedAt time.Time `json:"added_at"`
	// Default reports that this is the user's default team, for which the user's keys without a chosen team count.
	Default bool `json:"default"`
	// Role is RoleMember or RoleAdmin.
	Role string `json:"role"`
	// Email and Name are as in User.
	Email string `json:"email,omitempty"`
	Name  string `json:"name,omitempty"`
}

// The roles of members.
const (
	RoleMember = "member"
	// RoleAdmin is the role of administrators, who add and remove members, set tighter limits for the team, manage its
	// keys and aliases, and see its spending.
	RoleAdmin = "admin"
)

// maxTeamName is the length limit of a team's name, in characters.
const maxTeamName = 100

// AddTeam creates a team. The error has status 400 if CheckTeamName refuses the name, and 409 if another team has it.
func (s *Service) AddTeam(ctx context.Context, name string) (Team, error) {
	if err := CheckTeamName(name); err != nil {
		return Team{}, err
	}
	t := Team{ID: "team_" + random(20), Name: name, CreatedAt: s.now().UTC().Truncate(time.Microsecond)}
	err := s.write(ctx, func(c store.Conn) error {
		created, err := s.insertTeam(c, &t)
		if err == nil && !created {
			err = errTeamExists(name)
		}
		if err != nil {
			return err
		}
		return s.audit(ctx, c, "team.created", t.ID, map[string]string{"name": name})
	})
	return t, err
}

// insertTeam stores a team unless another team has its name. created reports whether it stored the team.
func (s *Service) insertTeam(c store.Conn, t *Team) (created bool, err error) {
	n, err := c.Exec(`INSERT INTO gateway_teams (id, name, created_at) VALUES (?, ?, ?) ON CONFLICT (name) DO NOTHING`,
		t.ID, t.Name, schema.Micros(t.CreatedAt))
	return n == 1, err
}

// ensureTeam returns the id of the team with the given name, and creates the team if it does not exist.
func (s *Service) ensureTeam(c store.Conn, name string) (id string, err error) {
	t := Team{ID: "team_" + random(20), Name: name, CreatedAt: s.now()}
	if _, err := s.insertTeam(c, &t); err != nil {
		return "", err
	}
	err = c.Row(`SELECT id FROM gateway_teams WHERE name = ?`, name).Scan(&id)
	return id, err
}

// joinByName makes a user a member of the team with the given name, as their default team. The team is created if it
// does not exist.
func (s *Service) joinByName(c store.Conn, name, userID string) error {
	id, err := s.ensureTeam(c, name)
	if err != nil {
		return err
	}
	return s.insertMember(c, id, userID, true)
}

// RenameTeam gives a team another name. The error has status 404 if the team does not exist, and 409 if another team
// has the name.
func (s *Service) RenameTeam(ctx context.Context, id, name string) error {
	if err := CheckTeamName(name); err != nil {
		return err
	}
	return s.write(ctx, func(c store.Conn) error {
		team, err := s.teamByID(c, id)
		if err != nil || team.Name == name {
			return err
		}
		if err := change(c, errTeamExists(name),
			`UPDATE gateway_teams SET name = ? WHERE id = ? AND NOT EXISTS (SELECT 1 FROM gateway_teams WHERE name = ?)`,
			name, id, name); err != nil {
			return err
		}
		// The account that holds the team's own keys is named after the team.
		if _, err := c.Exec(`UPDATE gateway_users SET name = ? WHERE id = ? AND is_service = 1`, name, id); err != nil {
			return err
		}
		return s.audit(ctx, c, "team.renamed", id, map[string]string{"from": team.Name, "to": name})
	})
}

// CheckTeamName returns an error unless name has 1 to maxTeamName characters and does not begin or end with a blank.
// The name must not look like the id of a team either, since teams are addressed by id or name.
func CheckTeamName(name string) error {
	if strings.TrimSpace(name) != name || strings.HasPrefix(name, "team_") {
		return invalid("name", "the name of a team must not begin or end with a blank, nor begin with team_")
	}
	return checkText("name", name, 1, maxTeamName)
}

// errTeamExists returns the error for a name that another team has.
func errTeamExists(name string) error {
	return apierror.New(http.StatusConflict, "already_exists", "the team %q already exists", name)
}

// RemoveTeam removes a team with its limits, gateway keys, provider keys, aliases and open invitations. Its members
// stay as users, and their keys for the team then count for their default teams. The team's spending stays in the
// reports.
func (s *Service) RemoveTeam(ctx context.Context, id string) error {
	return s.changeLimits(ctx, func(c store.Conn) error {
		team, err := s.teamByID(c, id)
		if err != nil {
			return err
		}
		members, err := store.List(c, schema.Text, `SELECT user_id FROM gateway_team_members WHERE team_id = ?`, id)
		if err != nil {
			return err
		}
		for _, user := range members {
			if err := s.removeMember(c, id, user); err != nil {
				return err
			}
		}
		for _, kind := range [...]string{OnTeam, OnTeamOwn} {
			if err := s.impose(c, kind, id, new(Limits)); err != nil { // empty limits remove the row
				return err
			}
		}
		if err := s.deleteUser(c, id); err != nil { // the team's own gateway keys
			return err
		}
		if err := s.deleteKeysOf(c, Owner{OnTeam, id}); err != nil {
			return err
		}
		for _, query := range []string{
			`DELETE FROM gateway_invitations WHERE team_id = ? AND accepted_at IS NULL`,
			`DELETE FROM gateway_aliases WHERE owner_kind = 'team' AND owner = ?`,
			`DELETE FROM gateway_responses WHERE owner = 'team ' || ?`,
			`DELETE FROM gateway_conversations WHERE owner = 'team ' || ?`,
			`DELETE FROM gateway_teams WHERE id = ?`,
		} {
			if _, err = c.Exec(query, id); err != nil {
				return err
			}
		}
		return s.audit(ctx, c, "team.removed", id, map[string]string{"name": team.Name})
	})
}

// teamColumns are the columns of a team, and selectTeams is the beginning of a query for teams.
const (
	teamColumns = `t.id, t.name, t.created_at, (SELECT count(*) FROM gateway_team_members AS o WHERE o.team_id = t.id)`
	selectTeams = `SELECT ` + teamColumns + ` FROM gateway_teams AS t `
)

// scanTeam reads a team from a row of selectTeams.
func scanTeam(row store.Row) (t Team, err error) {
	var created int64
	err = row.Scan(&t.ID, &t.Name, &created, &t.Members)
	t.CreatedAt = schema.Moment(created)
	return t, err
}

// Teams returns at most limit teams, ordered by name, with names greater than afterName.
func (s *Service) Teams(ctx context.Context, afterName string, limit int) ([]Team, error) {
	if !schema.StorableID(afterName) {
		return nil, nil
	}
	return read(ctx, s, scanTeam, selectTeams+`WHERE t.name > ? ORDER BY t.name LIMIT ?`, afterName, limit)
}

// Team returns the team with the given id or name. The error has status 404 if the team does not exist.
func (s *Service) Team(ctx context.Context, idOrName string) (t Team, err error) {
	if !schema.StorableID(idOrName) {
		return t, notFound("team", idOrName)
	}
	found, err := read(ctx, s, scanTeam, selectTeams+`WHERE t.id = ? OR t.name = ?`, idOrName, idOrName)
	if err == nil && len(found) == 0 {
		err = notFound("team", idOrName)
	}
	if err != nil {
		return t, err
	}
	return found[0], nil
}

// teamByID returns the team with an id, in the transaction c. The error has status 404 if the team does not exist.
func (s *Service) teamByID(c store.Conn, id string) (Team, error) {
	if !schema.StorableID(id) {
		return Team{}, notFound("team", id)
	}
	t, err := scanTeam(c.Row(selectTeams+`WHERE t.id = ?`, id))
	if errors.Is(err, sql.ErrNoRows) {
		err = notFound("team", id)
	}
	return t, err
}

// Members returns at most limit members of a team, ordered by user id, with ids greater than afterID.
func (s *Service) Members(ctx context.Context, teamID, afterID string, limit int) ([]Member, error) {
	if !schema.StorableID(teamID) || !schema.StorableID(afterID) {
		return nil, nil
	}
	return read(ctx, s, func(row store.Row) (m Member, err error) {
		var added int64
		var email, name sql.NullString
		err = row.Scan(&m.UserID, &added, &m.Default, &m.Role, &email, &name)
		m.AddedAt, m.Email, m.Name = schema.Moment(added), email.String, name.String
		return m, err
	}, `SELECT m.user_id, m.added_at, CASE WHEN u.team_id = m.team_id THEN 1 ELSE 0 END, m.role, u.email, u.name
		FROM gateway_team_members AS m JOIN gateway_users AS u ON u.id = m.user_id
		WHERE m.team_id = ? AND m.user_id > ? ORDER BY m.user_id LIMIT ?`, teamID, afterID, limit)
}

// TeamRole is a team with a user's role in that team.
type TeamRole struct {
	Team
	Role string `json:"role"` // as in Member
}

// TeamsOf returns the teams of a user: first the default one, then the others by name.
func (s *Service) TeamsOf(ctx context.Context, userID string) ([]TeamRole, error) {
	if !schema.StorableID(userID) {
		return nil, nil
	}
	return read(ctx, s, func(row store.Row) (t TeamRole, err error) {
		var created int64
		err = row.Scan(&t.ID, &t.Name, &created, &t.Members, &t.Role)
		t.CreatedAt = schema.Moment(created)
		return t, err
	}, `SELECT `+teamColumns+`, m.role FROM gateway_teams AS t JOIN gateway_team_members AS m ON m.team_id = t.id
		JOIN gateway_users AS u ON u.id = m.user_id WHERE m.user_id = ?
		ORDER BY CASE WHEN u.team_id = t.id THEN 0 ELSE 1 END, t.name`, userID)
}

// Membership describes a user's membership in a team.
type Membership struct {
	// Default makes the team the user's default one. A user's first team becomes the default one in any case.
	Default bool
	// Role is RoleMember or RoleAdmin. If Role is empty, members keep their role and new members get RoleMember.
	Role string
}

// SetMember adds a user to a team, or changes the user's membership. The error has status 400 for an unknown role, and
// 404 if the user or team does not exist.
func (s *Service) SetMember(ctx context.Context, teamID, userID string, m Membership) error {
	if m.Role != "" && m.Role != RoleMember && m.Role != RoleAdmin {
		return invalid("role", "role must be %s or %s", RoleMember, RoleAdmin)
	}
	return s.changeLimits(ctx, func(c store.Conn) error {
		user, err := s.userByID(c, userID)
		if err == nil && user.Service {
			err = notFound("user", userID)
		}
		if err != nil {
			return err
		}
		if _, err := s.teamByID(c, teamID); err != nil {
			return err
		}
		if err := s.setMember(c, teamID, userID, m); err != nil {
			return err
		}
		return s.audit(ctx, c, "member.set", teamID, map[string]any{"user_id": userID, "default": m.Default, "role": m.Role})
	})
}

// setMember adds a user to a team, or changes the user's membership. From then on rules do not remove the user from the
// team.
func (s *Service) setMember(c store.Conn, teamID, userID string, m Membership) error {
	if err := s.insertMember(c, teamID, userID, m.Default); err != nil {
		return err
	}
	_, err := c.Exec(`UPDATE gateway_team_members SET role = coalesce(?, role), by_rule = 0 WHERE team_id = ? AND user_id = ?`,
		schema.Nullable(m.Role), teamID, userID)
	return err
}

// Administers reports whether a user has RoleAdmin in a team.
func (s *Service) Administers(ctx context.Context, userID, teamID string) (bool, error) {
	if !schema.StorableID(userID) || !schema.StorableID(teamID) {
		return false, nil
	}
	found, err := read(ctx, s, schema.Text,
		`SELECT m.role FROM gateway_team_members AS m WHERE m.team_id = ? AND m.user_id = ?`, teamID, userID)
	return len(found) == 1 && found[0] == RoleAdmin, err
}

// insertMember adds a user to a team unless the user is a member already. The team becomes the user's default team if
// makeDefault is set or the user has no default team.
func (s *Service) insertMember(c store.Conn, teamID, userID string, makeDefault bool) error {
	if _, err := c.Exec(`INSERT INTO gateway_team_members (team_id, user_id, added_at) VALUES (?, ?, ?)
		ON CONFLICT (team_id, user_id) DO NOTHING`, teamID, userID, schema.Micros(s.now())); err != nil {
		return err
	}
	setDefault := `UPDATE gateway_users SET team_id = ? WHERE id = ?`
	if !makeDefault {
		setDefault += ` AND team_id IS NULL`
	}
	_, err := c.Exec(setDefault, teamID, userID)
	return err
}

// RemoveMember removes a user from a team. The user's keys for that team then count for the default team. If the user
// leaves the default team, the team with the longest membership becomes the default one. The error has status 404 if
// the user is not in the team. It has status 403 if this is the user's only team and allowOnly is false, because limits
// of a team would no longer apply to the user.
func (s *Service) RemoveMember(ctx context.Context, teamID, userID string, allowOnly bool) error {
	return s.changeLimits(ctx, func(c store.Conn) error {
		if _, err := s.teamByID(c, teamID); err != nil {
			return err
		}
		if !allowOnly {
			var otherTeams int
			if err := c.Row(`SELECT count(*) FROM gateway_team_members WHERE user_id = ? AND team_id <> ?`, userID, teamID).
				Scan(&otherTeams); err != nil {
				return err
			}
			if otherTeams == 0 {
				return apierror.New(http.StatusForbidden, "only_team",
					"this is the only team of the user %.200q, and its limits must continue to apply to them: ask an operator", userID)
			}
		}
		if err := s.removeMember(c, teamID, userID); err != nil {
			return err
		}
		return s.audit(ctx, c, "member.removed", teamID, map[string]string{"user_id": userID})
	})
}

// removeMember removes a user from a team. If it was the user's default team, the team with the longest membership
// becomes the default one. The error has status 404 if the user is not in the team.
func (s *Service) removeMember(c store.Conn, teamID, userID string) error {
	if !schema.StorableID(userID) {
		return notFound("member", userID)
	}
	if err := change(c, notFound("member", userID),
		`DELETE FROM gateway_team_members WHERE team_id = ? AND user_id = ?`, teamID, userID); err != nil {
		return err
	}
	_, err := c.Exec(`UPDATE gateway_users SET team_id = (SELECT m.team_id FROM gateway_team_members AS m
		WHERE m.user_id = gateway_users.id ORDER BY m.added_at, m.team_id LIMIT 1) WHERE id = ? AND team_id = ?`,
		userID, teamID)
	return err
}

// requireMember returns an error with status 404 if a user is not in a team.
func (s *Service) requireMember(c store.Conn, teamID, userID string) error {
	if !schema.StorableID(teamID) {
		return notFound("team", teamID)
	}
	var found int
	err := c.Row(`SELECT 1 FROM gateway_team_members WHERE team_id = ? AND user_id = ?`, teamID, userID).Scan(&found)
	if errors.Is(err, sql.ErrNoRows) {
		return apierror.New(http.StatusNotFound, "not_found", "the user %.200q is not in the team %.200q", userID, teamID)
	}
	return err
}
