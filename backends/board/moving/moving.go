// Package moving reads the dumps of other forum programs, for an import. Each program has a reader that turns a dump
// into a seed.Moved.
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

// Options are the options of an import.
type Options struct {
	From   string // the program; one of Programs
	Dump   string // the path of the dump
	Prefix string // of table names; empty means the program's default
	// Attachments is the folder with the files of posts. If it is empty, files are left out.
	Attachments string
	// Avatars is the folder with the pictures of members. If it is empty, pictures are left out. Discourse has the
	// pictures in the folder of attachments.
	Avatars string
	DryRun  bool // checks everything and imports nothing
	// Progress is called from time to time: first with the number of bytes of the dump that were read, then with the
	// number of imported elements of a part.
	Progress func(part string, done int64)
}

// Source is an opened dump. Close it after the import.
type Source struct {
	seed.Moved
	io.Closer
}

// programs maps the names of programs to their readers.
var programs = map[string]func(context.Context, Options, *Report) (*Source, error){
	"discourse": readDiscourse, "flarum": readFlarum, "mybb": readMyBB, "phpbb": readPHPBB, "xenforo": readXenForo,
}

// Programs returns the names of the programs whose forums can be imported.
func Programs() []string { return slices.Sorted(maps.Keys(programs)) }

// maxLines limits the lines of a report.
const maxLines = 10_000

// Report describes the result of an import.
type Report struct {
	From   string `json:"from"`
	DryRun bool   `json:"dryRun"`
	// Done counts the finished elements of each part, including elements that earlier runs have imported and elements
	// that were left out.
	Done map[string]int64 `json:"done"`
	// LeftOut counts, by kind, the elements that this run has left out, and Changed those that it has imported with a
	// change.
	LeftOut map[string]int64 `json:"leftOut"`
	Changed map[string]int64 `json:"changed"`
	// Notes are about the forum as a whole.
	Notes []string `json:"notes"`
	// Lines describes the first elements that were left out or changed, and More is the number of the others.
	Lines []Line `json:"lines"`
	More  int64  `json:"more"`
}

// Line describes an element of the other forum that was left out or changed.
type Line struct {
	Outcome string `json:"outcome"` // left out or changed
	Kind    string `json:"kind"`
	ID      int64  `json:"id"` // in the forum that is imported
	Name    string `json:"name"`
	Reason  string `json:"reason"`
}

// String formats the line for people.
func (l Line) String() string {
	return fmt.Sprintf("%s: %s %d %q: %s", l.Outcome, l.Kind, l.ID, l.Name, l.Reason)
}

// line adds a line about an element, or counts it if there are maxLines lines.
func (r *Report) line(outcome string, e *seed.MovedError) {
	if len(r.Lines) == maxLines {
		r.More++
		return
	}
	r.Lines = append(r.Lines, Line{outcome, e.Kind, e.ID, e.Name, e.Err.Error()})
}

// leftOut reports an element that is not imported.
func (r *Report) leftOut(e *seed.MovedError) {
	r.LeftOut[e.Kind]++
	r.line("left out", e)
}

// changed reports an element that was imported, but not exactly as it is in the dump. e says what differs.
func (r *Report) changed(e *seed.MovedError) {
	r.Changed[e.Kind]++
	r.line("changed", e)
}

// without reports that n elements of a kind are left out because the board does not support them.
func (r *Report) without(kind string, n int64, reason string) {
	if n > 0 {
		r.LeftOut[kind] += n
		r.Notes = append(r.Notes, fmt.Sprintf("%d %s are left out: %s", n, kind, reason))
	}
}

// Import reads a dump and passes its content to load. It returns the report even if it also returns an error.
func Import(ctx context.Context, o Options, load func(context.Context, *seed.Moved, seed.MovedOptions) error,
) (*Report, error) {
	report := &Report{
		From: o.From, DryRun: o.DryRun, Done: make(map[string]int64), LeftOut: make(map[string]int64),
		Changed: make(map[string]int64), Notes: []string{}, Lines: []Line{},
	}
	read := programs[o.From]
	if read == nil {
		return report, fmt.Errorf("unknown program %q; known programs: %s", o.From, strings.Join(Programs(), ", "))
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

// digest returns a digest of a file's beginning and size, which identifies the file.
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

// ref is the place of a post in the dump, with the values by which posts are sorted. The field time holds Unix seconds
// or, for posts of Discourse and Flarum, the number of the post in its thread.
type ref struct {
	thread, post, time int64
	place              sqldump.Place
}

// byThread compares posts by thread, then by time, then by id.
func byThread(x, y ref) int {
	return cmp.Or(cmp.Compare(x.thread, y.thread), cmp.Compare(x.time, y.time), cmp.Compare(x.post, y.post))
}
