package runevents

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// progress tells a person how far a long command is: a bar in a terminal, and
// else now and then a line.
type progress struct {
	out      io.Writer
	terminal bool
	total    int64
	begin    time.Time

	mu    sync.Mutex
	done  int64
	next  time.Time // when it tells again
	shown bool
}

// How often a bar is drawn and a line written.
const (
	drawEvery  = 200 * time.Millisecond
	writeEvery = 5 * time.Second
	barWidth   = 30
)

func newProgress(out io.Writer, total int64) *progress {
	p := &progress{out: out, total: total, begin: time.Now()}
	if f, ok := out.(*os.File); ok {
		info, err := f.Stat()
		p.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	p.next = p.begin.Add(p.pause())
	return p
}

func (p *progress) pause() time.Duration {
	if p.terminal {
		return drawEvery
	}
	return writeEvery
}

// step counts one report.
func (p *progress) step() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	if now := time.Now(); !now.Before(p.next) {
		p.next = now.Add(p.pause())
		p.tell(now)
	}
}

func (p *progress) tell(now time.Time) {
	if !p.terminal {
		_, _ = fmt.Fprintln(p.out, p.text(now))
		return
	}
	filled := int(min(p.done, p.total) * barWidth / max(p.total, 1))
	_, _ = fmt.Fprintf(p.out, "\r\x1b[K[%s%s] %s", strings.Repeat("=", filled), strings.Repeat(" ", barWidth-filled), p.text(now))
	p.shown = true
}

// text is what a line says.
func (p *progress) text(now time.Time) string {
	rate := float64(p.done) / max(now.Sub(p.begin).Seconds(), 0.001)
	left := time.Duration(float64(max(p.total-p.done, 0)) / max(rate, 0.001) * float64(time.Second)).Round(time.Second)
	return fmt.Sprintf("%d%%, %d of %d reports, %.0f a second, %s left", p.done*100/max(p.total, 1), p.done, p.total, rate, left)
}

// clear makes room for other lines.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		_, _ = fmt.Fprint(p.out, "\r\x1b[K")
		p.shown = false
	}
}
