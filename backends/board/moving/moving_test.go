package moving

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzImport checks that a dump, whatever it is, makes no reader fail in another way than by an error, and that what is
// read can be converted.
func FuzzImport(f *testing.F) {
	for _, program := range Programs() {
		text, err := os.ReadFile("../testdata/" + program + "/dump.sql")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(program, string(text))
	}
	f.Fuzz(func(t *testing.T, program, text string) {
		read := programs[program]
		if read == nil || len(text) > 1<<20 {
			return
		}
		name := filepath.Join(t.TempDir(), "dump.sql")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		report := &Report{LeftOut: make(map[string]int64), Changed: make(map[string]int64)}
		source, err := read(t.Context(), Options{From: program, Dump: name, Attachments: "/files"}, report)
		if err != nil {
			return
		}
		defer func() { _ = source.Close() }()
		for i := range source.Threads {
			if thread, err := source.Thread(i); err == nil {
				_ = thread.Moved.Convert(thread)
			}
		}
		for i := range source.Conversations {
			_, v, err := source.Conversation(i)
			if err == nil && (len(v.Members) == 0 || len(v.Messages) == 0) {
				t.Errorf("a conversation has %d members and %d messages", len(v.Members), len(v.Messages))
			}
		}
		for _, file := range source.Files {
			if !strings.HasPrefix(file.Path, "/files") {
				t.Errorf("a file is at %s", file.Path)
			}
		}
	})
}
