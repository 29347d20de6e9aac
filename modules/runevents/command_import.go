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

// The accepted versions of the payloads.
const (
	oldestVersion = 5
	newestVersion = 8
)

// maxFile is the maximum size of a report in a file after decompression, in bytes.
const maxFile = 256 << 20

// importResult is the result of an import or a generation. The numbers are numbers of reports or files.
type importResult struct {
	Stored     int64   `json:"stored"`     // or stored before
	Rejected   int64   `json:"rejected"`   // because of their payload
	Unreadable int64   `json:"unreadable"` // files that could not be read
	Bytes      int64   `json:"bytes"`
	Seconds    float64 `json:"seconds"`
}

// importCommand returns the subcommand "import". o are the flags that all subcommands have.
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
	importFiles := o.run(func(s *session, args []string) error {
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
		if version < oldestVersion || version > newestVersion {
			return fmt.Errorf("--version is %d, must be from %d to %d", version, oldestVersion, newestVersion)
		}
		return importFiles(cmd, args)
	}
	cmd.Flags().IntVar(&version, "version", newestVersion, "Version of the payloads, 5 to 8")
	return cmd
}

// addFunc is called for each report: with the name of its file and its payload, or with the error of reading the file.
// Calls are not concurrent.
type addFunc func(name string, payload []byte, err error)

// walkReports calls found for each file with a report in root and the folders below it, or for root itself if root is a
// file. If a folder below root cannot be read, it calls found with the error. It stops at the first error that found
// returns, and returns it.
func walkReports(root string, found func(path string, err error) error) error {
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
		if err := walkReports(root, func(string, error) error { n++; return nil }); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// readFiles calls add for each file with a report in root and the folders below it, or for root itself if root is a
// file. It returns an error if root cannot be read or ctx has ended.
func readFiles(ctx context.Context, root string, add addFunc) error {
	return walkReports(root, func(path string, err error) error {
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
	var content io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if content, err = gzip.NewReader(f); err != nil {
			return nil, err
		}
	}
	payload, err := io.ReadAll(io.LimitReader(content, maxFile+1))
	if err == nil && len(payload) > maxFile {
		err = errors.New("it is larger than 256 MiB")
	}
	return payload, err
}

// load calls produce, stores the reports that produce passes to add, and prints the result. It stores several reports
// concurrently. If a report cannot be stored for a reason other than its payload, load cancels the context of produce
// and returns the error. total is the number of reports, for the progress bar; version is the version of the payloads.
func (s *session) load(total int64, produce func(ctx context.Context, add addFunc) error, version int) error {
	type item struct {
		name    string
		payload []byte
	}
	var (
		ctx, cancel = context.WithCancelCause(s.Ctx)
		items       = make(chan item, 64)
		workers     sync.WaitGroup
		result      importResult // only this goroutine changes Unreadable; workers change the other counts atomically
		start       = time.Now()
		progress    = cli.NewProgress(s.Notes, total, " reports", func(n int64) string { return strconv.FormatInt(n, 10) })
	)
	defer cancel(nil)
	for range 8 * runtime.NumCPU() { // concurrent reports share a commit
		workers.Go(func() {
			for i := range items {
				if ctx.Err() != nil { // skip the remaining items
					continue
				}
				// A report in a file does not go to the list of rejected commands, because the user still has the file.
				err := s.Store(ctx, runevents.Command{
					Name: "store report", Version: version, Certname: filepath.Base(i.name),
					Payload: i.payload,
				})
				switch {
				case runevents.IsPayload(err):
					atomic.AddInt64(&result.Rejected, 1)
					progress.Clear()
					s.Note("%s is rejected: %s", cli.Plain(i.name), cli.Plain(err.Error()))
				case err != nil:
					cancel(fmt.Errorf("storing %s: %w", i.name, err))
				default:
					atomic.AddInt64(&result.Stored, 1)
					atomic.AddInt64(&result.Bytes, int64(len(i.payload)))
				}
				progress.Step(1, total)
			}
		})
	}
	err := produce(ctx, func(name string, payload []byte, err error) {
		if err != nil {
			result.Unreadable++
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
	workers.Wait()
	progress.Clear()
	// The cause says more than the error of produce, which only saw that ctx has ended.
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err != nil {
		return err
	}
	result.Seconds = time.Since(start).Seconds()
	return s.printResult(result)
}

// printResult prints the result. It returns an error if any report was not stored.
func (s *session) printResult(result importResult) error {
	if result.Stored+result.Rejected+result.Unreadable == 0 {
		return errors.New("found no reports: the names of report files must end in .json or .json.gz")
	}
	if err := s.Answer(result, func(w io.Writer) {
		_, _ = fmt.Fprintf(w, "stored %d reports (%d MB) in %.1f s, rejected %d, could not read %d\n",
			result.Stored, result.Bytes>>20, result.Seconds, result.Rejected, result.Unreadable)
	}); err != nil {
		return err
	}
	if result.Rejected+result.Unreadable > 0 {
		return errors.New("some files were not stored; the reasons are above")
	}
	return nil
}
