package runevents

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/backends/runevents"
	"github.com/tollgate-gateway/tollgate/modules/cli"
)

// rejectedCommands returns the subcommand "rejected" with its subcommands. o are the flags that all subcommands have.
func rejectedCommands(o *options) *cobra.Command {
	var all bool
	retry := &cobra.Command{
		Use:   "retry <id>... | --all",
		Short: "Retries rejected commands; those that succeed leave the list",
		RunE: o.runExisting(func(s *session, args []string) error {
			return s.retry(args, all)
		}),
	}
	retry.Flags().BoolVar(&all, "all", false, "Retry all of the list")
	return cli.Group(&cobra.Command{Use: "rejected", Short: "Shows and retries commands that could not be stored"},
		&cobra.Command{
			Use: "list", Short: "Lists rejected commands, newest first", Args: cobra.NoArgs,
			RunE: o.runExisting(func(s *session, _ []string) error { return s.listRejected() }),
		},
		&cobra.Command{
			Use: "show <id>", Short: "Shows a rejected command with its payload", Args: cobra.ExactArgs(1),
			RunE: o.runExisting((*session).showRejected),
		}, retry,
	)
}

// listRejected prints the list of rejected commands.
func (s *session) listRejected() error {
	list, err := s.Rejected(s.Ctx)
	if err != nil {
		return err
	}
	return s.Table(cli.List(list), func(w io.Writer) {
		_, _ = fmt.Fprintln(w, "ID\tAT\tCOMMAND\tVERSION\tCERTNAME\tATTEMPTS\tREASON")
		for _, r := range list {
			_, _ = fmt.Fprintf(w, "%d\t%s\t%s\t%d\t%s\t%d\t%s\n", r.ID, r.At.Format(time.RFC3339), cli.Plain(r.Command),
				r.Version, cli.Plain(r.Certname), r.Attempts, cli.Plain(r.Reason))
		}
	})
}

// parseID parses the ID of a rejected command.
func parseID(text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not the id of a rejected command; list them with: tollgate events rejected list", text)
	}
	return id, nil
}

// showRejected prints the rejected command with the ID in args[0] and its payload.
func (s *session) showRejected(args []string) error {
	id, err := parseID(args[0])
	if err != nil {
		return err
	}
	r, c, err := s.RejectedCommand(s.Ctx, id)
	if err != nil {
		return err
	}
	if !s.JSON {
		s.Note("%s version %d for %s, %d attempts: %s", cli.Plain(r.Command), r.Version, cli.Plain(r.Certname), r.Attempts,
			cli.Plain(r.Reason))
		_, err := fmt.Fprintf(s.Out, "%s\n", c.Payload)
		return err
	}
	output := struct {
		runevents.Rejected
		Payload any `json:"payload"` // JSON, or text if it is not valid JSON
	}{r, string(c.Payload)}
	if json.Valid(c.Payload) {
		output.Payload = json.RawMessage(c.Payload)
	}
	return s.Answer(output, nil)
}

// retry executes rejected commands again: the commands with the IDs in args or, if retryAll is true, all commands. It
// returns an error if any of them failed again.
func (s *session) retry(args []string, retryAll bool) error {
	if retryAll == (len(args) > 0) { // both or neither
		return errors.New("give the IDs of commands, or --all")
	}
	var ids []int64
	for _, arg := range args {
		id, err := parseID(arg)
		if err != nil {
			return err
		}
		ids = append(ids, id)
	}
	if retryAll {
		list, err := s.Rejected(s.Ctx)
		if err != nil {
			return err
		}
		for _, r := range list {
			ids = append(ids, r.ID)
		}
	}
	failed := 0
	for _, id := range ids {
		if err := s.Retry(s.Ctx, id); err != nil {
			failed++
			s.Note("%d: %s", id, cli.Plain(err.Error()))
		}
	}
	result := struct {
		Stored   int `json:"stored"`
		Rejected int `json:"rejected"`
	}{len(ids) - failed, failed}
	if err := s.Answer(result, func(w io.Writer) {
		_, _ = fmt.Fprintf(w, "stored %d, rejected again %d\n", result.Stored, result.Rejected)
	}); err != nil {
		return err
	}
	if failed > 0 {
		return errors.New("some commands were rejected again")
	}
	return nil
}
