package board

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/tollgate-gateway/tollgate/backends/board/seed"
	"github.com/tollgate-gateway/tollgate/modules/cli"
)

// seedCommand returns the subcommand that loads a fixture.
func seedCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use: "seed --fixture <file> [--skip-bad]", Args: cobra.NoArgs,
		Short: "Loads a fixture, such as a converted forum, and prints the tokens that it creates",
		Long: `
Loads a fixture, a JSON object with the arrays groups, users, forums, overrides,
moderators, prefixes, threads (each with its posts) and tokens, in this order;
each is optional. Elements refer to others by name, and to forums by slug. All fields
are in docs/board-fixture.md.

  {"users": [{"name": "alice", "groups": ["registered"]}],
   "forums": [{"slug": "help", "title": "Help", "parent": "general"}],
   "overrides": [{"forum": "help", "group": "guest", "deny": ["forum.view"]}],
   "threads": [{"forum": "help", "title": "Hello", "posts":
     [{"author": "alice", "message": "First!", "at": "2026-01-01T00:00:00Z"}]}],
   "tokens": [{"user": "alice", "name": "demo", "scopes": ["posts:read"], "days": 90}]}

Each token is printed on one line: the member, the name, the token.

The fixture is read as a stream, so it may be of any size. "-" is the standard
input. After an interruption, the same command continues where it stopped;
nothing is loaded twice. No mail, notification or webhook is sent.

An element that breaks a rule, or that refers to something that does not exist,
ends the load with an error that names its line. With --skip-bad the element is
reported and left out.
`,
	}
	fixture := cmd.Flags().String("fixture", "", "The file (required)")
	skipBad := cmd.Flags().Bool("skip-bad", false, "Leave out elements that are refused, and continue")
	cli.Required(cmd, "fixture")
	cmd.RunE = o.run(func(s *session, _ []string) error {
		file, size := os.Stdin, int64(0)
		if *fixture != "-" {
			var err error
			if file, err = os.Open(*fixture); err != nil {
				return err
			}
			defer file.Close() //nolint:errcheck // nothing was written
			if info, err := file.Stat(); err == nil {
				size = info.Size()
			}
		}
		bar := newSeedBar(s.Notes, size)
		seedOptions, skipped := seed.Options{Progress: bar.update}, 0
		if *skipBad {
			seedOptions.Refused = func(err error) {
				skipped++
				bar.end()
				s.Note("Left out: %s: %s", *fixture, err)
			}
		}
		tokens, err := s.Seed(s.Ctx, bar.reader(file), seedOptions)
		bar.end()
		if err != nil {
			err = fmt.Errorf("%s: %w", *fixture, err)
		}
		if err != nil && len(tokens) == 0 {
			return err
		}
		lines := make([]string, 0, len(tokens))
		for _, t := range tokens {
			lines = append(lines, t.User+"\t"+t.Name+"\t"+t.Token)
		}
		note := "The fixture is loaded."
		if err != nil {
			note = "The fixture is loaded in part. Its tokens so far are shown only once."
		}
		if skipped > 0 {
			note = fmt.Sprintf("%s Elements left out, listed above: %d.", note, skipped)
		}
		return errors.Join(err, s.Result(
			map[string]any{"tokens": tokens, "loaded": bar.done, "skipped": skipped}, strings.Join(lines, "\n"), note))
	})
	return cmd
}

// seedBar shows the progress of loading a fixture or importing a forum: a bar on a terminal, otherwise a line at
// intervals.
type seedBar struct {
	out      io.Writer
	terminal bool           // whether out is a terminal
	size     int64          // of the file, in bytes; 0 if unknown
	read     atomic.Int64   // how many bytes of the file were read; the reader may run in another goroutine
	began    time.Time      // when the work began
	shown    time.Time      // when the progress was last shown
	done     map[string]int // how many elements are loaded, by part of the fixture
}

// newSeedBar returns a bar that is shown on standard error. size is the size of the file in bytes, or 0 if it is
// unknown.
func newSeedBar(out io.Writer, size int64) *seedBar {
	return &seedBar{
		out: out, terminal: term.IsTerminal(int(os.Stderr.Fd())), size: size, began: time.Now(), done: make(map[string]int),
	}
}

// reader returns a reader of file that counts the bytes read for the progress.
func (b *seedBar) reader(file io.Reader) io.Reader { return &countedReader{file, &b.read} }

// countedReader adds the number of bytes that are read from it to the counter count.
type countedReader struct {
	from  io.Reader
	count *atomic.Int64
}

// Read implements io.Reader.
func (r *countedReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	r.count.Add(int64(n))
	return n, err
}

// update records how much of a part is done. It shows the progress at intervals.
func (b *seedBar) update(part string, done int) {
	b.done[part] = done
	pause := 5 * time.Second
	if b.terminal {
		pause = 200 * time.Millisecond
	}
	if time.Since(b.shown) >= pause {
		b.show()
	}
}

// show writes the current progress.
func (b *seedBar) show() {
	b.shown = time.Now()
	var line strings.Builder
	if b.size > 0 {
		const width = 30
		percent := min(100, b.read.Load()*100/b.size)
		full := int(percent * width / 100)
		fmt.Fprintf(&line, "[%s%s] %3d%% ", strings.Repeat("#", full), strings.Repeat(".", width-full), percent)
	}
	for _, part := range []string{"users", "members", "forums", "threads", "posts", "files"} {
		if n := b.done[part]; n > 0 {
			fmt.Fprintf(&line, " %d %s", n, part)
		}
	}
	if n := b.done["posts"]; n > 0 {
		fmt.Fprintf(&line, ", %.0f posts/s", float64(n)/time.Since(b.began).Seconds())
	}
	prefix, suffix := "", "\n"
	if b.terminal {
		prefix, suffix = "\r\x1b[K", ""
	}
	_, _ = fmt.Fprint(b.out, prefix, line.String(), suffix)
}

// end shows the final state.
func (b *seedBar) end() {
	b.show()
	if b.terminal {
		_, _ = fmt.Fprintln(b.out)
	}
}
