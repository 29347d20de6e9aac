package authserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/backends/authserver"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/modules/cli"
)

var errNoPassword = errors.New("the password is empty: pipe it in, or generate one with --generate, or give none with --no-password")

// operator is the actor that the audit feed names for changes by commands.
const operator = "admin"

// userCommand returns the command that manages users.
func userCommand(o *options) *cobra.Command {
	return cli.Group(&cobra.Command{Use: "user", Short: "Manages the people who sign in"},
		userAddCommand(o), userInviteCommand(o), userListCommand(o), userPasswordCommand(o), userResetCommand(o),
		userStatusCommand(o, "disable", "Disables a user, and ends all sessions, codes and tokens of the user", (*userStore).Disable),
		userStatusCommand(o, "enable", "Enables a user again; ended sessions and tokens are not restored", (*userStore).Enable))
}

// userStore is the type of the service that manages users.
type userStore = users.Users

// shownUser is a user in the output.
type shownUser struct {
	ID            string    `json:"id"`
	Email         string    `json:"email"`
	EmailVerified bool      `json:"email_verified"`
	Name          string    `json:"name"`
	Role          string    `json:"role"`
	Groups        []string  `json:"groups"`
	Status        string    `json:"status"`
	Provider      string    `json:"provider"`
	CreatedAt     time.Time `json:"created_at"`
	// Password is the generated password. No later output shows it.
	Password string `json:"password,omitempty"`
}

// shown returns a user in the form of the output, without a password.
func shown(u *users.User) shownUser {
	return shownUser{
		u.ID, u.Email, u.EmailVerified, u.Name, u.Role, cli.List(u.Groups), u.Status, u.Provider,
		time.UnixMicro(u.CreatedAt).UTC(), "",
	}
}

// printUser prints the generated password or, if generated is empty, the id of the user.
func printUser(s *session, u *users.User, generated, note string) error {
	answer, text := shown(u), u.ID
	if answer.Password = generated; generated != "" {
		text, note = generated, note+" The password is shown only once."
	}
	return s.Result(answer, text, note)
}

// runUsers returns the RunE function of a subcommand, which calls work with the user store.
func (o *options) runUsers(
	work func(s *session, p *userStore, cmd *cobra.Command, args []string) error,
) func(*cobra.Command, []string) error {
	return o.run(func(s *session, cmd *cobra.Command, args []string) error {
		return work(s, authserver.OfflineUsers(s.Server), cmd, args)
	})
}

