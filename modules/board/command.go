package board

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/board"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

// command is the command line of the service.
var command = caddycmd.Command{
	Name:  "board",
	Usage: "<command> [--config <file>] [--adapter <name>] [--json]",
	Short: "Manages the discussion board",
	Long: `
Manages the discussion board: its administrator, its tokens, and fixtures for
demos.

It works on the database that the configuration names, while the server runs
and while it does not. A running server acts on a change at once. Run it in the
folder of the server and as the user of the server, since paths such as
data/tollgate.db count from the working directory.
`,
	CobraFunc: commands,
}

// options are the flags that every subcommand takes.
type options struct {
	config, adapter string
	json            bool
}

func commands(root *cobra.Command) {
	o := new(options)
	flags := root.PersistentFlags()
	flags.StringVarP(&o.config, "config", "c", "", "Configuration file (default: ./Caddyfile, where there is one)")
	flags.StringVarP(&o.adapter, "adapter", "a", "", "Name of the adapter that reads the configuration (default: by the name of the file)")
	flags.BoolVar(&o.json, "json", false, "Answer in JSON, for programs")
	token := &cobra.Command{Use: "token", Short: "Manages the tokens of members"}
	group(token, issueCommand(o), revokeCommand(o))
	group(root, initCommand(o), token, seedCommand(o), reencryptCommand(o))
}

// group makes cmd one that only has subcommands.
func group(cmd *cobra.Command, children ...*cobra.Command) {
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(children...)
}

// run makes a subcommand of a function that works on the open board.
func (o *options) run(work func(ctx context.Context, service *board.Service, cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		app, end, err := tollgate.Load(o.config, o.adapter)
		if err != nil {
			return err
		}
		defer end()
		db, err := app.OpenDatabase(ctx, serviceName, board.Schema())
		if err != nil {
			return err
		}
		service := board.New(db, kernel.Options{}, zap.NewNop(), time.Now)
		defer service.Close()
		if err = service.Ready(ctx); err == nil {
			err = work(ctx, service, cmd, args)
		}
		if refusal, ok := apierror.From(err); ok {
			return errors.New(refusal.Message)
		}
		return err
	}
}

// answer writes value as JSON, or text and a note for people.
func (o *options) answer(cmd *cobra.Command, value any, text, note string) error {
	if !o.json {
		if text != "" {
			_, _ = fmt.Fprintln(cmd.OutOrStdout(), text)
		}
		_, _ = fmt.Fprintln(cmd.ErrOrStderr(), note)
		return nil
	}
	encoder := json.NewEncoder(cmd.OutOrStdout())
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

func required(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err) // the flag was added just now
		}
	}
}

func initCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use: "init --admin <name> --email <address>", Args: cobra.NoArgs,
		Short: "Makes the administrator and prints a one-time password",
		Long: `
Makes the groups, a category, a forum and the administrator, and prints the
administrator's password, this once. What is there already stays as it is.
`,
	}
	admin := cmd.Flags().String("admin", "", "Name of the administrator (required)")
	email := cmd.Flags().String("email", "", "Mail address of the administrator (required)")
	required(cmd, "admin", "email")
	cmd.RunE = o.run(func(ctx context.Context, service *board.Service, cmd *cobra.Command, _ []string) error {
		password, err := service.Init(ctx, *admin, *email)
		if err != nil {
			return err
		}
		note := "The password of " + *admin + ", shown this once."
		if password == "" {
			note = "There is an administrator already; nothing was changed."
		}
		return o.answer(cmd, map[string]any{"admin": *admin, "password": password, "changed": password != ""}, password, note)
	})
	return cmd
}

func issueCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use: "issue --user <name> --name <label> [--scopes <a,b>] [--expires <90d|never>]", Args: cobra.NoArgs,
		Short: "Makes a token of a member and prints it, this once",
	}
	user := cmd.Flags().String("user", "", "The member, by name (required)")
	label := cmd.Flags().String("name", "", "What the token is for (required)")
	scopes := cmd.Flags().StringSlice("scopes", rights.Scopes, "What the token may do")
	expires := cmd.Flags().String("expires", "90d", "Whole days such as 90d, 1d to 3650d, or never")
	required(cmd, "user", "name")
	cmd.RunE = o.run(func(ctx context.Context, service *board.Service, cmd *cobra.Command, _ []string) error {
		days, err := parseDays(*expires)
		if err != nil {
			return err
		}
		token, err := service.IssueToken(ctx, board.TokenRequest{User: *user, Name: *label, Scopes: *scopes, Days: days})
		if err != nil {
			return err
		}
		return o.answer(cmd, map[string]any{"user": *user, "name": *label, "scopes": *scopes, "token": token}, token, "The token is shown this once.")
	})
	return cmd
}

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

func revokeCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "revoke <token>", Args: cobra.ExactArgs(1),
		Short: "Revokes a token, by its text or by its first part brd_pat_…",
		RunE: o.run(func(ctx context.Context, service *board.Service, cmd *cobra.Command, args []string) error {
			if err := service.RevokeToken(ctx, args[0]); err != nil {
				return errors.New("there is no such token that is good")
			}
			return o.answer(cmd, map[string]any{"revoked": true}, "", "The token is revoked.")
		}),
	}
}
