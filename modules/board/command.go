package board

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/board"
	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/modules/cli"
)

// command is the command line of the service.
var command = caddycmd.Command{
	Name:  "board",
	Usage: "<command> [--config <file>] [--adapter <name>] [--json]",
	Short: "Manages the discussion board",
	Long: `
Manages the discussion board: its administrator, tokens of members, fixtures for
demos, and the import of forums from elsewhere.

It uses the database of the configuration and works whether or not the server is
running. A running server applies a change at once. Run it in the folder of the
server and as the user of the server, because paths such as data/tollgate.db are
relative to the working directory.
`,
	CobraFunc: commands,
}

// options holds the flags that every subcommand takes.
type options struct{ cli.Flags }

// commands adds the subcommands to the command of the service.
func commands(root *cobra.Command) {
	o := new(options)
	o.Add(root)
	token := cli.Group(&cobra.Command{Use: "token", Short: "Manages the tokens of members"}, issueCommand(o),
		revokeCommand(o))
	cli.Group(root, initCommand(o), token, seedCommand(o), importCommand(o))
}

// session is one run of a subcommand with the open board.
type session struct {
	*cli.Session
	*board.Server
}

// run returns the RunE function of a subcommand, which opens the board and calls work.
func (o *options) run(work func(s *session, args []string) error) func(*cobra.Command, []string) error {
	return o.Run(func(s *cli.Session, _ *cobra.Command, args []string) error {
		db, err := s.App.OpenDatabase(s.Ctx, serviceName, board.Schema())
		if err != nil {
			return err
		}
		folder, err := s.App.FilesFolder(serviceName)
		if err != nil {
			return err
		}
		service := board.New(db, kernel.Options{Attachments: folder}, zap.NewNop(), time.Now)
		defer service.Close()
		if err := service.Ready(s.Ctx); err != nil {
			return err
		}
		return work(&session{s, service}, args)
	})
}

// initCommand returns the subcommand that creates the administrator.
func initCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use: "init --admin <name> --email <address>", Args: cobra.NoArgs,
		Short: "Creates the administrator and prints a one-time password",
		Long: `
Creates the groups, a category, a forum and the administrator, and prints the
administrator's password, which is shown only once. Existing data stays as it is.
`,
	}
	admin := cmd.Flags().String("admin", "", "Name of the administrator (required)")
	email := cmd.Flags().String("email", "", "Mail address of the administrator (required)")
	cli.Required(cmd, "admin", "email")
	cmd.RunE = o.run(func(s *session, _ []string) error {
		password, err := s.Init(s.Ctx, *admin, *email)
		if err != nil {
			return err
		}
		note := "The password of " + *admin + " is shown only once."
		if password == "" {
			note = "An administrator already exists; nothing was changed."
		}
		return s.Result(map[string]any{"admin": *admin, "password": password, "changed": password != ""}, password, note)
	})
	return cmd
}

// issueCommand returns the subcommand that creates a token.
func issueCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use: "issue --user <name> --name <label> [--scopes <a,b>] [--expires <90d|never>]", Args: cobra.NoArgs,
		Short: "Creates a token for a member and prints it, which is shown only once",
	}
	user := cmd.Flags().String("user", "", "The member, by name (required)")
	label := cmd.Flags().String("name", "", "Name of the token, such as its purpose (required)")
	scopes := cmd.Flags().StringSlice("scopes", rights.Scopes, "Scopes of the token")
	expires := cmd.Flags().String("expires", "90d", "Whole days such as 90d, 1d to 3650d, or never")
	cli.Required(cmd, "user", "name")
	cmd.RunE = o.run(func(s *session, _ []string) error {
		days, err := parseDays(*expires)
		if err != nil {
			return err
		}
		token, err := s.Accounts.IssueToken(s.Ctx,
			accounts.TokenRequest{User: *user, Name: *label, Scopes: *scopes, Days: days})
		if err != nil {
			return err
		}
		return s.Result(map[string]any{"user": *user, "name": *label, "scopes": *scopes, "token": token}, token,
			"The token is shown only once.")
	})
	return cmd
}

// parseDays parses the flag --expires, such as 90d. It returns 0 for never.
func parseDays(text string) (int, error) {
	if text == "never" {
		return 0, nil
	}
	number, ok := strings.CutSuffix(text, "d")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < 1 || n > 3650 {
		return 0, fmt.Errorf("--expires must be whole days from 1d to 3650d, or never")
	}
	return n, nil
}

// revokeCommand returns the subcommand that revokes a token.
func revokeCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "revoke <token>", Args: cobra.ExactArgs(1),
		Short: "Revokes a token, by its text or by its first part brd_pat_…",
		RunE: o.run(func(s *session, args []string) error {
			if err := s.Accounts.RevokeToken(s.Ctx, args[0]); err != nil {
				return errors.New("there is no valid token with this text")
			}
			return s.Result(map[string]any{"revoked": true}, "", "The token was revoked.")
		}),
	}
}
