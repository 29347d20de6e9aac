// Package cli is what the command lines of the services share: flags, the configuration
// that a command works on, and how it answers people and programs.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"syscall"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

// Flags are those that every subcommand takes.
type Flags struct {
	Config, Adapter string
	JSON            bool
}

// AddConfig adds --config and --adapter to a command and those below it.
func (f *Flags) AddConfig(root *cobra.Command) {
	joined(root)
	flags := root.PersistentFlags()
	flags.StringVarP(&f.Config, "config", "c", "", "Configuration file (default: ./Caddyfile, where there is one)")
	flags.StringVarP(&f.Adapter, "adapter", "a", "", "Name of the adapter that reads the configuration (default: by the name of the file)")
}

// Add adds --json too.
func (f *Flags) Add(root *cobra.Command) {
	f.AddConfig(root)
	root.PersistentFlags().BoolVar(&f.JSON, "json", false, "Answer in JSON, for programs")
}

// Group makes cmd one that only has subcommands: alone it explains itself, and an
// unknown word behind it is an error.
func Group(cmd *cobra.Command, children ...*cobra.Command) *cobra.Command {
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(children...)
	return cmd
}

// Required marks flags of cmd as required.
func Required(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err) // the flag was added just now
		}
	}
}

// Session is one run of one command on a configuration.
type Session struct {
	// Ctx ends with the first signal to stop.
	Ctx  context.Context //nolint:containedctx // see above
	App  *tollgate.App
	JSON bool
	// Out gets the answer and nothing else; Notes are for people.
	Out, Notes io.Writer
}

// Run makes a subcommand of a function that works on the configuration. A refusal of a
// service becomes its message.
func (f *Flags) Run(work func(s *Session, cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		app, end, err := tollgate.Load(f.Config, f.Adapter)
		if err != nil {
			return err
		}
		defer end()
		err = work(&Session{Ctx: ctx, App: app, JSON: f.JSON, Out: cmd.OutOrStdout(), Notes: cmd.ErrOrStderr()}, cmd, args)
		if refusal, ok := apierror.From(err); ok {
			return errors.New(refusal.Message)
		}
		return err
	}
}

// Note tells a person something beside the answer.
func (s *Session) Note(format string, args ...any) {
	_, _ = fmt.Fprintf(s.Notes, format+"\n", args...)
}

// Answer writes value as JSON, or what text writes for people.
func (s *Session) Answer(value any, text func(w io.Writer)) error {
	if !s.JSON {
		text(s.Out)
		return nil
	}
	encoder := json.NewEncoder(s.Out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// Resealed tells of secrets that were sealed with the current master key. The error is of
// those that none of the keys opens: remedy says what is to be done about them.
func (s *Session) Resealed(resealed, unreadable int, remedy string) error {
	err := s.Answer(map[string]int{"resealed": resealed, "unreadable": unreadable}, func(io.Writer) { s.Note("%d secrets were sealed anew.", resealed) })
	if err == nil && unreadable > 0 {
		err = fmt.Errorf("%d secrets open with none of the configured master keys; %s", unreadable, remedy)
	}
	return err
}

// Table is Answer with rows, whose columns are aligned.
func (s *Session) Table(value any, rows func(w io.Writer)) error {
	return s.Answer(value, func(out io.Writer) {
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		rows(w)
		_ = w.Flush() // nobody to tell when there is no output
	})
}

// List is never null in JSON.
func List[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}
