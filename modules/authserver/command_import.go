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

// importEvery is the number of records after which the progress is printed.
const importEvery = 10_000

func importCommand(o *options) *cobra.Command {
	names := strings.Join(slices.Sorted(maps.Keys(moving.Readers())), ", ")
	cmd := &cobra.Command{
		Use: "import --from keycloak|hydra|csv|tollgate <file> [--dry-run] [--report <file>]", Args: cobra.ExactArgs(1),
		Short: "Takes over clients and users from Keycloak, Ory Hydra, a file of values or another Tollgate",
		Long: `
Takes over clients with their ids and secrets, and users with their ids, the
hashes of their passwords, groups, roles, attributes and authenticator apps. What
is there already stays as it is, so that it can be run again. A record that
cannot be taken is told and holds no others. A - stands for standard input.

Passwords and secrets are hashed anew when they are used the first time.
`,
	}
	from := cmd.Flags().String("from", "", "What the file is of: "+names)
	dry := cmd.Flags().Bool("dry-run", false, "Stores nothing, and tells what would be taken")
	report := cmd.Flags().String("report", "", "File for a line of JSON about each record")
	_ = cmd.MarkFlagRequired("from")
	cmd.RunE = o.run(func(s *session, cmd *cobra.Command, args []string) (err error) {
		read := moving.Readers()[*from]
		if read == nil {
			return fmt.Errorf("--from must be one of: %s", names)
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
		server, end, err := offline(s, keys)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, end()) }()
		done := &imported{session: s, lines: json.NewEncoder(lines)}
		failed := server.Import(s.Ctx, read, file, moving.Options{DryRun: *dry, By: operator, Tell: done.tell})
		if err := done.show(*dry); err != nil || failed != nil {
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
}

func (i *imported) tell(l moving.Line) error {
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
	if l.Outcome == moving.Refused {
		i.session.Note("%s: %s", cli.Cell(l.Where), l.Why)
	}
	if i.n++; i.n%importEvery == 0 {
		i.session.Note("%d records", i.n)
	}
	return i.lines.Encode(l)
}

func (i *imported) show(dry bool) error {
	return i.session.Table(i, func(w io.Writer) {
		taken := "TAKEN"
		if dry {
			taken = "WOULD BE TAKEN"
		}
		cli.Row(w, "", taken, "THERE ALREADY", "SKIPPED", "REFUSED")
		for _, row := range []struct {
			name   string
			counts map[string]int
		}{{"Clients", i.Clients}, {"Users", i.Users}, {"Others", i.Others}} {
			cli.Row(w, row.name, row.counts[moving.Taken], row.counts[moving.There], row.counts[moving.Skipped],
				row.counts[moving.Refused])
		}
	})
}
