package keychain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/signal"
	"strings"
	"syscall"
	"text/tabwriter"
	"unicode"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/modules/gateway"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

// command is the command line of the service.
var command = caddycmd.Command{
	Name:  "keychain",
	Usage: "<command> [--config <file>] [--adapter <name>] [--json]",
	Short: "Manages the users, keys and models of the model gateway",
	Long: `
Manages the users of the model gateway: their gateway keys, their keys at
providers, their models, preferences and usage.

It works on the database that the configuration names, while the server runs
and while it does not. A running server acts on a change within five seconds.
Run it in the folder of the server and as the user of the server, since paths
such as data/tollgate.db count from the working directory.
`,
	CobraFunc: commands,
}

// commands builds the tree of subcommands.
func commands(root *cobra.Command) {
	o := new(options)
	group(root)
	flags := root.PersistentFlags()
	flags.StringVarP(&o.config, "config", "c", "", "Configuration file (default: ./Caddyfile, where there is one)")
	flags.StringVarP(&o.adapter, "adapter", "a", "", "Name of the adapter that reads the configuration (default: by the name of the file)")
	flags.BoolVar(&o.json, "json", false, "Answer in JSON, for programs")
	root.AddCommand(userCommands(o), keyCommands(o), providerKeyCommands(o), modelCommands(o), preferenceCommands(o), usageCommands(o), reencryptCommand(o), tokenCommand(o))
}

// options are the flags that every subcommand takes.
type options struct {
	config, adapter string
	json            bool
	user            string
}

// group makes cmd one that only has subcommands: alone it explains itself, and
// an unknown word behind it is an error.
func group(cmd *cobra.Command, children ...*cobra.Command) *cobra.Command {
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(children...)
	return cmd
}

// forUser adds the required flag that names the user.
func (o *options) forUser(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVarP(&o.user, "user", "u", "", "The user, by id (required)")
	if err := cmd.MarkFlagRequired("user"); err != nil {
		panic(err) // the flag was added just now
	}
	return cmd
}

// run makes a subcommand of a function that works on the open keychain. Where
// there is no database the command is in the wrong folder, and makes none.
func (o *options) run(work func(s *session, cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return o.on((*tollgate.App).Exists, work)
}

// begin is run for a subcommand that a new database may begin with.
func (o *options) begin(work func(s *session, cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return o.on(func(*tollgate.App, string) error { return nil }, work)
}

func (o *options) on(check func(app *tollgate.App, service string) error, work func(s *session, cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		app, end, err := tollgate.Load(o.config, o.adapter)
		if err != nil {
			return err
		}
		defer end()
		if err := check(app, gateway.Name); err != nil {
			return err
		}
		service, cat, err := gateway.OpenKeychain(ctx, app)
		if err != nil {
			return err
		}
		defer service.Close()
		s := &session{
			Service: service, catalog: cat, ctx: ctx, user: o.user, json: o.json,
			out: cmd.OutOrStdout(), notes: cmd.ErrOrStderr(),
		}
		return s.explain(work(s, cmd, args))
	}
}

// show is run for a subcommand that only reads: without the user there would
// be nothing to see instead of an error.
func (o *options) show(work func(s *session) error) func(*cobra.Command, []string) error {
	return o.run(func(s *session, _ *cobra.Command, _ []string) error {
		if _, err := s.User(s.ctx, s.user); err != nil {
			return err
		}
		return work(s)
	})
}

// session is the open keychain with what a subcommand needs to answer.
type session struct {
	*keychain.Service
	catalog *catalog.Catalog
	ctx     context.Context //nolint:containedctx // a session is one run of one command
	user    string
	json    bool
	// out gets the answer and nothing else; notes are for people.
	out, notes io.Writer
}

// explain makes an error of the service a sentence for the terminal that says
// what to do.
func (s *session) explain(err error) error {
	refusal, ok := apierror.From(err)
	switch {
	case !ok:
		return err
	case missingUser(err):
		return fmt.Errorf("there is no user %q; make one with: tollgate keychain users add <id>, see all with: tollgate keychain users list", s.user)
	default:
		return errors.New(refusal.Message)
	}
}

// missingUser reports whether the service refused because it does not know the
// user.
func missingUser(err error) bool {
	refusal, ok := apierror.From(err)
	return ok && refusal.Status == http.StatusNotFound && strings.HasPrefix(refusal.Message, "there is no user ")
}

// note tells a person something beside the answer.
func (s *session) note(format string, args ...any) {
	_, _ = fmt.Fprintf(s.notes, format+"\n", args...)
}

// answer writes value as JSON, or what text writes for people.
func (s *session) answer(value any, text func(w io.Writer)) error {
	if !s.json {
		w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
		text(w)
		return w.Flush()
	}
	encoder := json.NewEncoder(s.out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// row writes one line of a table.
func row(w io.Writer, cells ...any) {
	for i, c := range cells {
		if i > 0 {
			_, _ = io.WriteString(w, "\t")
		}
		_, _ = io.WriteString(w, cell(fmt.Sprint(c)))
	}
	_, _ = io.WriteString(w, "\n")
}

// cell keeps text from outside from steering the terminal or filling it.
func cell(text string) string {
	const most = 80
	shown := make([]rune, 0, min(len(text), most))
	for _, r := range text {
		if len(shown) == most {
			shown[most-1] = '…'
			break
		}
		if !unicode.IsPrint(r) {
			r = '?'
		}
		shown = append(shown, r)
	}
	if len(shown) == 0 {
		return "-"
	}
	return string(shown)
}

// yes is a column of a table.
func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// list is never null in JSON.
func list[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}
