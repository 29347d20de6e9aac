package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// Progress shows the progress of a long command: a bar on a terminal, otherwise a line at intervals.
type Progress struct {
	out      io.Writer
	terminal bool
	count    func(n int64) string
	unit     string
	begin    time.Time

	mu    sync.Mutex // guards the fields below: workers of a command step concurrently
	total int64      // units to process
	done  int64      // processed units
	next  time.Time  // time of the next output
	shown bool       // a bar is on the terminal
}

// The intervals at which a bar is drawn and a line is written, and the width of a bar.
const (
	drawEvery  = 200 * time.Millisecond
	writeEvery = 5 * time.Second
	barWidth   = 30
)

// NewProgress returns the progress of a command that processes total units. unit is the name of the units with a
// leading space, such as " reports"; count formats a number of units.
func NewProgress(out io.Writer, total int64, unit string, count func(n int64) string) *Progress {
	p := &Progress{out: out, total: total, unit: unit, count: count, begin: time.Now()}
	if f, ok := out.(*os.File); ok {
		info, err := f.Stat()
		p.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	p.next = p.begin.Add(p.pause())
	return p
}

// pause returns the time between two outputs.
func (p *Progress) pause() time.Duration {
	if p.terminal {
		return drawEvery
	}
	return writeEvery
}

// Step records that n more units were processed. total is the current estimate of the number of units to process. Step
// is safe for concurrent use.
func (p *Progress) Step(n, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += n
	p.total = total
	if now := time.Now(); !now.Before(p.next) {
		p.next = now.Add(p.pause())
		p.show(now)
	}
}

// show draws the bar, or writes a line if the output is not a terminal.
func (p *Progress) show(now time.Time) {
	if !p.terminal {
		_, _ = fmt.Fprintln(p.out, p.text(now))
		return
	}
	filled := int(min(p.done, p.total) * barWidth / max(p.total, 1))
	_, _ = fmt.Fprintf(p.out, "\r\x1b[K[%s%s] %s",
		strings.Repeat("=", filled), strings.Repeat(" ", barWidth-filled), p.text(now))
	p.shown = true
}

// text returns the text of a line: the progress, the average rate and the remaining time at that rate.
func (p *Progress) text(now time.Time) string {
	rate := float64(p.done) / max(now.Sub(p.begin).Seconds(), 0.001) // units per second
	secondsLeft := float64(max(p.total-p.done, 0)) / max(rate, 0.001)
	left := time.Duration(secondsLeft * float64(time.Second)).Round(time.Second)
	return fmt.Sprintf("%d%%, %s of %s%s, %s a second, %s left",
		p.done*100/max(p.total, 1), p.count(p.done), p.count(p.total), p.unit, p.count(int64(rate+0.5)), left)
}

// Clear removes the bar, to make room for other lines.
func (p *Progress) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		_, _ = fmt.Fprint(p.out, "\r\x1b[K")
		p.shown = false
	}
}
