package process

import (
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	t.Parallel()
	const rest = " S 1 7 7 0 -1 4194560 100 0 0 0 150 50 0 0 20 0 9 0 55 1000 200"
	for _, name := range []string{"(tollgate)", "(a b) c)"} {
		got, err := parseStat([]byte("7 " + name + rest))
		if err != nil || got != 2*time.Second {
			t.Errorf("%s: %v and error %v, want 2s", name, got, err)
		}
	}
	for _, text := range []string{"", "7 (x) S 1", "7 (x) S 1 7 7 0 -1 4194560 100 0 0 0 a b 0"} {
		if got, err := parseStat([]byte(text)); err == nil {
			t.Errorf("%q: %v, want an error", text, got)
		}
	}
}

func TestParseStatus(t *testing.T) {
	t.Parallel()
	got, err := parseStatus([]byte("Name:\tx\nVmRSS:\t   900 kB\nRssAnon:\t     512 kB\nThreads:\t9\n"))
	if err != nil || got != 512<<10 {
		t.Errorf("%d and error %v, want 512 KiB", got, err)
	}
	if _, err := parseStatus([]byte("Name:\tx\n")); err == nil {
		t.Error("no RssAnon: want an error")
	}
}