// userAddCommand returns the command that adds a user.
func userAddCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use: "add <email> [--name <name>] [--admin] [--group <name>]... [--verified] [--generate | --hash <hash> | --no-password]", Args: cobra.ExactArgs(1),
		Short: "Adds a user, with a password from standard input",
		Long: `
Adds a user and prints the id, which tokens have as sub. The password is read
from standard input, where a terminal does not show it; --generate makes one and
prints it instead. --hash takes over the hash of another program: argon2id,
bcrypt with a cost of 10 or more, scrypt or PBKDF2.
`,
	}
	var n users.New
	name := cmd.Flags().String("name", "", "Name of the user")
	admin := cmd.Flags().Bool("admin", false, "Give the user the role admin")
	cmd.Flags().StringSliceVar(&n.Groups, "group", nil, "Group of the user; may be repeated")
	cmd.Flags().BoolVar(&n.EmailVerified, "verified", false, "Mark the mail address as verified")
	cmd.Flags().StringVar(&n.Hash, "hash", "", "Hash of the password")
	generate := cmd.Flags().Bool("generate", false, "Generate a password and print it once")
	noPassword := cmd.Flags().Bool("no-password", false, "Set no password, so that nobody can sign in with one")
	cmd.MarkFlagsMutuallyExclusive("hash", "generate", "no-password")
	cmd.RunE = o.runUsers(func(s *session, p *userStore, cmd *cobra.Command, args []string) error {
		if n.Email, n.Name = args[0], *name; *admin {
			n.Role = users.RoleAdmin
		}
		generated := ""
		if n.Hash == "" && !*noPassword {
			var err error
			if n.Password, generated, err = cli.NewPassword(cmd, *generate); err != nil {
				return err
			}
			if n.Password == "" {
				return errNoPassword
			}
		}
		u, err := p.Create(s.Ctx, n, operator)
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
		Use: "list [--limit <number>] [--offset <number>]", Args: cobra.NoArgs,
		Short: "Lists the users, the newest first",
	}
	limit := cmd.Flags().Int("limit", 1000, "Number of users")
	offset := cmd.Flags().Int("offset", 0, "Number of users to leave out at the beginning")
	cmd.RunE = o.runUsers(func(s *session, p *userStore, _ *cobra.Command, _ []string) error {
		list, err := p.List(s.Ctx, "", kernel.Page{Limit: *limit, Offset: *offset, Newest: true})
		if err != nil {
			return err
		}
		answer := make([]shownUser, len(list))
		for i, u := range list {
			answer[i] = shown(u)
		}
		return s.Table(map[string]any{"users": answer}, func(w io.Writer) {
			cli.Row(w, "ID", "EMAIL", "NAME", "ROLE", "STATUS", "CREATED")
			for _, u := range answer {
				cli.Row(w, u.ID, u.Email, u.Name, u.Role, u.Status, u.CreatedAt.Format(time.DateOnly))
			}
		})
	})
	return cmd
}

// userPasswordCommand returns the command that sets a password.
func userPasswordCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use: "password <email> [--generate]", Args: cobra.ExactArgs(1),
		Short: "Gives a user a new password, from standard input; all sessions end",
	}
	generate := cmd.Flags().Bool("generate", false, "Generate a password and print it once")
	cmd.RunE = o.runUsers(func(s *session, p *userStore, cmd *cobra.Command, args []string) error {
		u, err := p.FindByEmail(s.Ctx, args[0])
		if err != nil {
			return err
		}
		pass, generated, err := cli.NewPassword(cmd, *generate)
		if err != nil {
			return err
		}
		if u, err = p.Update(s.Ctx, u.ID, users.Change{Password: &pass}, operator); err != nil {
			return err
		}
		return printUser(s, u, generated, "The password was changed.")
	})
	return cmd
}

// userResetCommand returns the command that removes the second factors of a user.
func userResetCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "reset-factors <email>", Args: cobra.ExactArgs(1),
		Short: "Removes a user's passkeys, authenticator apps and recovery codes",
		RunE: o.runUsers(func(s *session, p *userStore, _ *cobra.Command, args []string) error {
			u, err := p.FindByEmail(s.Ctx, args[0])
			if err != nil {
				return err
			}
			room, err := authserver.OfflineFactors(s.Server)
			if err != nil {
				return err
			}
			n, err := room.Reset(s.Ctx, u.ID, operator)
			if err != nil {
				return err
			}
			return printUser(s, u, "", fmt.Sprintf("Second factors removed: %d. The user can sign in with the password alone.", n))
		}),
	}
}

// userStatusCommand returns the command disable or enable.
func userStatusCommand(o *options, name, short string, set func(p *userStore, ctx context.Context, id, actor string,
	checks ...func(u *users.User) error) (*users.User, error),
) *cobra.Command {
	return &cobra.Command{
		Use: name + " <email>", Args: cobra.ExactArgs(1), Short: short,
		RunE: o.runUsers(func(s *session, p *userStore, _ *cobra.Command, args []string) error {
			u, err := p.FindByEmail(s.Ctx, args[0])
			if err != nil {
				return err
			}
			if u, err = set(p, s.Ctx, u.ID, operator); err != nil {
				return err
			}
			return printUser(s, u, "", "The user is "+u.Status+".")
		}),
	}
}
