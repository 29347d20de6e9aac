package cms

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/backends/cms/accounts"
	"github.com/tollgate-gateway/tollgate/modules/cli"
)

// userCommand returns the command that manages users, with its subcommands.
func userCommand(o *options) *cobra.Command {
	return cli.Group(&cobra.Command{Use: "user", Short: "Manages the users of the site"},
		userAddCommand(o), userListCommand(o), userPasswordCommand(o),
		userStatusCommand(o, "disable", "Disables a user and ends their sessions and tokens", accounts.StatusDisabled),
		userStatusCommand(o, "enable", "Enables a user again", accounts.StatusActive))
}

// shownUser is a user in the output.
type shownUser struct {
	*accounts.Account
	// Password is the generated password. No later output shows it. It is empty if no password was generated.
	Password string `json:"password,omitempty"`
}

// printUser prints the generated password or, if generated is empty, the name of the user. note says what was done.
func printUser(s *session, u *accounts.Account, generated, note string) error {
	text := u.Name
	if generated != "" {
		text, note = generated, note+" The password is shown only once."
	}
	return s.Result(shownUser{u, generated}, text, note)
}

// newPassword works like cli.NewPassword, but returns an error for an empty password.
func newPassword(cmd *cobra.Command, generate bool) (pass, generated string, err error) {
	if pass, generated, err = cli.NewPassword(cmd, generate); err == nil && pass == "" {
		err = errNoPassword
	}
	return pass, generated, err
}

// userAddCommand returns the command that adds a user.
func userAddCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use: "add <name> [--email <address>] [--role <role>]... [--generate]", Args: cobra.ExactArgs(1),
		Short: "Adds a user, with a password from standard input",
	}
	email := cmd.Flags().String("email", "", "Address of the user")
	roles := cmd.Flags().StringSlice("role", nil, "Role of the user; may be repeated")
	generate := cmd.Flags().Bool("generate", false, "Generate a password and print it once")
	cmd.RunE = o.run(func(s *session, cmd *cobra.Command, args []string) error {
		pass, generated, err := newPassword(cmd, *generate)
		if err != nil {
			return err
		}
		u, err := s.Accounts().Create(s.Ctx, nil, args[0], accounts.Change{Email: email, Password: &pass, Roles: roles})
		if err != nil {
			return err
		}
		return printUser(s, u, generated, "The user was added.")
	})
	return cmd
}

// userListCommand returns the command that lists users.
func userListCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list [--after <id>] [--limit <number>]", Args: cobra.NoArgs,
		Short: "Lists the users, ordered by id",
	}
	afterID := cmd.Flags().Int64("after", 0, "List only users after this id")
	limit := cmd.Flags().Int("limit", 500, "Number of users, at most 500")
	cmd.RunE = o.run(func(s *session, _ *cobra.Command, _ []string) error {
		list, err := s.Accounts().List(s.Ctx, *afterID, *limit)
		if err != nil {
			return err
		}
		return s.Table(map[string]any{"users": cli.List(list)}, func(w io.Writer) {
			cli.Row(w, "ID", "NAME", "EMAIL", "ROLES", "STATUS")
			for _, u := range list {
				cli.Row(w, u.ID, u.Name, u.Email, strings.Join(u.Roles, ", "), u.Status)
			}
		})
	})
	return cmd
}

// userPasswordCommand returns the command that sets a password.
func userPasswordCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use: "password <name> [--generate]", Args: cobra.ExactArgs(1),
		Short: "Sets a user's password, read from standard input, and ends their sessions and tokens",
	}
	generate := cmd.Flags().Bool("generate", false, "Generate a password and print it once")
	cmd.RunE = o.run(func(s *session, cmd *cobra.Command, args []string) error {
		pass, generated, err := newPassword(cmd, *generate)
		if err != nil {
			return err
		}
		return change(s, args[0], accounts.Change{Password: &pass}, generated, "The password was changed.")
	})
	return cmd
}

// userStatusCommand returns the command with the given name that sets the status of a user.
func userStatusCommand(o *options, name, short, status string) *cobra.Command {
	return &cobra.Command{
		Use: name + " <name>", Args: cobra.ExactArgs(1), Short: short,
		RunE: o.run(func(s *session, _ *cobra.Command, args []string) error {
			return change(s, args[0], accounts.Change{Status: &status}, "", "The user is "+status+".")
		}),
	}
}

// change changes the user with the given name and prints the result; see printUser for generated and note.
func change(s *session, name string, changes accounts.Change, generated, note string) error {
	u, err := s.Accounts().Named(s.Ctx, name)
	if err == nil {
		u, err = s.Accounts().Update(s.Ctx, nil, u.ID, changes)
	}
	if err != nil {
		return err
	}
	return printUser(s, u, generated, note)
}
