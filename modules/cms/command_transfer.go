package cms

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/backends/cms/transfer"
	"github.com/tollgate-gateway/tollgate/modules/cli"
)

// transferred is the output of the commands export and import.
type transferred struct {
	File      string `json:"file"`
	Fields    int    `json:"fields"`
	Templates int    `json:"templates"`
	Pages     int    `json:"pages"`
	Files     int    `json:"files"`
}

// newTransferred returns the output for a transfer from or to the given file, which is - for standard output or input.
func newTransferred(file string, done transfer.Done) transferred {
	return transferred{file, done.Fields, done.Templates, done.Pages, done.Files}
}

// String returns the counts as text.
func (t transferred) String() string {
	return fmt.Sprintf("%d fields, %d templates, %d pages, %d files", t.Fields, t.Templates, t.Pages, t.Files)
}

// exportCommand returns the command that writes the content of the site to a file.
func exportCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use: "export <file>|-", Args: cobra.ExactArgs(1),
		Short: "Exports the content of the site to a file, or to standard output",
		Long: `
Exports roles, fields, templates, pages and their files as JSON, one object per line. A
file appears only when it is complete. The export does not contain users, the trash,
drafts, revisions, settings, routes and classes.
`,
	}
	cmd.RunE = o.run(func(s *session, _ *cobra.Command, args []string) error {
		ctx := s.Ctx
		pages, err := s.Content().Count(ctx, kernel.Site(), "include=all")
		if err != nil {
			return err
		}
		bar := cli.NewProgress(s.Notes, pages, " pages and files", func(n int64) string { return strconv.FormatInt(n, 10) })
		source, previousTotal := s.Transfer(), int64(0)
		source.Progress = func(done transfer.Done) {
			total := int64(done.Pages) + int64(done.Files)
			bar.Step(total-previousTotal, pages+int64(done.Files))
			previousTotal = total
		}
		if args[0] == "-" {
			done, err := source.Export(ctx, s.Out)
			bar.Clear()
			if err == nil {
				s.Note("%s", newTransferred("-", done))
			}
			return err
		}
		done, err := exportTo(ctx, source, args[0])
		bar.Clear()
		if err != nil {
			return err
		}
		answer := newTransferred(args[0], done)
		return s.Result(answer, "", args[0]+": "+answer.String())
	})
	return cmd
}

// exportTo exports the site to a file. The file appears only when it is complete.
func exportTo(ctx context.Context, source transfer.Site, name string) (done transfer.Done, err error) {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*") // with mode 0600
	if err != nil {
		return done, err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // it has been renamed by then, unless there was an error
	done, err = source.Export(ctx, f)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	return done, err
}

// importCommand returns the command that imports an exported file into the site.
func importCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use: "import <file>|-", Args: cobra.ExactArgs(1),
		Short: "Imports content that export has written",
		Long: `
Fields, templates and pages that already exist, by name or path, are changed to what the
file says. Nothing is removed, and existing roles stay as they are. Fields and templates
are imported in one transaction, and pages in groups of a few hundred. After an
interruption run the import again; nothing is added twice.
`,
	}
	cmd.RunE = o.run(func(s *session, cmd *cobra.Command, args []string) error {
		input, size := cmd.InOrStdin(), int64(0)
		if args[0] != "-" {
			f, err := os.Open(args[0])
			if err != nil {
				return err
			}
			defer f.Close() //nolint:errcheck // it was read only
			if info, err := f.Stat(); err == nil {
				size = info.Size()
			}
			input = f
		}
		if _, err := s.Content().Install(s.Ctx); err != nil {
			return err
		}
		bar := cli.NewProgress(s.Notes, size, "", func(n int64) string { return humanize.Bytes(uint64(max(n, 0))) })
		done, err := s.Transfer().Import(s.Ctx, &progressReader{input, func(n int64) { bar.Step(n, size) }})
		bar.Clear()
		answer := newTransferred(args[0], done)
		if err != nil {
			return fmt.Errorf("after %s: %w", answer, err)
		}
		return s.Result(answer, "", answer.String())
	})
	return cmd
}

// progressReader calls step with the number of bytes of each read.
type progressReader struct {
	io.Reader
	step func(n int64)
}

// Read implements io.Reader.
func (r *progressReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.step(int64(n))
	return n, err
}
