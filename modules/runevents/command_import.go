package runevents

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/backends/runevents"
	"github.com/tollgate-gateway/tollgate/modules/cli"
)

// maxFile is the maximum size of a report in a file, after decompression.
const maxFile = 256 << 20

// loaded is the result of an import or a generation.
type loaded struct {
	Stored     int64   `json:"stored"`     // or stored before
	Rejected   int64   `json:"rejected"`   // because of their payload
	Unreadable int64   `json:"unreadable"` // files that could not be read
	Bytes      int64   `json:"bytes"`
	Seconds    float64 `json:"seconds"`
}

func importCommand(o *options) *cobra.Command {
	var version int
	cmd := &cobra.Command{
		Use:   "import <folder or file>...",
		Short: "Imports reports from files",
		Long: `
Imports reports of agents' runs from files that end in .json or .json.gz, each the
payload of one "store report" command. Reports that are already stored are skipped, so
an interrupted import can simply be run again. If a file cannot be read or stored, the
command prints the reason, continues with the others, and exits with status 1.

Reports of any age are imported, but the server deletes those that are older than its
retention settings allow.
`,
		Args: cobra.MinimumNArgs(1),
	}
	store := o.run(func(s *session, args []string) error {
		total, err := countFiles(args)
		if err != nil {
			return err
		}
		return s.load(total, func(ctx context.Context, add addFunc) error {
			for _, arg := range args {
				if err := readFiles(ctx, arg, add); err != nil {
					return err
				}
			}
			return nil
		}, version)
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if version < 5 || version > 8 {
			return fmt.Errorf("--version is %d, must be from 5 to 8", version)
		}
		return store(cmd, args)
	}
	cmd.Flags().IntVar(&version, "version", 8, "Version of the payloads, 5 to 8")
	return cmd
}

// addFunc is called for each file: with its report, or with the error of reading it.
type addFunc func(name string, payload []byte, err error)

// walk calls found for each file with a report in root and the folders below it, or for root itself if root is a file.
// If a folder below root cannot be read, found gets the error.
func walk(root string, found func(path string, err error) error) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil && path == root:
			return err
		case err != nil:
			return found(path, err)
		case entry.IsDir():
			return nil
		case path != root && !strings.HasSuffix(path, ".json") && !strings.HasSuffix(path, ".json.gz"):
			return nil
		}
		return found(path, nil)
	})
}

// countFiles returns the number of files with reports.
func countFiles(roots []string) (n int64, err error) {
	for _, root := range roots {
		if err := walk(root, func(string, error) error { n++; return nil }); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// readFiles calls add for each file in root and the folders below it, or for root itself if root is a file.
func readFiles(ctx context.Context, root string, add addFunc) error {
	return walk(root, func(path string, err error) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		var payload []byte
		if err == nil {
			payload, err = readReport(path)
		}
		if err != nil {
			err = fmt.Errorf("reading %s: %w", path, err)
		}
		add(path, payload, err)
		return nil
	})
}

// readReport reads a file of at most maxFile bytes, and decompresses it if its name ends in .gz.
func readReport(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	var from io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if from, err = gzip.NewReader(f); err != nil {
			return nil, err
		}
	}
	payload, err := io.ReadAll(io.LimitReader(from, maxFile+1))
	if err == nil && len(payload) > maxFile {
		err = errors.New("it is larger than 256 MiB")
	}
	return payload, err
}

// load stores the reports that produce passes to add, several at a time. It shows the progress towards total. version
// is the version of the payloads.
func (s *session) load(total int64, produce func(ctx context.Context, add addFunc) error, version int) error {
	type item struct {
		name    string
		payload []byte
	}
	var (
		ctx, cancel = context.WithCancelCause(s.Ctx)
		items       = make(chan item, 64)
		work        sync.WaitGroup
		done        loaded
		begin       = time.Now()
		progress    = cli.NewProgress(s.Notes, total, " reports", func(n int64) string { return strconv.FormatInt(n, 10) })
	)
	defer cancel(nil)
	for range 8 * runtime.NumCPU() { // concurrent reports share a commit
		work.Go(func() {
			for i := range items {
				if ctx.Err() != nil {
					continue
				}
				// A report in a file does not go to the list of rejected commands, because the user still has the file.
				err := s.Store(ctx, runevents.Command{
					Name: "store report", Version: version, Certname: filepath.Base(i.name),
					Payload: i.payload,
				})
				switch {
				case runevents.IsPayload(err):
					atomic.AddInt64(&done.Rejected, 1)
					progress.Clear()
					s.Note("%s is rejected: %s", cli.Plain(i.name), cli.Plain(err.Error()))
				case err != nil:
					cancel(fmt.Errorf("storing %s: %w", i.name, err))
				default:
					atomic.AddInt64(&done.Stored, 1)
					atomic.AddInt64(&done.Bytes, int64(len(i.payload)))
				}
				progress.Step(1, total)
			}
		})
	}
	err := produce(ctx, func(name string, payload []byte, err error) {
		if err != nil {
			done.Unreadable++
			progress.Clear()
			s.Note("%s", cli.Plain(err.Error()))
			progress.Step(1, total)
			return
		}
		select {
		case items <- item{name, payload}:
		case <-ctx.Done():
		}
	})
	close(items)
	work.Wait()
	progress.Clear()
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err != nil {
		return err
	}
	done.Seconds = time.Since(begin).Seconds()
	return s.loaded(done)
}

// loaded prints the result. It returns an error if any report was not stored.
func (s *session) loaded(done loaded) error {
	if done.Stored+done.Rejected+done.Unreadable == 0 {
		return errors.New("there is no report: files end in .json or .json.gz")
	}
	if err := s.Answer(done, func(w io.Writer) {
		_, _ = fmt.Fprintf(w, "stored %d reports (%d MB) in %.1f s, rejected %d, could not read %d\n",
			done.Stored, done.Bytes>>20, done.Seconds, done.Rejected, done.Unreadable)
	}); err != nil {
		return err
	}
	if done.Rejected+done.Unreadable > 0 {
		return errors.New("some files were not stored; the reasons are above")
	}
	return nil
}
