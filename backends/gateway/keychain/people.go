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

// User is a person or team account that has keys. The operator or the identity provider chooses the id.
type User struct {
	ID        string    `json:"id"`
	CreatedAt time.Time `json:"created_at"`
	// Email is a confirmed mail address in lower case. Name is the display name. Both come from the identity provider's
	// last sign-in that stated them, and may be empty.
	Email string `json:"email,omitempty"`
	Name  string `json:"name,omitempty"`
	// TeamID is the user's default team.
	TeamID string `json:"team_id,omitempty"`
	// SuspendedAt is when the user was suspended. It is nil for an active user.
	SuspendedAt *time.Time `json:"suspended_at,omitempty"`
	// WaitingSince is set for a user who still needs an operator's approval. It is the time of the user's first sign-in.
	// For other users it is nil.
	WaitingSince *time.Time `json:"waiting_since,omitempty"`
	// Service reports that this is the account of a team, not a person. The account has the same id as the team.
	Service bool `json:"service,omitempty"`
}

// Profile is the data about a user that an identity provider states.
type Profile struct{ Email, Name string }

// maxProfileText is the length limit of a profile's texts, in bytes.
const maxProfileText = 320

// selectUsers is the beginning of a query for users, with the columns of scanUser.
const selectUsers = `SELECT id, created_at, email, name, team_id, suspended_at, waiting_since, is_service FROM gateway_users `

// scanUser reads a user from a row of selectUsers.
func scanUser(row store.Row) (u User, err error) {
	var created int64
	var email, name, team sql.NullString
	var suspended, waiting sql.NullInt64
	err = row.Scan(&u.ID, &created, &email, &name, &team, &suspended, &waiting, &u.Service)
	u.CreatedAt, u.SuspendedAt, u.WaitingSince = schema.Moment(created), schema.Optional(suspended),
		schema.Optional(waiting)
	u.Email, u.Name, u.TeamID = email.String, name.String, team.String
	return u, err
}

// User returns the user with the given id. The error has status 404 if the user does not exist.
func (s *Service) User(ctx context.Context, id string) (User, error) {
	if !schema.StorableID(id) {
		return User{}, notFound("user", id)
	}
	users, err := read(ctx, s, scanUser, selectUsers+`WHERE id = ?`, id)
	if err == nil && len(users) == 0 {
		err = notFound("user", id)
	}
	if err != nil {
		return User{}, err
	}
	return users[0], nil
}

// userByID is like User, in the transaction c.
func (s *Service) userByID(c store.Conn, id string) (User, error) {
	if !schema.StorableID(id) {
		return User{}, notFound("user", id)
	}
	u, err := scanUser(c.Row(selectUsers+`WHERE id = ?`, id))
	if errors.Is(err, sql.ErrNoRows) {
		err = notFound("user", id)
	}
	return u, err
}

// UserBy returns the user with the given id or mail address. The error has status 404 if the user does not exist, and
// 409 if several users have the address.
func (s *Service) UserBy(ctx context.Context, idOrAddress string) (User, error) {
	user, err := s.User(ctx, idOrAddress)
	if !isNotFound(err) || !strings.Contains(idOrAddress, "@") || !schema.StorableID(idOrAddress) {
		return user, err
	}
	users, err := read(ctx, s, scanUser, selectUsers+`WHERE email = ? ORDER BY id LIMIT 2`, strings.ToLower(idOrAddress))
	switch {
	case err != nil:
		return User{}, err
	case len(users) == 0:
		return User{}, notFound("user", idOrAddress)
	case len(users) > 1:
		return User{}, apierror.New(http.StatusConflict, "ambiguous", "several users have the address %.200q: give the id of one",
			idOrAddress)
	}
	return users[0], nil
}

// Users returns at most limit people, ordered by id, with ids greater than afterID. If search is not empty, only people
// are returned whose id, address or name contains it.
func (s *Service) Users(ctx context.Context, search, afterID string, limit int) ([]User, error) {
	if !schema.StorableID(afterID) || !schema.StorableID(search) {
		return nil, nil
	}
	pattern := likeAnywhere(search)
	return read(ctx, s, scanUser,
		selectUsers+`WHERE id > ? AND is_service = 0 AND (? = '' OR lower(id) LIKE ? ESCAPE '\' OR email LIKE ? ESCAPE '\'
		OR lower(name) LIKE ? ESCAPE '\') ORDER BY id LIMIT ?`, afterID, search, pattern, pattern, pattern, limit)
}

// updateProfile stores the data that an identity provider states about a user. Fields that are empty in p stay
// unchanged.
func (s *Service) updateProfile(c store.Conn, user *User, p Profile) error {
	p.Email, p.Name = strings.ToLower(schema.Storable(p.Email)), schema.Storable(p.Name)
	if len(p.Email) > maxProfileText || !strings.Contains(p.Email, "@") {
		p.Email = ""
	}
	if len(p.Name) > maxProfileText {
		p.Name = ""
	}
	if (p.Email == "" || p.Email == user.Email) && (p.Name == "" || p.Name == user.Name) {
		return nil
	}
	_, err := c.Exec(`UPDATE gateway_users SET email = coalesce(?, email), name = coalesce(?, name) WHERE id = ?`,
		schema.Nullable(p.Email), schema.Nullable(p.Name), user.ID)
	return err
}

