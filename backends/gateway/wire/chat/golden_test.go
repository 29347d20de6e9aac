package chat

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what comes out into the golden files")

// golden is a file of testdata. It has options, one per line, and sections that begin with a line such as "-- in --".
type golden struct {
	path, options string
	names         []string
	sections      map[string]string
}

func goldens(t *testing.T, folder string) []*golden {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", folder, "*.txt"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	all := make([]*golden, 0, len(paths))
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		g := &golden{path: path, sections: make(map[string]string)}
		head, rest, _ := strings.Cut("\n"+string(raw), "\n-- ")
		g.options = strings.TrimPrefix(head, "\n") + "\n"
		for part := range strings.SplitSeq(rest, "\n-- ") {
			name, text, ok := strings.Cut(part+"\n", " --\n")
			if !ok {
				t.Fatalf("%s: no section in %q", path, part)
			}
			g.names = append(g.names, name)
			g.sections[name] = strings.TrimRight(text, "\n") + "\n"
		}
		all = append(all, g)
	}
	return all
}

func (g *golden) has(option string) bool { return strings.Contains("\n"+g.options, "\n"+option+"\n") }

func (g *golden) name() string { return strings.TrimSuffix(filepath.Base(g.path), ".txt") }

// check compares the output with a section, or keeps the output for save.
func (g *golden) check(t *testing.T, section, got string) {
	t.Helper()
	got = strings.TrimRight(got, "\n") + "\n"
	if *update {
		if _, ok := g.sections[section]; !ok {
			g.names = append(g.names, section)
		}
		g.sections[section] = got
		return
	}
	if got != g.sections[section] {
		t.Errorf("%s:\n%s\nwant:\n%s", section, got, g.sections[section])
	}
}

// save writes the file if golden files are to be updated.
func (g *golden) save(t *testing.T) {
	t.Helper()
	if !*update {
		return
	}
	text := g.options
	for _, name := range g.names {
		text += "-- " + name + " --\n" + g.sections[name]
	}
	if err := os.WriteFile(g.path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
