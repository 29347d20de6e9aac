package board

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/backends/board/moving"
	"github.com/tollgate-gateway/tollgate/modules/cli"
)

// importCommand returns the subcommand that imports the forum of another program.
func importCommand(o *options) *cobra.Command {
	programs := strings.Join(moving.Programs(), ", ")
	cmd := &cobra.Command{
		Use:  "import --from <program> <dump> [--attachments <folder>] [--avatars <folder>] [--prefix <text>] [--dry-run]",
		Args: cobra.ExactArgs(1), Short: "Imports a forum of another program from a dump of its database",
		Long: `
Imports a forum of another program from a dump of its database (MySQL or MariaDB, and
for Discourse PostgreSQL):
members, who sign in with their passwords as before, forums, threads, posts, private
messages, and with --attachments and --avatars the files of posts and the pictures of
members from the folders where the program keeps them.
Texts become Markdown. The addresses of the old forum lead to the new pages.
Programs: ` + programs + `.

Existing data stays as it is. A member whose name is taken gets another one. Content
that the board does not support is left out. The report lists each of these by its id
in the old forum. --dry-run reads and checks the dump, prints the report, and changes
nothing.

The dump must not be compressed. It is read as a stream, so it may be of any size.
After an interruption, the same command continues where it stopped; nothing is
imported twice. No mail, notification or webhook is sent. Guide:
docs/how-to/move-a-forum.md.
`,
	}
	var imported moving.Options
	flags := cmd.Flags()
	flags.StringVar(&imported.From, "from", "", "The program: "+programs+" (required)")
	flags.StringVar(&imported.Attachments, "attachments", "",
		"The folder with the files of posts. Default: they are left out")
	flags.StringVar(&imported.Avatars, "avatars", "",
		"The folder with the pictures of members. Default: they are left out")
	flags.StringVar(&imported.Prefix, "prefix", "",
		"The beginning of the names of tables. Default: that of the program, such as phpbb_")
	flags.BoolVar(&imported.DryRun, "dry-run", false, "Only check, and change nothing")
	cli.Required(cmd, "from")
	cmd.RunE = o.run(func(s *session, args []string) error {
		imported.Dump = args[0]
		info, err := os.Stat(imported.Dump)
		if err != nil {
			return err
		}
		for option, path := range map[string]string{"attachments": imported.Attachments, "avatars": imported.Avatars} {
			if path == "" {
				continue
			}
			if folder, err := os.Stat(path); err != nil || !folder.IsDir() {
				return errors.Join(fmt.Errorf("--%s: %s is not a folder", option, path), err)
			}
		}
		bar := newSeedBar(s.Notes, info.Size())
		imported.Progress = func(part string, done int64) {
			if part == "bytes" { // of the dump
				bar.read.Store(done)
				return
			}
			bar.read.Store(info.Size()) // the dump has been read before any part is imported
			bar.update(part, int(done))
		}
		report, err := s.Import(s.Ctx, imported)
		bar.end()
		if report == nil { // nothing was read
			return err
		}
		return errors.Join(err, s.Answer(report, func(w io.Writer) { printReport(w, report) }))
	})
	return cmd
}

// printReport prints the report of an import as readable text.
func printReport(w io.Writer, r *moving.Report) {
	for _, line := range r.Lines {
		_, _ = fmt.Fprintln(w, line)
	}
	if r.More > 0 {
		_, _ = fmt.Fprintf(w, "and %d more\n", r.More)
	}
	for _, note := range r.Notes {
		_, _ = fmt.Fprintln(w, "note:", note)
	}
	verb := "imported"
	if r.DryRun {
		verb = "read"
	}
	for _, counts := range []struct {
		title  string
		byKind map[string]int64
	}{{verb, r.Done}, {"left out", r.LeftOut}, {"changed", r.Changed}} {
		var list []string
		for _, kind := range slices.Sorted(maps.Keys(counts.byKind)) {
			list = append(list, fmt.Sprintf("%d %s", counts.byKind[kind], kind))
		}
		if len(list) > 0 {
			_, _ = fmt.Fprintf(w, "%s: %s\n", counts.title, strings.Join(list, ", "))
		}
	}
}
