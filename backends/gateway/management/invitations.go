package management

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/mail"
	"github.com/tollgate-gateway/tollgate/internal/origin"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// newInvitation is an invitation that was just created.
type newInvitation struct {
	keychain.Invitation
	// Token is shown only in this response.
	Token string `json:"token"`
	// Link leads to the console, which sends the token when the person signs in.
	Link string `json:"link"`
	// Mailed reports that the mail server has accepted a mail with the link.
	Mailed bool `json:"mailed"`
}

// inviteUser creates an invitation and mails its link.
func (s *Service) inviteUser(c *rest.Call) (any, error) {
	var in struct {
		Email     string    `json:"email"`
		TeamID    string    `json:"team_id"`
		Role      string    `json:"role"`
		ExpiresAt time.Time `json:"expires_at"`
	}
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	invitation, token, err := s.Keychain.Invite(c.R.Context(), keychain.Invitation{
		Email: in.Email, TeamID: in.TeamID, Role: in.Role, ExpiresAt: in.ExpiresAt,
	})
	if err != nil {
		return nil, err
	}
	answer := newInvitation{Invitation: invitation, Token: token, Link: InvitationLink(origin.Of(c.R), token)}
	answer.Mailed = s.mailInvitation(c.R.Context(), &answer)
	return answer, nil
}

// mailTimeout limits the time for mailing an invitation, since the operator waits for the result.
const mailTimeout = 10 * time.Second

// mailInvitation sends the link to the person and reports whether the mail server has accepted the mail. If not, the
// operator can pass the link on.
func (s *Service) mailInvitation(ctx context.Context, invitation *newInvitation) bool {
	if s.Mail == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, mailTimeout)
	defer cancel()
	session, err := s.Mail.Open(ctx)
	if err != nil {
		return false
	}
	defer session.Close()
	return session.Send(ctx, &mail.Message{
		ID: invitation.ID, Email: invitation.Email, Subject: "You are invited to the model gateway",
		Text: "You are invited to use language models through this gateway. Sign in here:\n\n" + invitation.Link + "\n\n" +
			"The link works once, until " + invitation.ExpiresAt.Format(time.RFC1123) +
			".\nIf you did not expect this mail, you can ignore it.\n",
		About: []zap.Field{zap.String("invitation", invitation.ID)},
	}) == nil
}

// InvitationLink returns the address in the console that accepts an invitation. The token is in the fragment, which
// browsers do not send to servers, so it is not logged.
func InvitationLink(origin, token string) string {
	return origin + "/console/#invitation=" + url.QueryEscape(token)
}

func (s *Service) invitations(c *rest.Call) (any, error) {
	return listAfter(c, func(afterID string, limit int) ([]keychain.Invitation, error) {
		return s.Keychain.Invitations(c.R.Context(), afterID, limit)
	}, func(in *keychain.Invitation) string { return in.ID }, unchanged)
}

func (s *Service) withdraw(c *rest.Call) (any, error) {
	return nil, s.Keychain.Withdraw(c.R.Context(), c.Path("invitation_id"))
}

// acceptInvitation signs in the user of the token with an invitation.
func (s *Service) acceptInvitation(c *rest.Call) (any, error) {
	var in struct {
		Token string `json:"token"`
	}
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	if in.Token == "" {
		return nil, apierror.New(http.StatusBadRequest, "missing_required_parameter",
			"token is missing: it is at the end of the link in the invitation").With("token")
	}
	return s.signIn(c, in.Token)
}
