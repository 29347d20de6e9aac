package keychain

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/backends/gateway/alerts"
	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/modules/cli"
	gatewayapp "github.com/tollgate-gateway/tollgate/modules/gateway"
)

// command is the command line of the gateway's keychain.
var command = caddycmd.Command{
	Name:  "keychain",
	Usage: "<command> [--config <file>] [--adapter <name>] [--json]",
	Short: "Manages the users, teams, keys and models of the model gateway",
	Long: `
Manages the users and teams of the model gateway: gateway keys, provider keys, models,
limits, preferences and usage.

It uses the database of the configuration and works whether or not the server is
running. A running server applies a change within five seconds. Run it in the folder
of the server and as the user of the server, because paths such as data/tollgate.db
are relative to the working directory.
`,
	CobraFunc: commands,
}

// commands adds the subcommands to root.
func commands(root *cobra.Command) {
	root.SuggestFor = []string{"gateway"}
	o := new(options)
	o.Add(root)
	cli.Group(root, userCommands(o), teamCommands(o), organisationCommands(o), alertsCommand(o), keyCommands(o),
		providerKeyCommands(o), modelCommands(o), aliasCommands(o), preferenceCommands(o), usageCommands(o),
		tokenCommand(o), applyCommand(o), exportCommand(o))
}

// options are the flags of all subcommands.
type options struct {
	cli.Flags
	user string
}

// forUser adds the required flag --user to cmd.
func (o *options) forUser(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVarP(&o.user, "user", "u", "", "The user, by id or mail address (required)")
	cli.Required(cmd, "user")
	return cmd
}

// run returns the RunE function of a subcommand, which calls work with the open keychain. It returns an error if the
// database does not exist: the command was probably started in the wrong folder, and must not create a database there.
func (o *options) run(
	work func(s *session, cmd *cobra.Command, args []string) error,
) func(*cobra.Command, []string) error {
	workWithKeychain := o.withKeychain(work)
	return o.Run(func(s *cli.Session, cmd *cobra.Command, args []string) error {
		if err := s.App.Exists(gatewayapp.Name); err != nil {
			return err
		}
		return workWithKeychain(s, cmd, args)
	})
}

// withKeychain returns a function that opens the keychain and calls work. Unlike run, it creates the database if it
// does not exist.
func (o *options) withKeychain(
	work func(s *session, cmd *cobra.Command, args []string) error,
) func(*cli.Session, *cobra.Command, []string) error {
	return func(base *cli.Session, cmd *cobra.Command, args []string) error {
		// The context names an actor, so that the revocation of a key is recorded in the audit log; see RevokeKey.
		base.Ctx = keychain.ActedBy(base.Ctx, keychain.Command)
		service, ledger, cat, err := gatewayapp.OpenKeychain(base.Ctx, base.App)
		if err != nil {
			return err
		}
		defer service.Close()
		s := &session{base, service, ledger, cat, o.user}
		if strings.Contains(s.user, "@") { // this may be the mail address of a user with another id
			if _, err := s.setUser(s.user); err != nil && !missingUser(err) {
				return err
			}
		}
		return s.explain(work(s, cmd, args))
	}
}

// runForUser works like run for a subcommand that only reads. It returns an error if the user does not exist; otherwise
// the output would be empty.
func (o *options) runForUser(work func(s *session) error) func(*cobra.Command, []string) error {
	return o.run(func(s *session, _ *cobra.Command, _ []string) error {
		if _, err := s.User(s.Ctx, s.user); err != nil {
			return err
		}
		return work(s)
	})
}

// session is one run of a subcommand with the open keychain.
type session struct {
	*cli.Session
	*keychain.Service
	spending *spending.Ledger
	catalog  *catalog.Catalog
	user     string // the user that the command is about, whom errors name; "" if it is not about a user
}

// setUser sets s.user to the id of the user with an id or mail address, and returns the id. If there is no such user,
// it sets s.user to name and returns an error.
func (s *session) setUser(name string) (id string, err error) {
	s.user = name
	user, err := s.UserBy(s.Ctx, name)
	if err == nil {
		s.user = user.ID
	}
	return user.ID, err
}

// Alerts lists the alerts that were sent, newest first.
func (s *session) Alerts(ctx context.Context, limit int) ([]alerts.Sent, error) {
	return alerts.List(ctx, s.DB(), 0, limit)
}

// explain extends an error about a missing user with the commands that add and list users.
func (s *session) explain(err error) error {
	if missingUser(err) {
		return fmt.Errorf("there is no user %q; add one with: tollgate keychain users add <id>, list all with: tollgate keychain users list", s.user)
	}
	return err
}

// missingUser reports whether err is the keychain's error for a user that does not exist.
func missingUser(err error) bool {
	refusal, ok := apierror.From(err)
	return ok && refusal.Status == http.StatusNotFound && strings.HasPrefix(refusal.Message, "there is no user ")
}
