// Package cli has the common parts of all services' commands: flags, loading the configuration that a command works on,
// and output for people and programs.
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

// Flags are the flags that every subcommand takes.
type Flags struct {
	Config, Adapter string
	JSON            bool
}

// AddConfig adds --config and --adapter to a command and its subcommands.
func (f *Flags) AddConfig(root *cobra.Command) {
	recordCommand(root)
	flags := root.PersistentFlags()
	flags.StringVarP(&f.Config, "config", "c", "", "Configuration file (default: ./Caddyfile, if it exists)")
	flags.StringVarP(&f.Adapter, "adapter", "a", "",
		"Configuration adapter (default: chosen by the name of the file)")
}

// Add adds --json besides the flags of AddConfig.
func (f *Flags) Add(root *cobra.Command) {
	f.AddConfig(root)
	root.PersistentFlags().BoolVar(&f.JSON, "json", false, "Print JSON, for programs")
}

// Group makes cmd a command that only groups subcommands. If cmd is called alone, it prints its help. An unknown
// subcommand is an error.
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
			panic(err) // the flag was added just before
		}
	}
}

// Session is one run of a command on a configuration.
type Session struct {
	// Ctx ends with the first signal to stop.
	Ctx  context.Context
	App  *tollgate.App
	JSON bool
	// Out gets the result of the command and nothing else. Notes gets messages for people.
	Out, Notes io.Writer
}

// Run returns the RunE function of a subcommand, which loads the configuration and calls work. If a service refuses a
// request, the error has only the message of the refusal.
func (f *Flags) Run(
	work func(s *Session, cmd *cobra.Command, args []string) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		app, end, err := tollgate.Load(f.Config, f.Adapter)
		if err != nil {
			return err
		}
		defer end()
		err = work(&Session{
			Ctx: ctx, App: app, JSON: f.JSON, Out: cmd.OutOrStdout(), Notes: cmd.ErrOrStderr(),
		}, cmd, args)
		if refusal, ok := apierror.From(err); ok {
			return errors.New(refusal.Message)
		}
		return err
	}
}

// Note prints a message for people to standard error, apart from the result of the command.
func (s *Session) Note(format string, args ...any) {
	_, _ = fmt.Fprintf(s.Notes, format+"\n", args...)
}

// Answer prints the result of the command: value as JSON if --json is given, otherwise the output of text.
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

// Result prints the result of the command. If --json is given, it prints value as JSON. Otherwise it prints text on a
// line, unless text is empty, and note as a message for people.
func (s *Session) Result(value any, text, note string) error {
	return s.Answer(value, func(w io.Writer) {
		if text != "" {
			_, _ = fmt.Fprintln(w, text)
		}
		s.Note("%s", note)
	})
}

// Table works like Answer, but rows writes tab-separated lines, as [Row] does, and Table aligns the columns of these
// lines.
func (s *Session) Table(value any, rows func(w io.Writer)) error {
	return s.Answer(value, func(out io.Writer) {
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		rows(w)
		_ = w.Flush() // without an output there is nobody to tell
	})
}

// List returns items, or an empty slice if items is nil, because JSON writes a nil slice as null.
func List[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}
