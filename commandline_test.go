package tollgate_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var updateCommands = flag.Bool("update", false, "write docs/reference/command-line.md anew from the help of the commands")

// documentedCommands are the commands of the page, in its order.
var documentedCommands = []string{
	"keychain", "board", "cms", "events", "authserver", "answer", "keyring", "backup", "restore", "move", "scripted-model",
}

// commandLinePage is the page that TestDocumentCommands writes with -update: everything from the first command on.
const commandLinePage = "docs/reference/command-line.md"

// TestDocumentCommands checks that the page of the command line is the help of the commands.
func TestDocumentCommands(t *testing.T) {
	t.Parallel()
	text := page(t, commandLinePage)
	head, _, found := strings.Cut(text, "\n## `tollgate "+documentedCommands[0]+"`\n")
	if !found {
		t.Fatalf("%s has no `tollgate %s`", commandLinePage, documentedCommands[0])
	}
	var b strings.Builder
	b.WriteString(head)
	for _, name := range documentedCommands {
		c := command(name)
		if c == nil {
			t.Fatalf("there is no command %s", name)
		}
		describe(&b, c, "tollgate "+name, 2)
	}
	if *updateCommands {
		if err := os.WriteFile(commandLinePage, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, got := strings.Split(b.String(), "\n"), strings.Split(text, "\n")
	for i := range min(len(want), len(got)) {
		if want[i] != got[i] {
			t.Fatalf("%s:%d: %q, the help says %q: write it anew with go test -run TestDocumentCommands . -update", commandLinePage, i+1, got[i], want[i])
		}
	}
	if len(want) != len(got) {
		t.Errorf("%s has %d lines, the help of the commands %d: write it anew with go test -run TestDocumentCommands . -update", commandLinePage, len(got), len(want))
	}
	if n := strings.Count(text, "\n#"); n < 100 {
		t.Errorf("only %d commands", n)
	}
}

// describe writes the section of a command, with a heading of a level, and those of its subcommands.
func describe(b *strings.Builder, c *cobra.Command, path string, level int) {
	fmt.Fprintf(b, "\n%s `%s`\n\n", strings.Repeat("#", level), path)
	long := strings.TrimSpace(c.Long)
	if long == "" {
		long = c.Short + "."
	}
	b.WriteString(marked(long) + "\n")
	if c.HasSubCommands() {
		b.WriteString("\n| Command | |\n|---|---|\n")
		for _, sub := range c.Commands() {
			anchor := strings.ReplaceAll(path+" "+sub.Name(), " ", "-")
			fmt.Fprintf(b, "| [`%s`](#%s) | %s |\n", sub.Name(), anchor, cell(sub.Short))
		}
	} else {
		_, usage, _ := strings.Cut(c.Use, " ")
		fmt.Fprintf(b, "\n```text\n%s\n```\n", strings.TrimSpace(path+" "+usage))
	}
	if c.Example != "" {
		fmt.Fprintf(b, "\n```text\n%s\n```\n", strings.TrimSpace(c.Example))
	}
	rows := ""
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" || f.Hidden {
			return
		}
		name, usage := "`--"+f.Name, f.Usage
		if kind := f.Value.Type(); kind != "bool" {
			name += " <" + kind + ">"
		}
		name += "`"
		if f.Shorthand != "" {
			name += ", `-" + f.Shorthand + "`"
		}
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" && f.DefValue != "0" && !strings.Contains(usage, "(default") {
			usage += " (default: " + f.DefValue + ")"
		}
		rows += "| " + name + " | " + cell(usage) + " |\n"
	})
	if rows != "" {
		b.WriteString("\n| Flag | |\n|---|---|\n" + rows)
	}
	for _, sub := range c.Commands() {
		describe(b, sub, path+" "+sub.Name(), min(level+1, 4))
	}
}

// code matches what a help text has in quotes, and what Markdown would read as HTML.
var code = regexp.MustCompile(`'(tollgate [^']+)'|[^\s(]*<[^>\s]+>[^\s,.;:)]*`)

// marked returns a help text as Markdown.
func marked(text string) string {
	return code.ReplaceAllStringFunc(text, func(found string) string { return "`" + strings.Trim(found, "'") + "`" })
}

// cell returns a help text as a cell of a table.
func cell(text string) string { return strings.ReplaceAll(marked(text), "|", `\|`) }
