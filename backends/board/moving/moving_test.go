package moving

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/password"
)

func TestXenForoHash(t *testing.T) {
	t.Parallel()
	const sum = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
	for name, test := range map[string]struct{ scheme, data, want string }{
		"bcrypt":     {"XF:Core12", `a:1:{s:4:"hash";s:3:"$2y";}`, "$2y"},
		"JSON":       {"XF:Core12", `{"hash":"$2y"}`, "$2y"},
		"of 1":       {"XenForo_Authentication_Core12", `a:1:{s:4:"hash";s:3:"$2y";}`, "$2y"},
		"sha256":     {"XF:Core", `a:3:{s:4:"hash";s:64:"` + sum + `";s:4:"salt";s:2:"ab";s:8:"hashFunc";s:6:"sha256";}`, "$salted$sha256$YWI$ABEiM0RVZneImaq7zN3u/wARIjNEVWZ3iJmqu8zd7v8"},
		"sha1":       {"XF:Core", `a:3:{s:4:"hash";s:4:"abcd";s:4:"salt";s:2:"ab";s:8:"hashFunc";s:4:"sha1";}`, "$salted$sha1$YWI$q80"},
		"vBulletin":  {"XF:vBulletin", `a:2:{s:4:"hash";s:4:"abcd";s:4:"salt";s:2:"ab";}`, "$salted$md5$YWI$q80"},
		"MyBB":       {"XF:MyBb", `a:2:{s:4:"hash";s:4:"abcd";s:4:"salt";s:2:"ab";}`, "$salted$mybb$YWI$q80"},
		"no hash":    {"XF:vBulletin", `a:1:{s:4:"salt";s:2:"ab";}`, ""},
		"none":       {"XF:NoPassword", `a:0:{}`, ""},
		"broken":     {"XF:Core12", `a:1:{s:4:"hash";s:30:"$2y";}`, ""},
		"negative":   {"XF:Core12", `a:1:{s:-4:"hash";s:3:"$2y";}`, ""},
		"not digits": {"XF:Core", `a:1:{s:4:"hash";s:2:"xy";}`, ""},
	} {
		if got := xfHash(test.scheme, test.data); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func FuzzXenForoHash(f *testing.F) {
	f.Add("XF:Core12", `a:1:{s:4:"hash";s:3:"$2y";}`)
	f.Add("XF:Core", `{"hash":"$2y"}`)
	f.Fuzz(func(_ *testing.T, scheme, data string) { _ = password.Known(xfHash(scheme, data)) })
}

// FuzzImport checks that readers fail with an error only, never with a panic, whatever the dump contains, and that what
// they read can be converted.
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
