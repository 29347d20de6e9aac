package corpus

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// barWidth is that of a full bar, in letters.
const barWidth = 30

// Bar writes the progress of an ingest, on a terminal on one line again and again, else
// a line now and then. The function it gives is IngestOptions.Progress; done ends the
// line.
func Bar(w io.Writer, terminal bool, now func() time.Time) (told func(Progress), done func()) {
	begun := now()
	var last time.Time
	every := 10 * time.Second
	if terminal {
		every = 100 * time.Millisecond
	}
	wrote := false
	told = func(p Progress) {
		at := now()
		whole := p.Read == p.Files
		if at.Sub(last) < every && !whole {
			return
		}
		last = at
		line := p.line(at.Sub(begun))
		if terminal {
			_, _ = fmt.Fprintf(w, "\r%s\x1b[K", line) // who cannot see it does not
		} else {
			_, _ = fmt.Fprintln(w, line)
		}
		wrote = true
	}
	return told, func() {
		if wrote && terminal {
			_, _ = fmt.Fprintln(w)
		}
	}
}

// line is the progress in words. Its bar is of bytes read.
func (p Progress) line(took time.Duration) string {
	share := 1.0
	if p.Bytes > 0 {
		share = min(float64(p.Done)/float64(p.Bytes), 1)
	}
	full := int(share * barWidth)
	rate := 0.0
	if took > 0 {
		rate = float64(p.Done) / (1 << 20) / took.Seconds()
	}
	return fmt.Sprintf("[%s%s] %3.0f %%  %d of %d files, %d documents (%d new, %d replaced, %d known, %d refused), %d passages, %.1f MiB/s",
		strings.Repeat("=", full), strings.Repeat(" ", barWidth-full), 100*share, p.Read, p.Files, p.Documents(), p.Added, p.Replaced, p.Skipped, p.Refused, p.Chunks, rate)
}
