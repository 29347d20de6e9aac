// Package moving reads what other forums have written, for an import: each program is a reader that turns a dump into a
// seed.Moved.
package moving

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/seed"
	"github.com/tollgate-gateway/tollgate/internal/sqldump"
)

// Options are the settings of an import.
type Options struct {
	From   string // the program, of Programs
	Dump   string // the path of the dump
	Prefix string // of the names of tables; empty means that of the program by default
	// Attachments is the folder with the files at posts. Empty means that they are left out.
	Attachments string
	// Avatars is the folder with the pictures of members. Empty means that they are left out. Discourse has them in the
	// folder of attachments.
	Avatars string
	DryRun  bool
	// Progress is called now and then with how much of the dump was read, in bytes, and then with how many elements of a
	// part are done.
	Progress func(part string, done int64)
}

// Source is a forum that is read. It must be closed after the import.
type Source struct {
	seed.Moved
	io.Closer
}

// programs are the readers by program.
var programs = map[string]func(context.Context, Options, *Report) (*Source, error){
	"discourse": readDiscourse, "flarum": readFlarum, "mybb": readMyBB, "phpbb": readPHPBB, "xenforo": readXenForo,
}

// Programs returns the names of the programs whose forums can be imported.
func Programs() []string { return slices.Sorted(maps.Keys(programs)) }

// maxLines is how many lines a report keeps.
const maxLines = 10_000

// Report tells what an import has done.
type Report struct {
	From   string `json:"from"`
	DryRun bool   `json:"dryRun"`
	// Done has how many elements of each part are done, those of earlier runs included. Elements that were left out count,
	// too.
	Done map[string]int64 `json:"done"`
	// LeftOut counts what was left out by its kind and Changed what was imported in another form, in this run.
	LeftOut map[string]int64 `json:"leftOut"`
	Changed map[string]int64 `json:"changed"`
	// Notes are about the forum as a whole.
	Notes []string `json:"notes"`
	// Lines has the first of what was left out or changed, and More counts the rest.
	Lines []Line `json:"lines"`
	More  int64  `json:"more"`
}

// Line is about an element of the forum that is imported.
type Line struct {
	Outcome string `json:"outcome"` // left out or changed
	Kind    string `json:"kind"`
	ID      int64  `json:"id"` // in the forum that is imported
	Name    string `json:"name"`
	Reason  string `json:"reason"`
}

// String returns the line for people.
func (l Line) String() string {
	return fmt.Sprintf("%s: %s %d %q: %s", l.Outcome, l.Kind, l.ID, l.Name, l.Reason)
}

func (r *Report) line(outcome string, e *seed.MovedError) {
	if len(r.Lines) == maxLines {
		r.More++
		return
	}
	r.Lines = append(r.Lines, Line{outcome, e.Kind, e.ID, e.Name, e.Err.Error()})
}

func (r *Report) leftOut(e *seed.MovedError) {
	r.LeftOut[e.Kind]++
	r.line("left out", e)
}

func (r *Report) changed(e *seed.MovedError) {
	r.Changed[e.Kind]++
	r.line("changed", e)
}

// without notes that the forum has what the board does not have.
func (r *Report) without(kind string, n int64, why string) {
	if n > 0 {
		r.LeftOut[kind] += n
		r.Notes = append(r.Notes, fmt.Sprintf("%d %s are left out: %s", n, kind, why))
	}
}

// Import reads a dump and imports it by load. It returns the report also with an error.
func Import(ctx context.Context, o Options, load func(context.Context, *seed.Moved, seed.MovedOptions) error,
) (*Report, error) {
	report := &Report{
		From: o.From, DryRun: o.DryRun, Done: make(map[string]int64), LeftOut: make(map[string]int64),
		Changed: make(map[string]int64), Notes: []string{}, Lines: []Line{},
	}
	read := programs[o.From]
	if read == nil {
		return report, fmt.Errorf("there is no reader for %q; there are: %s", o.From, strings.Join(Programs(), ", "))
	}
	source, err := read(ctx, o, report)
	if err != nil {
		return report, fmt.Errorf("%s: %w", o.Dump, err)
	}
	defer source.Close()
	source.Program = o.From
	if source.Digest, err = digest(o.Dump); err != nil {
		return report, err
	}
	return report, load(ctx, &source.Moved, seed.MovedOptions{
		DryRun: o.DryRun, LeftOut: report.leftOut, Changed: report.changed,
		Progress: func(part string, done int) {
			report.Done[part] = int64(done)
			if o.Progress != nil {
				o.Progress(part, int64(done))
			}
		},
	})
}

// digest returns what identifies a file: the digest of its beginning and its size.
func digest(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // it was read
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.LimitReader(file, seed.SeedHead)); err != nil {
		return "", err
	}
	_, _ = fmt.Fprint(sum, info.Size()) // never fails
	return hex.EncodeToString(sum.Sum(nil)[:16]), nil
}

// ref is a post in the dump.
type ref struct {
	thread, post, at int64
	place            sqldump.Place
}

// byThread orders posts by thread and then by time.
func byThread(x, y ref) int {
	return cmp.Or(cmp.Compare(x.thread, y.thread), cmp.Compare(x.at, y.at), cmp.Compare(x.post, y.post))
}
