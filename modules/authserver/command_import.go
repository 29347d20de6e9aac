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

func importCommand(o *options) *cobra.Command {
	names := strings.Join(slices.Sorted(maps.Keys(moving.Readers())), ", ")
	cmd := &cobra.Command{
		Use: "import --from keycloak|hydra|csv|tollgate <file> [--dry-run] [--update [--replace-passwords]] [--report <file>]", Args: cobra.ExactArgs(1),
		Short: "Takes over clients and users from Keycloak, Ory Hydra, a file of values or another Tollgate",
		Long: `
Takes over clients with their ids and secrets, and users with their ids, the
hashes of their passwords, groups, roles, attributes and authenticator apps. What
is there already stays as it is, so that it can be run again. A record that
cannot be taken is told and holds no others. A - stands for standard input.

With --update what is there already becomes what the file says, but for passwords
of users, secrets of clients and authenticator apps: these are taken over with
--replace-passwords, which ends the sessions and tokens of these users.

Passwords and secrets are hashed anew when they are used the first time.
`,
	}
	from := cmd.Flags().String("from", "", "What the file is of: "+names)
	dry := cmd.Flags().Bool("dry-run", false, "Stores nothing, and tells what would be taken")
	update := cmd.Flags().Bool("update", false, "Changes what is there already to what the file says, but for passwords and secrets")
	secrets := cmd.Flags().Bool("replace-passwords", false, "With --update: replaces passwords and secrets, and adds authenticator apps")
	report := cmd.Flags().String("report", "", "File for a line of JSON about each record")
	_ = cmd.MarkFlagRequired("from")
	cmd.RunE = o.run(func(s *session, cmd *cobra.Command, args []string) (err error) {
		read := moving.Readers()[*from]
		if read == nil {
			return fmt.Errorf("--from must be one of: %s", names)
		}
		if *secrets && !*update {
			return errors.New("--replace-passwords goes with --update")
		}
		file, err := inputOf(cmd, args[0])
		if err != nil {
			return err
		}
		defer file.Close()
		lines := io.Discard
		if *report != "" {
			created, err := os.OpenFile(*report, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
			if err != nil {
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
		failed := server.Import(s.Ctx, read, file, moving.Options{
			DryRun: *dry, Update: *update, Secrets: *secrets, By: operator, Tell: done.record,
		})
		if err := done.show(); err != nil || failed != nil {
			return errors.Join(err, failed)
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

// imported counts records by kind and outcome.
type imported struct {
	Clients map[string]int `json:"clients"`
	Users   map[string]int `json:"users"`
	Others  map[string]int `json:"others"`

	session *session
	lines   *json.Encoder
	n       int
	// dry and update are the flags of the same names.
	dry, update bool
}

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
			columns = slices.Delete(columns, 1, 2)
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
