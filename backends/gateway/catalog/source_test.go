package catalog

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

func watched(t *testing.T, text string, opts Options) (s *Source, path string, logs *observer.ObservedLogs) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "catalog.json")
	write(t, path, text)
	core, logs := observer.New(zapcore.InfoLevel)
	s, err := NewSource(path, opts, zap.New(core))
	if err != nil {
		t.Fatal(err)
	}
	logs.TakeAll()
	return s, path, logs
}

// replace writes a new version with a time of its own, whatever the
// resolution of the file system's clock.
func replace(t *testing.T, path, text string, version int) {
	t.Helper()
	write(t, path, text)
	when := time.Unix(1_700_000_000+int64(version), 0)
	if err := os.Chtimes(path, when, when); err != nil {
		t.Fatal(err)
	}
}

func TestSourceSwapsAndKeeps(t *testing.T) {
	t.Parallel()
	s, path, logs := watched(t, sample, Options{Disable: []string{"two"}})
	first := s.Current()
	if len(first.Providers()) != 1 {
		t.Fatalf("providers %v", codes(first))
	}

	s.poll()
	if s.Current() != first || logs.Len() != 0 {
		t.Fatal("an unchanged file was read again")
	}

	newer := strings.Replace(sample, "2026-01-31", "2026-02-01", 1)
	replace(t, path, newer, 1)
	s.poll()
	second := s.Current()
	if second.Updated != "2026-02-01" || len(second.Providers()) != 1 {
		t.Fatalf("updated %s, providers %v", second.Updated, codes(second))
	}
	if first.Updated != "2026-01-31" {
		t.Error("the catalog of a running request changed")
	}

	logs.TakeAll()
	replace(t, path, `{"updated": `, 2)
	s.poll()
	s.poll()
	if s.Current() != second {
		t.Error("a broken file was taken")
	}
	if got := logs.FilterLevelExact(zapcore.ErrorLevel).TakeAll(); len(got) != 1 || logs.Len() != 1 {
		t.Errorf("a broken file was logged %d times", len(got))
	}

	// A valid file that the options do not fit is broken as well.
	logs.TakeAll()
	replace(t, path, strings.NewReplacer(`"code": "two"`, `"code": "duo"`, `"provider": "two"`, `"provider": "duo"`).Replace(sample), 3)
	s.poll()
	if s.Current() != second || logs.FilterLevelExact(zapcore.ErrorLevel).Len() != 1 {
		t.Error("a file without a configured provider was taken")
	}

	logs.TakeAll()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	s.poll()
	s.poll()
	if s.Current() != second || logs.FilterLevelExact(zapcore.ErrorLevel).Len() != 1 {
		t.Error("a missing file was not kept quietly")
	}

	replace(t, path, strings.Replace(sample, "2026-01-31", "2026-03-01", 1), 4)
	s.poll()
	if got := s.Current().Updated; got != "2026-03-01" {
		t.Errorf("updated %s after the file came back", got)
	}
}

func TestSourceEmbedded(t *testing.T) {
	t.Parallel()
	s, err := NewSource("", Options{Enable: []string{"perplexity"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(s.Current().Providers()); got != 13 {
		t.Errorf("%d providers", got)
	}
	s.Run(context.Background()) // returns at once, or the test ends by its time limit
}

func TestSourceRunEnds(t *testing.T) {
	t.Parallel()
	s, _, _ := watched(t, sample, Options{})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Run(ctx)
	}()
	cancel()
	<-done
}

func TestNewSourceErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken.json")
	write(t, broken, "[]")
	for name, tt := range map[string]struct {
		path string
		opts Options
		want string
	}{
		"missing file":   {filepath.Join(dir, "none.json"), Options{}, "reading model catalog"},
		"broken file":    {broken, Options{}, "is a JSON array"},
		"unknown option": {"", Options{Enable: []string{"nobody"}}, "unknown provider"},
	} {
		if _, err := NewSource(tt.path, tt.opts, nil); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q in it", name, err, tt.want)
		}
	}
}

func TestSourceWarnsOfAnOldFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "catalog.json")
	write(t, path, strings.Replace(sample, "2026-01-31", "2000-01-01", 1))
	core, logs := observer.New(zapcore.WarnLevel)
	if _, err := NewSource(path, Options{}, zap.New(core)); err != nil {
		t.Fatal(err)
	}
	if logs.Len() != 1 {
		t.Errorf("%d warnings", logs.Len())
	}
}