// SuspendUser makes the gateway refuse all requests of a user, with gateway keys or tokens, until ResumeUser. The
// user's keys and settings are kept.
func (s *Service) SuspendUser(ctx context.Context, id string) error {
	return s.changeUser(ctx, id, "user.suspended",
		`UPDATE gateway_users SET suspended_at = coalesce(suspended_at, ?) WHERE id = ?`, schema.Micros(s.now()), id)
}

// ResumeUser ends a suspension. It also approves a user whose first sign-in waits for approval.
func (s *Service) ResumeUser(ctx context.Context, id string) error {
	return s.changeUser(ctx, id, "user.resumed",
		`UPDATE gateway_users SET suspended_at = NULL, waiting_since = NULL WHERE id = ?`, id)
}

// endWaiting approves a user whose first sign-in waits for approval.
func (s *Service) endWaiting(c store.Conn, id string) error {
	_, err := c.Exec(`UPDATE gateway_users SET waiting_since = NULL WHERE id = ?`, id)
	return err
}

// changeUser runs a statement that changes a user, and records it in the audit log as action. The error has status 404
// if the user does not exist.
func (s *Service) changeUser(ctx context.Context, id, action, query string, args ...any) error {
	return s.changeLimits(ctx, func(c store.Conn) error {
		if err := s.requireUser(c, id); err != nil {
			return err
		}
		if _, err := c.Exec(query, args...); err != nil {
			return err
		}
		return s.audit(ctx, c, action, id, nil)
	})
}

// RemoveUser removes a user with their gateway keys, provider keys, models, preferences, limits and memberships. Usage
// records keep the id. A person who signs in with the id later is a new user.
func (s *Service) RemoveUser(ctx context.Context, id string) error {
	return s.changeLimits(ctx, func(c store.Conn) error {
		if err := s.requireUser(c, id); err != nil {
			return err
		}
		if err := s.deleteUser(c, id); err != nil {
			return err
		}
		return s.audit(ctx, c, "user.removed", id, nil)
	})
}

// deleteUser removes the rows of a user.
func (s *Service) deleteUser(c store.Conn, id string) error {
	for _, query := range []string{
		`DELETE FROM gateway_limits WHERE kind = 'key' AND holder IN (SELECT id FROM gateway_keys WHERE user_id = ?)`,
		`DELETE FROM gateway_limits WHERE kind = 'user' AND holder = ?`,
		`DELETE FROM gateway_answer_items WHERE owner IN (SELECT id FROM gateway_keys WHERE user_id = ?)`,
		`DELETE FROM gateway_answer_items WHERE owner = 'user ' || ?`,
		`DELETE FROM gateway_keys WHERE user_id = ?`,
		`DELETE FROM gateway_limits WHERE kind = 'provider_key' AND holder IN
			(SELECT id FROM gateway_provider_keys WHERE owner_kind = 'user' AND owner = ?)`,
		`DELETE FROM gateway_provider_keys WHERE owner_kind = 'user' AND owner = ?`,
		`DELETE FROM gateway_models WHERE user_id = ?`,
		`DELETE FROM gateway_objects WHERE user_id = ?`,
		`DELETE FROM gateway_responses WHERE owner = 'user ' || ?`,
		`DELETE FROM gateway_conversations WHERE owner = 'user ' || ?`,
		`DELETE FROM gateway_aliases WHERE owner_kind = 'user' AND owner = ?`,
		`DELETE FROM gateway_preferences WHERE user_id = ?`,
		`DELETE FROM gateway_team_members WHERE user_id = ?`,
		`DELETE FROM gateway_users WHERE id = ?`,
	} {
		if _, err := c.Exec(query, id); err != nil {
			return err
		}
	}
	return nil
}

// Active returns an error with 403 if a user is suspended, waits for approval or has the id of a team. An unknown user
// is active.
func (s *Service) Active(ctx context.Context, userID string) error {
	account, err := s.Account(ctx, userID)
	if err != nil {
		return err
	}
	return account.standing.refusal(userID)
}

// standing holds the reasons for which a user is refused.
type standing struct{ suspended, waiting, service bool }

// standing returns the reasons for which the user is refused.
func (u *User) standing() standing {
	return standing{suspended: u.SuspendedAt != nil, waiting: u.WaitingSince != nil, service: u.Service}
}

// refusal returns the error for a user who is refused, and nil for any other user.
func (st standing) refusal(userID string) error {
	switch {
	case st.suspended:
		return apierror.New(http.StatusForbidden, "user_suspended", "the operator has suspended the user %.200q", userID)
	case st.waiting:
		return errWaiting(userID)
	case st.service:
		return errTeamAccount(userID)
	}
	return nil
}

// errTeamAccount returns the error for a person whose id at the identity provider is the id of a team here.
func errTeamAccount(userID string) error {
	return apierror.New(http.StatusForbidden, "team_account", "nobody can sign in as %.200q: it is the id of a team",
		userID)
}

// standing reads the reasons for which a user is refused. An unknown user is not refused.
func (s *Service) standing(c store.Conn, userID string) (st standing, err error) {
	err = c.Row(`SELECT suspended_at IS NOT NULL, waiting_since IS NOT NULL, is_service = 1 FROM gateway_users WHERE id = ?`, userID).
		Scan(&st.suspended, &st.waiting, &st.service)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return st, err
}
