package keychain

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/management"
	"github.com/tollgate-gateway/tollgate/modules/cli"
)

// invite returns the command that creates an invitation and prints its link.
func invite(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "invite <mail address> --at <base address> [--team <team>] [--role admin] [--expires <when>]",
		Short: "Creates an invitation and prints its link, which is shown only once",
		Long: `
Creates an invitation and prints its link, which is shown only once. The person who
signs in with the link is admitted whatever new_users says; the link works once. If the
identity provider confirms a mail address, it must be the one of the invitation.
`,
		Args: cobra.ExactArgs(1),
	}
	invitation, base, team, expires := keychain.Invitation{}, "", "", ""
	cmd.Flags().StringVar(&base, "at", "", "Address of the gateway, such as https://llm.example.com (required)")
	cmd.Flags().StringVar(&team, "team", "",
		"Team to add the person to, by name or id (default: by the rules of sign-in)")
	cmd.Flags().StringVar(&invitation.Role, "role", "", "Role in the team: member (default) or admin")
	cmd.Flags().StringVar(&expires, "expires", "", "When it expires, such as 2027-01-31 or 14d (default: 7d, at most 90d)")
	cli.Required(cmd, "at")
	cmd.RunE = o.Run(o.withKeychain(func(s *session, _ *cobra.Command, args []string) error {
		if u, err := url.Parse(base); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" ||
			u.Path != "" && u.Path != "/" {
			return errors.New("--at must be an address such as https://llm.example.com")
		}
		invitation.Email = args[0]
		if expires != "" {
			expiry, err := parseEnd(expires, time.Now())
			if err != nil {
				return err
			}
			invitation.ExpiresAt = expiry
		}
		if team != "" {
			found, err := s.Team(s.Ctx, team)
			if err != nil {
				return err
			}
			invitation.TeamID = found.ID
		}
		created, token, err := s.Invite(s.Ctx, invitation)
		if err != nil {
			return err
		}
		link := management.InvitationLink(base, token)
		return s.Table(struct {
			keychain.Invitation
			Link string `json:"link"`
		}{created, link}, func(w io.Writer) { _, _ = fmt.Fprintln(w, link) })
	}))
	return cmd
}

// invitations returns the command that lists invitations.
func invitations(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "invitations", Short: "Lists the invitations, including accepted ones", Args: cobra.NoArgs,
		RunE: o.run(func(s *session, _ *cobra.Command, _ []string) error {
			list, err := keychain.AllPages(
				func(afterID string, limit int) ([]keychain.Invitation, error) {
					return s.Invitations(s.Ctx, afterID, limit)
				},
				func(i keychain.Invitation) string { return i.ID })
			if err != nil {
				return err
			}
			return s.Table(cli.List(list), func(w io.Writer) {
				cli.Row(w, "ID", "MAIL ADDRESS", "TEAM", "ROLE", "EXPIRES", "ACCEPTED", "BY")
				for i := range list {
					invitation := &list[i]
					cli.Row(w, invitation.ID, invitation.Email, invitation.TeamID, invitation.Role,
						formatTime(&invitation.ExpiresAt), formatTime(invitation.AcceptedAt), invitation.AcceptedBy)
				}
			})
		}),
	}
}

// withdraw returns the command that removes an invitation.
func withdraw(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "withdraw <invitation id>", Short: "Withdraws an invitation; a person who has accepted it keeps access",
		Args: cobra.ExactArgs(1),
		RunE: o.run(func(s *session, _ *cobra.Command, args []string) error {
			if err := s.Withdraw(s.Ctx, args[0]); err != nil {
				return err
			}
			return s.Table(map[string]string{"id": args[0]}, func(w io.Writer) {
				_, _ = fmt.Fprintf(w, "The invitation %s was withdrawn.\n", cli.Cell(args[0]))
			})
		}),
	}
}
