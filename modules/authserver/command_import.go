package authserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/backends/authserver/moving"
	"github.com/tollgate-gateway/tollgate/modules/cli"
)

// importEvery is the number of records between two progress reports.
const importEvery = 10_000

// importCommand returns the command that imports clients and users from a file.
func importCommand(o *options) *cobra.Command {
	names := strings.Join(slices.Sorted(maps.Keys(moving.Readers())), ", ")
	cmd := &cobra.Command{
		Use: "import --from keycloak|hydra|csv|tollgate <file> [--dry-run] [--update [--replace-passwords]] [--report <file>]", Args: cobra.ExactArgs(1),
		Short: "Imports clients and users from Keycloak, Ory Hydra, a CSV file or another Tollgate",
		Long: `
Imports clients with their ids and secrets, and users with their ids, password
hashes, groups, roles, attributes and authenticator apps. Existing clients and
users are not changed, so that the command can be repeated. A record that cannot
be imported is reported, and the import continues. A - stands for standard input.

With --update, existing clients and users are changed to what the file contains,
except for passwords of users, secrets of clients and authenticator apps. With
--replace-passwords these are imported too, which ends the sessions and tokens of
the users.

Passwords and secrets are hashed again when they are used for the first time.
`,
	}
	program := cmd.Flags().String("from", "", "The program that wrote the file: "+names)
	dry := cmd.Flags().Bool("dry-run", false, "Store nothing, and report what would be imported")
	update := cmd.Flags().Bool("update", false, "Also change existing clients and users, except for passwords and secrets")
	secrets := cmd.Flags().Bool("replace-passwords", false, "With --update: replace passwords and secrets, and add authenticator apps")
	report := cmd.Flags().String("report", "", "File to which a line of JSON about each record is written")
	_ = cmd.MarkFlagRequired("from")
	cmd.RunE = o.run(func(s *session, cmd *cobra.Command, args []string) (err error) {
		read := moving.Readers()[*program]
		if read == nil {
			return fmt.Errorf("--from must be one of: %s", names)
		}
		if *secrets && !*update {
			return errors.New("--replace-passwords requires --update")
		}
		file, err := inputOf(cmd, args[0])
		if err != nil {
			return err
		}
		defer file.Close()
		lines := io.Discard
		if *report != "" {
			var created *os.File
			if created, err = os.OpenFile(*report, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600); err != nil {
				return err
			}
			defer func() { err = errors.Join(err, created.Close()) }()
			lines = created
		}
		keys, err := s.keys()
		if err != nil {
			return err
		}
		server, end, err := newOfflineServer(s, keys)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, end()) }()
		done := &imported{session: s, lines: json.NewEncoder(lines), dry: *dry, update: *update}
		importErr := server.Import(s.Ctx, read, file, moving.Options{
			DryRun: *dry, Update: *update, Secrets: *secrets, By: operator, Tell: done.record,
		})
		if err := done.show(); err != nil || importErr != nil {
			return errors.Join(err, importErr)
		}
		if n := done.Clients[moving.Refused] + done.Users[moving.Refused] + done.Others[moving.Refused]; n > 0 {
			return fmt.Errorf("%d records were refused; the report says why", n)
		}
		return nil
	})
	return cmd
}

// inputOf opens a file, or returns the standard input for "-".
func inputOf(cmd *cobra.Command, name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(cmd.InOrStdin()), nil
	}
	return os.Open(name)
}

// imported counts records by kind and outcome. It is the JSON output of the command.
type imported struct {
	Clients map[string]int `json:"clients"`
	Users   map[string]int `json:"users"`
	Others  map[string]int `json:"others"`

	session *session
	lines   *json.Encoder // writes the report
	n       int           // records so far
	// dry and update are the flags of the same names.
	dry, update bool
}

// record counts a record, writes it to the report, and tells the user what went wrong. The import calls it for each
// record, in turn.
func (i *imported) record(l moving.Line) error {
	counts := &i.Others
	switch l.Kind {
	case "client":
		counts = &i.Clients
	case "user":
		counts = &i.Users
	}
	if *counts == nil {
		*counts = make(map[string]int)
	}
	(*counts)[l.Outcome]++
	switch {
	case l.Outcome == moving.Refused:
		i.session.Note("%s: %s", cli.Cell(l.Where), l.Why)
	case l.Outcome == moving.Updated && i.dry:
		i.session.Note("%s: would change: %s", cli.Cell(l.Where), strings.Join(l.Changed, ", "))
	}
	if i.n++; i.n%importEvery == 0 {
		i.session.Note("%d records", i.n)
	}
	return i.lines.Encode(l)
}

// show prints the counts.
func (i *imported) show() error {
	return i.session.Table(i, func(w io.Writer) {
		columns := []struct{ title, outcome string }{
			{"TAKEN", moving.Taken},
			{"UPDATED", moving.Updated},
			{"THERE ALREADY", moving.There},
			{"SKIPPED", moving.Skipped},
			{"REFUSED", moving.Refused},
		}
		if !i.update {
			columns = slices.Delete(columns, 1, 2) // UPDATED
		}
		head := append(make([]any, 0, 1+len(columns)), "")
		for _, c := range columns {
			if i.dry && (c.outcome == moving.Taken || c.outcome == moving.Updated) {
				c.title = "WOULD BE " + c.title
			}
			head = append(head, c.title)
		}
		cli.Row(w, head...)
		for _, row := range []struct {
			name   string
			counts map[string]int
		}{{"Clients", i.Clients}, {"Users", i.Users}, {"Others", i.Others}} {
			cells := append(make([]any, 0, 1+len(columns)), row.name)
			for _, c := range columns {
				cells = append(cells, row.counts[c.outcome])
			}
			cli.Row(w, cells...)
		}
	})
}
