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
	// AcceptedAt and AcceptedBy are empty while the invitation is open. AcceptedBy is the id of a user.
	AcceptedAt *time.Time `json:"accepted_at"`
	AcceptedBy string     `json:"accepted_by,omitempty"`
}

// Limits of invitations, and how long they last by default.
const (
	InvitationLasts    = 7 * 24 * time.Hour
	maxInvitationLasts = 90 * 24 * time.Hour
	maxInvitations     = 10_000 // open invitations
)

// Invite creates an invitation and returns it with its token. The token is not stored. TeamID may be empty. If
// ExpiresAt is zero, the invitation expires after InvitationLasts. The error has status 400 for invalid fields, 404
// if the team does not exist, and 409 if there are too many open invitations.
func (s *Service) Invite(ctx context.Context, inv Invitation) (_ Invitation, token string, err error) {
	now := s.now().UTC().Truncate(time.Microsecond)
	inv.ID, inv.CreatedAt, inv.Email = "inv_"+random(20), now, strings.ToLower(strings.TrimSpace(inv.Email))
	if inv.ExpiresAt.IsZero() {
		inv.ExpiresAt = now.Add(InvitationLasts)
	}
	inv.ExpiresAt = inv.ExpiresAt.UTC().Truncate(time.Microsecond)
	if inv.Role == "" {
		inv.Role = RoleMember
	}
	switch {
	case checkText("email", inv.Email, 3, maxProfileText) != nil || !strings.Contains(inv.Email, "@"):
		return Invitation{}, "", invalid("email", "email must be a mail address")
	case inv.Role != RoleMember && inv.Role != RoleAdmin:
		return Invitation{}, "", invalid("role", "role must be %s or %s", RoleMember, RoleAdmin)
	case !inv.ExpiresAt.After(now) || inv.ExpiresAt.After(now.Add(maxInvitationLasts)):
		return Invitation{}, "", invalid("expires_at", "expires_at must be within the next %d days",
			int(maxInvitationLasts.Hours()/24))
	}
	token = tokens.New()
	err = s.db.Write(ctx, func(c store.Conn) error {
		if inv.TeamID != "" {
			if _, err := s.teamByID(c, inv.TeamID); err != nil {
				return err
			}
		}
		if err := change(c, tooMany("there are %d open invitations, withdraw some first", maxInvitations),
			`INSERT INTO gateway_invitations (id, hash, email, team_id, role, created_at, expires_at)
			SELECT CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS BIGINT), CAST(? AS BIGINT)
			WHERE (SELECT count(*) FROM gateway_invitations WHERE accepted_at IS NULL) < ?`,
			inv.ID, tokens.Hash(token), inv.Email, schema.Nullable(inv.TeamID), inv.Role, schema.Micros(inv.CreatedAt),
			schema.Micros(inv.ExpiresAt), maxInvitations); err != nil {
			return err
		}
		return s.audit(ctx, c, "invitation.created", inv.ID, map[string]string{
			"email": inv.Email, "team_id": inv.TeamID, "role": inv.Role,
		})
	})
	return inv, token, err
}

// selectInvitations is the beginning of a query for invitations, with the columns of scanInvitation.
const selectInvitations = `SELECT id, email, team_id, role, created_at, expires_at, accepted_at, accepted_by FROM gateway_invitations `

// scanInvitation reads an invitation from a row of selectInvitations.
func scanInvitation(row store.Row) (inv Invitation, err error) {
	var team, acceptedBy sql.NullString
	var created, expires int64
	var accepted sql.NullInt64
	err = row.Scan(&inv.ID, &inv.Email, &team, &inv.Role, &created, &expires, &accepted, &acceptedBy)
	inv.TeamID, inv.AcceptedBy, inv.AcceptedAt = team.String, acceptedBy.String, schema.Optional(accepted)
	inv.CreatedAt, inv.ExpiresAt = schema.Moment(created), schema.Moment(expires)
	return inv, err
}

// Invitations returns at most limit invitations, ordered by id, with ids greater than afterID.
func (s *Service) Invitations(ctx context.Context, afterID string, limit int) ([]Invitation, error) {
	if !schema.StorableID(afterID) {
		return nil, nil
	}
	return read(ctx, s, scanInvitation, selectInvitations+`WHERE id > ? ORDER BY id LIMIT ?`, afterID, limit)
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
