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
	tokens "github.com/tollgate-gateway/tollgate/internal/secret"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Invitation lets one person in, even if NewUsers refuses new users. The person brings the invitation's token when they
// sign in. If the identity provider confirms a mail address of the person, it must be the address of the invitation.
type Invitation struct {
	ID        string    `json:"id"`
	Email     string    `json:"email"` // in lower case
	TeamID    string    `json:"team_id,omitempty"`
	Role      string    `json:"role"` // in the team
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at"`
	// AcceptedAt and AcceptedBy, the id of a user, are empty while the invitation is open.
	AcceptedAt *time.Time `json:"accepted_at"`
	AcceptedBy string     `json:"accepted_by,omitempty"`
}

// Limits of invitations, and how long they last by default.
const (
	InvitationLasts    = 7 * 24 * time.Hour
	maxInvitationLasts = 90 * 24 * time.Hour
	maxInvitations     = 10_000 // open invitations
)

// Invite creates an invitation and returns it with its token, which is not stored. TeamID may be empty. A zero
// ExpiresAt means after InvitationLasts. The error has status 400 for invalid fields, 404 if the team does not exist,
// and 409 if there are too many open invitations.
func (s *Service) Invite(ctx context.Context, in Invitation) (_ Invitation, token string, err error) {
	now := s.now().UTC().Truncate(time.Microsecond)
	in.ID, in.CreatedAt, in.Email = "inv_"+random(20), now, strings.ToLower(strings.TrimSpace(in.Email))
	if in.ExpiresAt.IsZero() {
		in.ExpiresAt = now.Add(InvitationLasts)
	}
	in.ExpiresAt = in.ExpiresAt.UTC().Truncate(time.Microsecond)
	if in.Role == "" {
		in.Role = RoleMember
	}
	switch {
	case checkText("email", in.Email, 3, maxProfileText) != nil || !strings.Contains(in.Email, "@"):
		return Invitation{}, "", invalid("email", "email must be a mail address")
	case in.Role != RoleMember && in.Role != RoleAdmin:
		return Invitation{}, "", invalid("role", "role must be %s or %s", RoleMember, RoleAdmin)
	case !in.ExpiresAt.After(now) || in.ExpiresAt.After(now.Add(maxInvitationLasts)):
		return Invitation{}, "", invalid("expires_at", "expires_at must be within the next %d days",
			int(maxInvitationLasts.Hours()/24))
	}
	token = tokens.New()
	err = s.db.Write(ctx, func(c store.Conn) error {
		if in.TeamID != "" {
			if _, err := s.teamByID(c, in.TeamID); err != nil {
				return err
			}
		}
		if err := change(c, tooMany("there are %d open invitations, withdraw some first", maxInvitations),
			`INSERT INTO gateway_invitations (id, hash, email, team_id, role, created_at, expires_at)
			SELECT CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS BIGINT), CAST(? AS BIGINT)
			WHERE (SELECT count(*) FROM gateway_invitations WHERE accepted_at IS NULL) < ?`,
			in.ID, tokens.Hash(token), in.Email, schema.Nullable(in.TeamID), in.Role, schema.Micros(in.CreatedAt),
			schema.Micros(in.ExpiresAt), maxInvitations); err != nil {
			return err
		}
		return s.audit(ctx, c, "invitation.created", in.ID, map[string]string{
			"email": in.Email, "team_id": in.TeamID, "role": in.Role,
		})
	})
	return in, token, err
}

// selectInvitations is the beginning of a query for invitations, with the columns of scanInvitation.
const selectInvitations = `SELECT id, email, team_id, role, created_at, expires_at, accepted_at, accepted_by FROM gateway_invitations `

// scanInvitation reads an invitation from a row of selectInvitations.
func scanInvitation(row store.Row) (in Invitation, err error) {
	var team, acceptedBy sql.NullString
	var created, expires int64
	var accepted sql.NullInt64
	err = row.Scan(&in.ID, &in.Email, &team, &in.Role, &created, &expires, &accepted, &acceptedBy)
	in.TeamID, in.AcceptedBy, in.AcceptedAt = team.String, acceptedBy.String, schema.Optional(accepted)
	in.CreatedAt, in.ExpiresAt = schema.Moment(created), schema.Moment(expires)
	return in, err
}

// Invitations returns at most limit invitations, ordered by id, with ids greater than after.
func (s *Service) Invitations(ctx context.Context, after string, limit int) ([]Invitation, error) {
	if !schema.StorableID(after) {
		return nil, nil
	}
	return read(ctx, s, scanInvitation, selectInvitations+`WHERE id > ? ORDER BY id LIMIT ?`, after, limit)
}

// Withdraw removes an invitation. A user who has already accepted it is kept. The error has status 404 if the
// invitation does not exist.
func (s *Service) Withdraw(ctx context.Context, id string) error {
	if !schema.StorableID(id) {
		return notFound("invitation", id)
	}
	return s.db.Write(ctx, func(c store.Conn) error {
		if err := change(c, notFound("invitation", id), `DELETE FROM gateway_invitations WHERE id = ?`, id); err != nil {
			return err
		}
		return s.audit(ctx, c, "invitation.withdrawn", id, nil)
	})
}

// acceptInvitation marks the invitation of an arriving person as accepted and returns it. It returns nil if the person
// brings no invitation or has accepted it before.
func (s *Service) acceptInvitation(ctx context.Context, c store.Conn, arrival *Arrival) (*Invitation, error) {
	if arrival.Invitation == "" {
		return nil, nil
	}
	in, err := scanInvitation(c.Row(selectInvitations+`WHERE hash = ?`, tokens.Hash(arrival.Invitation)))
	unknown := errors.Is(err, sql.ErrNoRows)
	switch {
	case err != nil && !unknown:
		return nil, err
	case !unknown && in.AcceptedBy == arrival.ID:
		return nil, nil
	case unknown || in.AcceptedAt != nil || !in.ExpiresAt.After(s.now()):
		return nil, apierror.New(http.StatusForbidden, "invitation_invalid",
			"the invitation is unknown, withdrawn, accepted or expired: ask an operator of this gateway for another")
	case arrival.Email != "" && !strings.EqualFold(arrival.Email, in.Email):
		return nil, apierror.New(http.StatusForbidden, "invitation_for_another",
			"the invitation is for another mail address than %.200q: sign in with the invited address, or ask an operator for another invitation",
			arrival.Email)
	}
	errAccepted := apierror.New(http.StatusForbidden, "invitation_invalid",
		"somebody else has just accepted the invitation: ask an operator of this gateway for another")
	if err := change(c, errAccepted,
		`UPDATE gateway_invitations SET accepted_at = ?, accepted_by = ? WHERE id = ? AND accepted_at IS NULL`,
		schema.Micros(s.now()), arrival.ID, in.ID); err != nil {
		return nil, err
	}
	return &in, s.audit(ActedBy(ctx, arrival.ID), c, "invitation.accepted", in.ID, map[string]string{"email": in.Email})
}
