package authserver

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/backends/authserver"
	"github.com/tollgate-gateway/tollgate/backends/authserver/account"
	"github.com/tollgate-gateway/tollgate/backends/authserver/config"
)

// shownInvitation is the JSON output of the command.
type shownInvitation struct {
	shownUser
	// Link is the link that the operator gives to the person. It is empty if the link is mailed.
	Link string `json:"link,omitempty"`
}

// userInviteCommand returns the command that invites a person.
func userInviteCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use: "invite <email> [--name <name>] [--link]", Args: cobra.ExactArgs(1),
		Short: "Mails a link with which a person chooses a password and creates an account",
		Long: `
Mails a link to an address. Whoever opens it within a week chooses a password
and has an account; until then nobody can sign in. --link prints the link
instead, for the operator to hand over, and needs no mail server.
`,
	}
	name := cmd.Flags().String("name", "", "Name of the user, who can change it later")
	link := cmd.Flags().Bool("link", false, "Print the link instead of mailing it")
	cmd.RunE = o.run(func(s *session, _ *cobra.Command, args []string) error {
		keys, err := s.keys()
		if err != nil {
			return err
		}
		if keys.Mail.URL == "" && !*link {
			return errors.New("no mail server is configured (mail.url): print the link with --link")
		}
		s.Issuer = keys.Server.Issuer
		accounts := &account.Accounts{Server: s.Server, Users: authserver.OfflineUsers(s.Server)}
		u, address, err := accounts.Invite(s.Ctx, args[0], *name, *link)
		if err != nil {
			return err
		}
		text, note := u.ID, "The invitation is mailed."
		if *link {
			text, note = address, "The link works once, within a week."
		}
		return s.Result(shownInvitation{shown(u), address}, text, note)
	})
	return cmd
}

// keys returns the settings of the configuration's authorization server. It returns an error if there are servers with
// different issuers.
func (s *session) keys() (*config.Config, error) {
	all, _, err := serverKeys(s)
	if err != nil {
		return nil, err
	}
	for _, keys := range all[1:] {
		if keys.Server.Issuer != all[0].Server.Issuer {
			return nil, errors.New("the configuration has several authorization servers; give the file of one of them with --config")
		}
	}
	return all[0], nil
}
