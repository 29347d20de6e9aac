package cli

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/spf13/cobra"
)

// Caddy's own commands are those of this program: they speak of it, look before they
// start, and find the server that the Caddyfile of the working directory is of. Caddy
// registers them for good, so they are changed where they hang: below the root that our
// commands get, too.

func init() {
	caddy.CustomBinaryName = "tollgate"
	caddy.CustomLongDescription = `Tollgate is an edge gateway: Caddy with modules for model gateways, budgets, tokens,
a discussion board, run events and an authorization server.

	$ tollgate run

serves what the file Caddyfile of the working directory says, or --config names, in the
foreground; 'tollgate start' does so in the background. 'tollgate reload' has a running
server take a changed file without an interruption. 'tollgate backup' and 'tollgate
restore' copy what it keeps.

The configuration is a Caddyfile with directives and options of Tollgate beside those of
Caddy, or JSON. A running server takes orders on its admin endpoint: on a Unix socket in
the example files, on localhost:2019 where the configuration has no other.
`
}

// documentation is where the commands are described.
const documentation = "github.com/tollgate-gateway/tollgate/blob/main/docs/reference/command-line.md"

// replaced would put another binary in the place of this one, without our modules.
var replaced = []string{"upgrade", "add-package", "remove-package"}

// configured take the file of a configuration, as an option alone.
var configured = []string{"run", "start", "reload", "stop", "validate", "adapt", "trust", "untrust"}

// noFile refuses arguments, which Caddy passes over in silence: "run other.caddy" would
// run the Caddyfile of the working directory.
func noFile(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%s takes no argument, not %q; a file is named so: %s --config %s", cmd.CommandPath(), args[0], cmd.CommandPath(), args[0])
}

// sibling is a command of ours that was made before; its root is the one that is adopted.
var sibling *cobra.Command

// joined notes a command of ours. Caddy's are below the root when the second one comes.
func joined(cmd *cobra.Command) {
	if sibling != nil && sibling.HasParent() && sibling.Root().Annotations[adopted] == "" {
		adopt(sibling.Root())
	}
	sibling = cmd
}

// adopted marks a root.
const adopted = "tollgate"

func adopt(root *cobra.Command) {
	root.Annotations = map[string]string{adopted: "yes"}
	root.Short = "Edge gateway for model APIs and web services"
	root.SetHelpTemplate(strings.Replace(root.HelpTemplate(), "caddyserver.com/docs/command-line", documentation, 1))
	var rename func(cmd *cobra.Command)
	rename = func(cmd *cobra.Command) {
		cmd.Short, cmd.Example = renamed(cmd.Short), renamed(cmd.Example)
		if cmd != root { // whose text is ours, and speaks of Caddy
			cmd.Long = renamed(cmd.Long)
		}
		for _, c := range cmd.Commands() {
			rename(c)
		}
	}
	rename(root)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w; see: %s --help", err, cmd.CommandPath())
	})
	cobra.OnInitialize(func() { showUsage(root) }) // when all commands are there
	for _, cmd := range root.Commands() {
		switch name := cmd.Name(); {
		case slices.Contains(replaced, name):
			root.RemoveCommand(cmd)
		case name == "run" || name == "start":
			cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return lookAhead(cmd) }
		case slices.Contains([]string{"stop", "reload", "trust", "untrust"}, name):
			cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return theirCaddyfile(cmd) }
		case name == "validate":
			cmd.RunE = validate
		case name == "manpage":
			cmd.RunE = manual
		}
		if slices.Contains(configured, cmd.Name()) {
			cmd.Args = noFile
		}
		if slices.Contains([]string{"run", "reload", "stop", "validate", "adapt"}, cmd.Name()) {
			cmd.RunE = explained(cmd.RunE)
		}
	}
}

// showUsage has a command that is given other arguments than it takes tell how it is used.
func showUsage(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return fmt.Errorf("%w; usage: %s", err, cmd.UseLine())
			}
			return nil
		}
	}
	for _, child := range cmd.Commands() {
		showUsage(child)
	}
}

var theirName = regexp.MustCompile(`\bcaddy\b|\bCaddy\b('s)?|https://caddyserver\.com/\S+|xcaddy`)

// renamed has a text of Caddy speak of this program, but for what is Caddy's own: its
// formats and its pages.
func renamed(text string) string {
	return theirName.ReplaceAllStringFunc(text, func(found string) string {
		switch found {
		case "caddy":
			return "tollgate"
		case "Caddy":
			return "Tollgate"
		}
		return found
	})
}

// theirCaddyfile has a command that orders a running server read where its admin endpoint
// is in the Caddyfile of the working directory, where nothing else is said.
func theirCaddyfile(cmd *cobra.Command) error {
	flags := cmd.Flags()
	if flags.Lookup("config") == nil || flags.Changed("config") || flags.Changed("address") {
		return nil
	}
	if _, err := os.Stat("Caddyfile"); err != nil {
		return nil //nolint:nilerr // then it is where it is without one
	}
	return flags.Set("config", "Caddyfile")
}
