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

	mu    sync.Mutex
	total int64
	done  int64
	next  time.Time // time of the next output
	shown bool
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

func (p *Progress) pause() time.Duration {
	if p.terminal {
		return drawEvery
	}
	return writeEvery
}

// Step adds more processed units. total is the current estimate of the number of units to process.
func (p *Progress) Step(more, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += more
	p.total = total
	if now := time.Now(); !now.Before(p.next) {
		p.next = now.Add(p.pause())
		p.show(now)
	}
}

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

// text returns the text of a line.
func (p *Progress) text(now time.Time) string {
	rate := float64(p.done) / max(now.Sub(p.begin).Seconds(), 0.001)
	left := time.Duration(float64(max(p.total-p.done, 0)) / max(rate, 0.001) * float64(time.Second)).Round(time.Second)
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
