package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	_ "github.com/tollgate-gateway/tollgate/modules/keyring/aes"
	_ "github.com/tollgate-gateway/tollgate/modules/storage/sqlite"
)

func TestCell(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                 "-",
		"plain äöü":                        "plain äöü",
		"a\x1b[31mred\tb\n":                "a?[31mred?b?",
		strings.Repeat("ä", 80):            strings.Repeat("ä", 80),
		strings.Repeat("ä", 79) + "\x00xy": strings.Repeat("ä", 79) + "…",
	} {
		if got := Cell(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := Plain("\x07" + strings.Repeat("x", 100)); got != "?"+strings.Repeat("x", 100) {
		t.Errorf("%q", got)
	}
}

// run executes a command line whose subcommand "do" calls work, and returns the texts written to stdout and stderr. The
// command reads the Caddyfile of the current folder if there is one.
func run(t *testing.T, work func(s *Session, cmd *cobra.Command, args []string) error, args ...string) (out, notes string, err error) {
	t.Helper()
	f := new(Flags)
	root := &cobra.Command{Use: "tool", SilenceUsage: true, SilenceErrors: true}
	f.Add(root)
	subcommand := &cobra.Command{Use: "do", RunE: f.Run(work)}
	subcommand.Flags().String("must", "", "")
	Required(subcommand, "must")
	Group(root, subcommand)
	var stdout, stderr bytes.Buffer
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	root.SetArgs(args)
	err = root.ExecuteContext(t.Context())
	return stdout.String(), stderr.String(), err
}

// The tests below do not run in parallel: commands set Caddy's default logger.

func TestAnswers(t *testing.T) { // not parallel: see above
	t.Chdir(t.TempDir())
	answer := func(s *Session, _ *cobra.Command, args []string) error {
		s.Note("%d args", len(args))
		return s.Table(map[string]any{"list": List[int](nil), "text": "<&>"}, func(w io.Writer) {
			Row(w, "NAME", "GOOD")
			Row(w, "a long name", Yes(true))
			Row(w, "", Yes(false))
		})
	}
	out, notes, err := run(t, answer, "do", "x", "--must", "1")
	if want := "NAME         GOOD\na long name  yes\n-            no\n"; err != nil || out != want || notes != "1 args\n" {
		t.Errorf("%q, notes %q, error %v", out, notes, err)
	}
	out, _, err = run(t, answer, "do", "--must", "1", "--json")
	if want := "{\n  \"list\": [],\n  \"text\": \"<&>\"\n}\n"; err != nil || out != want {
		t.Errorf("%q, error %v", out, err)
	}
	if files, err := os.ReadDir("."); err != nil || len(files) > 0 {
		t.Errorf("it has made %v (%v)", files, err)
	}
}

func TestErrors(t *testing.T) { // not parallel: see above
	t.Chdir(t.TempDir())
	if err := os.WriteFile("bad.json", []byte(`{"apps":{"tollgate":{"nothing":1}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	own := errors.New("own")
	for want, c := range map[string]struct {
		work error
		args string
	}{
		"the plain message":                       {apierror.New(404, "not_found", "the plain message"), "do --must 1"},
		"own":                                     {own, "do --must 1"},
		`required flag(s) "must"`:                 {nil, "do"},
		`unknown command "undo"`:                  {nil, "undo"},
		"reading the configuration":               {nil, "do --must 1 -c none.json"},
		"there is no configuration adapter \"x\"": {nil, "do --must 1 -c bad.json -a x"},
		`unknown field "nothing"`:                 {nil, "do --must 1 -c bad.json"},
	} {
		out, _, err := run(t, func(*Session, *cobra.Command, []string) error { return c.work }, strings.Fields(c.args)...)
		if err == nil || !strings.Contains(err.Error(), want) || out != "" {
			t.Errorf("%s: %q, error %v, want %q", c.args, out, err, want)
		}
		if want == "the plain message" && err.Error() != want {
			t.Errorf("a refusal is printed as %q", err)
		}
	}
	out, _, err := run(t, nil)
	if err != nil || !strings.Contains(out, "--config") {
		t.Errorf("alone: %q, error %v", out, err)
	}
}

// TestCancelled checks that a signal ends a running command.
func TestCancelled(t *testing.T) { // not parallel: see above
	t.Chdir(t.TempDir())
	_, _, err := run(t, func(s *Session, _ *cobra.Command, _ []string) error {
		process, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = process.Signal(os.Interrupt)
		}
		if err != nil {
			return err
		}
		<-s.Ctx.Done()
		return s.Ctx.Err()
	}, "do", "--must", "1")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
