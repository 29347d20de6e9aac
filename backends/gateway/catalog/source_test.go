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

// newLoggedSource writes a catalog file, and returns a source for it with the path of the file and the log of later
// messages.
func newLoggedSource(t *testing.T, text string, opts Options) (s *Source, path string, logs *observer.ObservedLogs) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "catalog.json")
	write(t, path, text)
	core, logs := observer.New(zapcore.InfoLevel)
	s, err := NewSource(path, "", opts, zap.New(core))
	if err != nil {
		t.Fatal(err)
	}
	logs.TakeAll()
	return s, path, logs
}

// replace writes a new version of a file and sets its modification time, so that the versions differ whatever the
// resolution of the file system's clock.
func replace(t *testing.T, path, text string, version int) {
	t.Helper()
	write(t, path, text)
	modTime := time.Unix(1_700_000_000+int64(version), 0)
	if err := os.Chtimes(path, modTime, modTime); err != nil {
		t.Fatal(err)
	}
}

func TestSourceReloads(t *testing.T) {
	t.Parallel()
	s, path, logs := newLoggedSource(t, sample, Options{Disable: []string{"two"}})
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

	// A valid file is refused too if the options do not fit it.
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
	s, err := NewSource("", "", Options{Enable: []string{"perplexity"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(s.Current().Providers()); got != 13 {
		t.Errorf("%d providers", got)
	}
	s.Run(context.Background()) // must return at once, or the test times out
}

func TestSourceRunEnds(t *testing.T) {
	t.Parallel()
	s, _, _ := newLoggedSource(t, sample, Options{})
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
		if _, err := NewSource(tt.path, "", tt.opts, nil); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q in it", name, err, tt.want)
		}
	}
}

func TestSourceWarnsOfOldFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "catalog.json")
	write(t, path, strings.Replace(sample, "2026-01-31", "2000-01-01", 1))
	core, logs := observer.New(zapcore.WarnLevel)
	if _, err := NewSource(path, "", Options{}, zap.New(core)); err != nil {
		t.Fatal(err)
	}
	if logs.Len() != 1 {
		t.Errorf("%d warnings", logs.Len())
	}
}

// TestPrices checks that the operator's own prices replace list prices, that a changed file is read again, and that
// mistakes are errors.
func TestPrices(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "prices.json")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list := Embedded()
	base, ok := list.Model("openai", "gpt-5.4-nano")
	if !ok || !base.Price.Known || base.Price.Input == 0 {
		t.Fatal("there is no such model to test with")
	}
	write(`{"openai/*":{"discount":25},"openai/gpt-5.4-nano":{"input":1,"output":2.5,"calls":{"web_search":0.02}},"openai/gpt-5.4*":{"discount":50}}`)
	s, err := NewSource("", path, Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	price := func(id string) Price {
		t.Helper()
		m, ok := s.Current().Model("openai", id)
		if !ok {
			t.Fatal("there is no model", id)
		}
		return m.Price
	}
	if p := price("gpt-5.4-nano"); p.Input != 1 || p.Output != 2.5 || p.CachedInput != 0 || p.Calls["web_search"] != 0.02 {
		t.Errorf("the price is %+v", p)
	}
	for _, m := range list.Models("openai") {
		part := 0.75
		switch {
		case m.ID == "gpt-5.4-nano" || !m.Price.Known:
			continue
		case strings.HasPrefix(m.ID, "gpt-5.4"):
			part = 0.5
		}
		if got, want := price(m.ID), m.Price.Output*part; got.Output < want-1e-6 || got.Output > want+1e-6 {
			t.Errorf("the output of %s costs %g, want %g", m.ID, got.Output, want)
		}
	}
	write(`{"openai/gpt-5.4-nano":{"discount":50}}  `)
	s.poll()
	if p := price("gpt-5.4-nano"); p.Input < base.Price.Input/2-1e-6 || p.Input > base.Price.Input/2+1e-6 {
		t.Errorf("the input costs %g, half of %g", p.Input, base.Price.Input)
	}
	write(`{"openai/gpt-5.4-nano":{"discount":500}}`)
	s.poll()
	if p := price("gpt-5.4-nano"); p.Input > base.Price.Input {
		t.Error("a file with a mistake is used")
	}
	for text, want := range map[string]string{
		`{"openai/none":{"discount":5}}`: `no model "openai/none"`, `{"a/*":{"discount":0}}`: "above 0", `{"a/*":{"discount":5,"input":1}}`: "cannot be combined",
		`{"a/*":{"input":1}}`: "must have input and output", `{"a/*":{"input":-1,"output":1}}`: "price.input", `[]`: "must be an object", `{"a/*":{"in":1}}`: "in",
	} {
		write(text)
		if _, err := NewSource("", path, Options{}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := NewSource("", path+".none", Options{}, nil); err == nil {
		t.Error("a missing file is not an error")
	}
}

// TestStoredPrices checks that stored prices take precedence over the file's prices with the same names, also after a
// change of the file, and that prices for unknown models are no error.
func TestStoredPrices(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "prices.json")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"openai/gpt-5.4-nano":{"input":1,"output":2},"groq/*":{"discount":10}}`)
	s, err := NewSource("", path, Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	input := func() float64 {
		m, ok := s.Current().Model("openai", "gpt-5.4-nano")
		if !ok {
			t.Fatal("there is no such model")
		}
		return m.Price.Input
	}
	s.UsePrices(Prices{"openai/gpt-5.4-nano": {Price: Price{Rates: Rates{Input: 3, Output: 4}, Known: true}}, "openai/none": {Discount: 5}})
	if got := input(); got != 3 {
		t.Errorf("the input costs %g, want 3", got)
	}
	write(`{"openai/gpt-5.4-nano":{"input":5,"output":2},"openai/*":{"discount":10}}`)
	s.poll()
	if got := input(); got != 3 {
		t.Errorf("the input costs %g once the file has changed, want 3", got)
	}
	s.UsePrices(nil)
	if got := input(); got != 5 {
		t.Errorf("the input costs %g, want 5", got)
	}
	write(`{`)
	s.UsePrices(Prices{"openai/*": {Discount: 50}})
	if got := input(); got != 5 {
		t.Errorf("a file with a mistake is used: %g", got)
	}
}
