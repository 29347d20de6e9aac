package runevents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/runevents"
)

// generateCommand returns the subcommand "generate". o are the flags that all subcommands have. Without --out, the
// subcommand stores the generated reports in the database; with --out, it writes them to files and opens no database.
func generateCommand(o *options) *cobra.Command {
	var g generator
	cmd := &cobra.Command{
		Use:   "generate <folder or file>...",
		Short: "Generates reports of many nodes from real reports",
		Long: `
Generates reports of any number of nodes from real ones, which are files in the form
that "import" reads. Each report gets the name of a node, times that end now, and its
own transaction. The reports are stored, or written to a folder with --out.
`,
		Args: cobra.MinimumNArgs(1),
	}
	flags := cmd.Flags()
	flags.IntVar(&g.nodes, "nodes", 100, "Number of nodes")
	flags.IntVar(&g.runs, "runs", 2, "Number of runs of each node")
	flags.DurationVar(&g.interval, "interval", 30*time.Minute, "Time between two runs of a node")
	flags.StringVar(&g.domain, "domain", "example.com", "Domain of the nodes' names")
	flags.StringVar(&g.out, "out", "", "Folder to write the reports to, instead of storing them")
	generateAndStore := o.run(func(s *session, args []string) error {
		total := int64(g.nodes) * int64(g.runs)
		return s.load(total, func(ctx context.Context, add addFunc) error {
			return g.generate(ctx, time.Now(), args, add)
		}, newestVersion)
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if g.nodes < 1 || g.runs < 1 || g.interval < 0 {
			return errors.New("--nodes and --runs must be at least 1, and the interval must not be negative")
		}
		if g.out == "" {
			return generateAndStore(cmd, args)
		}
		return g.writeFiles(cmd, args)
	}
	return cmd
}

// generator generates reports of many nodes from the reports in files. Its fields are the flags of the command.
type generator struct {
	nodes, runs int
	interval    time.Duration
	domain, out string
}

// generate calls add with each generated report, from the oldest to the newest run. The last run of the last node
// ends at now. The last runs of the other nodes end earlier, by at most one interval. args are files and folders with
// the original reports; generate fails if any of them cannot be read.
func (g *generator) generate(ctx context.Context, now time.Time, args []string, add addFunc) error {
	type template struct {
		payload []byte
		ended   time.Time // producer_timestamp
	}
	var templates []template
	for _, arg := range args {
		var readErr error
		err := readFiles(ctx, arg, func(name string, payload []byte, err error) {
			var ended time.Time
			if err == nil {
				if ended, err = time.Parse(time.RFC3339, gjson.GetBytes(payload, "producer_timestamp").String()); err != nil {
					err = fmt.Errorf("reading %s: it has no producer_timestamp", name)
				}
			}
			readErr = cmp.Or(readErr, err)
			templates = append(templates, template{payload, ended})
		})
		if err = errors.Join(err, readErr); err != nil {
			return err
		}
	}
	if len(templates) == 0 {
		return errors.New("found no reports: the names of report files must end in .json or .json.gz")
	}
	for run := range g.runs {
		for node := range g.nodes {
			if err := ctx.Err(); err != nil {
				return err
			}
			// The nodes use different templates in one run. A node also uses different templates in different runs: from one run
			// to the next, its index grows by the number of templates divided by the number of runs.
			t := templates[(node+run*len(templates)/g.runs)%len(templates)]
			runsLater := g.runs - 1 - run
			// The runs of the nodes are distributed over the interval.
			nodeOffset := g.interval * time.Duration(g.nodes-1-node) / time.Duration(g.nodes)
			end := now.Add(-time.Duration(runsLater)*g.interval - nodeOffset)
			certname := fmt.Sprintf("node%06d.%s", node, g.domain)
			payload, err := runevents.Vary(t.payload, certname, end.Sub(t.ended))
			if err != nil {
				return err
			}
			add(fmt.Sprintf("%s-run%d.json", certname, run+1), payload, nil)
		}
	}
	return nil
}

// writeFiles writes the generated reports to files in the folder g.out, and creates the folder if necessary.
func (g *generator) writeFiles(cmd *cobra.Command, args []string) error {
	if err := os.MkdirAll(g.out, 0o750); err != nil {
		return err
	}
	var failed error
	n := 0
	err := g.generate(cmd.Context(), time.Now(), args, func(name string, payload []byte, _ error) {
		if failed == nil {
			failed = os.WriteFile(filepath.Join(g.out, name), payload, 0o600)
			n++
		}
	})
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "wrote %d reports to %s\n", n, g.out)
	return err
}
