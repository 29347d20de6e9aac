package cli

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

func TestProgress(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	p := NewProgress(&out, 200, " reports", decimal)
	p.done = 50
	if got := p.text(p.begin.Add(10 * time.Second)); got != "25%, 50 of 200 reports, 5 a second, 30s left" {
		t.Errorf("text %q", got)
	}
	p.show(p.begin.Add(10 * time.Second))
	p.Clear()
	if got := out.String(); got != "25%, 50 of 200 reports, 5 a second, 30s left\n" {
		t.Errorf("without a terminal: %q", got)
	}

	out.Reset()
	p.terminal = true
	p.show(p.begin.Add(10 * time.Second))
	if got := out.String(); !strings.HasPrefix(got, "\r\x1b[K[=======                       ] 25%") {
		t.Errorf("in a terminal: %q", got)
	}
	out.Reset()
	p.Clear()
	p.Clear()
	if got := out.String(); got != "\r\x1b[K" {
		t.Errorf("cleared: %q", got)
	}
	if got := NewProgress(&out, 0, " reports", decimal).text(p.begin); strings.Contains(got, "NaN") || !strings.HasPrefix(got, "0%, 0 of 0") {
		t.Errorf("of nothing: %q", got)
	}
}
