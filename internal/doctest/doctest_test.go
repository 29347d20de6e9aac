package doctest_test

import (
	"reflect"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/doctest"
)

const page = "# A page\n\n`Caddyfile`:\n\n```caddyfile site\nrespond ok\n```\n\n1. In a list:\n\n   <!-- not run: it needs a domain -->\n   ```sh\n   echo a\n   echo b\n   ```\n\n" +
	"```console\n$ echo a \\\n  b\na b\n$ true\n$ echo\n\n```\nThe end.\n"

func TestBlocks(t *testing.T) {
	t.Parallel()
	blocks, rest := doctest.Blocks(page)
	want := []doctest.Block{
		{Info: "caddyfile site", Text: "respond ok\n", Line: 5, File: "Caddyfile"},
		{Info: "sh", Text: "echo a\necho b\n", Line: 12, Note: "not run: it needs a domain"},
		{Info: "console", Text: "$ echo a \\\n  b\na b\n$ true\n$ echo\n\n", Line: 17},
	}
	if !reflect.DeepEqual(blocks, want) {
		t.Errorf("blocks: %+v", blocks)
	}
	if want := "# A page\n\n`Caddyfile`:\n\n\n1. In a list:\n\n   <!-- not run: it needs a domain -->\n\nThe end.\n"; rest != want {
		t.Errorf("around them: %q", rest)
	}
	if reason, ok := blocks[1].NotRun(); !ok || reason != "it needs a domain" {
		t.Errorf("not run: %q", reason)
	}
	if _, ok := blocks[2].NotRun(); ok {
		t.Error("not run without a reason")
	}
}

func TestSteps(t *testing.T) {
	t.Parallel()
	blocks, _ := doctest.Blocks(page)
	want := []doctest.Step{
		{Command: "echo a \\\n  b", Prints: "a b\n", Shown: true},
		{Command: "true"},
		{Command: "echo", Prints: "\n", Shown: true},
	}
	if steps := blocks[2].Steps(); !reflect.DeepEqual(steps, want) {
		t.Errorf("session: %+v", steps)
	}
	if steps := blocks[1].Steps(); !reflect.DeepEqual(steps, []doctest.Step{{Command: "echo a\necho b"}}) {
		t.Errorf("script: %+v", steps)
	}
	if steps := blocks[0].Steps(); steps != nil {
		t.Errorf("configuration: %+v", steps)
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		shown, printed string
		among, want    bool
	}{
		"the same":              {shown: "a\nb\n", printed: "a\nb\n", want: true},
		"spaces at ends":        {shown: "a\nb\n", printed: "a  \nb\n\n", want: true},
		"a line more":           {shown: "a\n", printed: "a\nb\n"},
		"a line less":           {shown: "a\nb\n", printed: "a\n"},
		"among":                 {shown: "b\n", printed: "a\nb\nc\n", among: true, want: true},
		"among, not whole":      {shown: "b\n", printed: "a\nbb\n", among: true},
		"a key":                 {shown: "Key: ak-0000   (once)\n", printed: "Key: ak-Zz9   (once)\n", want: true},
		"no key":                {shown: "Key: ak-0000\n", printed: "Key: none\n"},
		"another kind of id":    {shown: "gk_0000\n", printed: "pk_0000\n"},
		"a moment":              {shown: "at 2026-11-22 19:05:44Z\n", printed: "at 2027-01-01 00:00:00Z\n", want: true},
		"a password":            {shown: "CT6ZWP7QICCR7MYLLWBS\n", printed: "AAAAAAAAAAAAAAAAAAAA\n", want: true},
		"rest of a line":        {shown: "{\"a\":1,…\n", printed: "{\"a\":1,\"b\":2}\n", want: true},
		"middle of a line":      {shown: "a…d\n", printed: "abcd\n", want: true},
		"not over lines":        {shown: "a…d\n", printed: "ab\ncd\n"},
		"any lines":             {shown: "a\n…\nd\n", printed: "a\nb\nc\nd\n", want: true},
		"no lines":              {shown: "a\n…\nd\n", printed: "a\nd\n", want: true},
		"any lines at the end":  {shown: "a\n…\n", printed: "a\nb\n", want: true},
		"no pattern of its own": {shown: "a.c [x]*\n", printed: "abc xx\n"},
		"nothing":               {shown: "\n", printed: "", want: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := doctest.Match(test.shown, test.printed, test.among); (err == nil) != test.want {
				t.Errorf("matches: %t, want %t: %v", err == nil, test.want, err)
			}
		})
	}
}
