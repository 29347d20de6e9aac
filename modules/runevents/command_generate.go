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
	store := o.run(func(s *session, args []string) error {
		return s.load(int64(g.nodes)*int64(g.runs), func(ctx context.Context, add addFunc) error {
			return g.make(ctx, time.Now(), args, add)
		}, 8)
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if g.nodes < 1 || g.runs < 1 || g.interval < 0 {
			return errors.New("--nodes and --runs must be at least 1, and the interval must not be negative")
		}
		if g.out == "" {
			return store(cmd, args)
		}
		return g.write(cmd, args)
	}
	return cmd
}

// generator generates reports from real ones.
type generator struct {
	nodes, runs int
	interval    time.Duration
	domain, out string
}

// make passes the generated reports to add, oldest first.
func (g *generator) make(ctx context.Context, now time.Time, args []string, add addFunc) error {
	type template struct {
		payload []byte
		ended   time.Time
	}
	var templates []template
	for _, arg := range args {
		var failed error
		err := readFiles(ctx, arg, func(name string, payload []byte, err error) {
			var ended time.Time
			if err == nil {
				if ended, err = time.Parse(time.RFC3339, gjson.GetBytes(payload, "producer_timestamp").String()); err != nil {
					err = fmt.Errorf("reading %s: it has no producer_timestamp", name)
				}
			}
			failed = cmp.Or(failed, err)
			templates = append(templates, template{payload, ended})
		})
		if err = errors.Join(err, failed); err != nil {
			return err
		}
	}
	if len(templates) == 0 {
		return errors.New("there is no report to start from: files end in .json or .json.gz")
	}
	for run := range g.runs {
		for node := range g.nodes {
			if err := ctx.Err(); err != nil {
				return err
			}
			t := templates[(node+run*len(templates)/g.runs)%len(templates)]
			// The runs of the nodes are distributed over the interval.
			start := now.Add(-time.Duration(g.runs-1-run)*g.interval -
				g.interval*time.Duration(g.nodes-1-node)/time.Duration(g.nodes))
			certname := fmt.Sprintf("node%06d.%s", node, g.domain)
			payload, err := runevents.Vary(t.payload, certname, start.Sub(t.ended))
			if err != nil {
				return err
			}
			add(fmt.Sprintf("%s-run%d.json", certname, run+1), payload, nil)
		}
	}
	return nil
}

// write writes the generated reports to files.
func (g *generator) write(cmd *cobra.Command, args []string) error {
	if err := os.MkdirAll(g.out, 0o750); err != nil {
		return err
	}
	var failed error
	n := 0
	err := g.make(cmd.Context(), time.Now(), args, func(name string, payload []byte, _ error) {
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
