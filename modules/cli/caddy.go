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

// This file adapts Caddy's commands to this program: they use its name, check the environment before they start, and
// find the server of the Caddyfile in the working directory. The registration of a command with Caddy cannot be
// undone. So the function adopt changes Caddy's commands where they are: below the root command, which also has our
// commands.

func init() {
	caddy.CustomBinaryName = "tollgate"
	caddy.CustomLongDescription = `Tollgate is an edge gateway: Caddy with modules for token checks, request budgets, a
model gateway, a discussion board, run events, an authorization server, a CMS and an
answer API.

	$ tollgate run

runs the server in the foreground with the Caddyfile of the working directory, or with
the file that --config names. 'tollgate start' runs it in the background, and 'tollgate
reload' makes a running server load a changed file without interrupting requests.
'tollgate backup' and 'tollgate restore' copy its data.

The configuration is a Caddyfile, with the directives and options of Tollgate beside
those of Caddy, or JSON. Commands reach a running server at its admin endpoint: a Unix
socket in the example files, and localhost:2019 if the configuration names none.
`
}

// documentation is the address of the commands' documentation.
const documentation = "github.com/tollgate-gateway/tollgate/blob/main/docs/reference/command-line.md"

// removedCommands are Caddy's commands that would replace this binary with a binary without our modules.
var removedCommands = []string{"upgrade", "add-package", "remove-package"}

// configCommands are Caddy's commands that take a configuration file, which only the option --config can name.
var configCommands = []string{"run", "start", "reload", "stop", "validate", "adapt", "trust", "untrust"}

// noFile refuses arguments. Caddy would silently ignore them: "run other.caddy" would run the Caddyfile in the working
// directory.
func noFile(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%s takes no argument, but was given %q; to name a file, run: %s --config %s",
		cmd.CommandPath(), args[0], cmd.CommandPath(), args[0])
}

// previousCommand is the one of our commands that was registered last. Its root command is the root that the function
// adopt changes. Before Caddy runs a command, it calls the functions that set up all commands, one after the other.
var previousCommand *cobra.Command

// recordCommand records the registration of one of our commands. When our second command is registered, Caddy's
// commands are already below the root, so recordCommand then calls adopt.
func recordCommand(cmd *cobra.Command) {
	if previousCommand != nil && previousCommand.HasParent() && previousCommand.Root().Annotations[adopted] == "" {
		adopt(previousCommand.Root())
	}
	previousCommand = cmd
}

// adopted is the annotation of a root command that adopt has changed.
const adopted = "tollgate"

// adopt changes Caddy's commands below root, as described at the beginning of this file.
func adopt(root *cobra.Command) {
	root.Annotations = map[string]string{adopted: "yes"}
	root.Short = "Edge gateway for model APIs and web services"
	root.SetHelpTemplate(strings.Replace(root.HelpTemplate(), "caddyserver.com/docs/command-line", documentation, 1))
	var rename func(cmd *cobra.Command)
	rename = func(cmd *cobra.Command) {
		cmd.Short, cmd.Example = useOwnName(cmd.Short), useOwnName(cmd.Example)
		if cmd != root { // the long text of the root is written for this program
			cmd.Long = useOwnName(cmd.Long)
		}
		for _, c := range cmd.Commands() {
			rename(c)
		}
	}
	rename(root)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w; see: %s --help", err, cmd.CommandPath())
	})
	cobra.OnInitialize(func() { showUsage(root) }) // at that time all commands are registered
	for _, cmd := range root.Commands() {
		switch name := cmd.Name(); {
		case slices.Contains(removedCommands, name):
			root.RemoveCommand(cmd)
		case name == "run" || name == "start":
			cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return lookAhead(cmd) }
		case slices.Contains([]string{"stop", "reload", "trust", "untrust"}, name):
			cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return useCaddyfile(cmd) }
		case name == "validate":
			cmd.RunE = validate
		case name == "manpage":
			cmd.RunE = manual
		}
		if slices.Contains(configCommands, cmd.Name()) {
			cmd.Args = noFile
		}
		if slices.Contains([]string{"run", "reload", "stop", "validate", "adapt"}, cmd.Name()) {
			cmd.RunE = withExplanation(cmd.RunE)
		}
	}
}

// showUsage makes a command and its subcommands print their usage if their arguments are wrong.
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

// caddyName matches Caddy's name. It also matches longer texts with the name, so that useOwnName can leave them
// unchanged.
var caddyName = regexp.MustCompile(`\bcaddy\b|\bCaddy\b('s)?|https://caddyserver\.com/\S+|xcaddy`)

// useOwnName replaces Caddy's name with the name of this program, except where the text really means Caddy, its formats
// or its website.
func useOwnName(text string) string {
	return caddyName.ReplaceAllStringFunc(text, func(match string) string {
		switch match {
		case "caddy":
			return "tollgate"
		case "Caddy":
			return "Tollgate"
		}
		return match
	})
}

// useCaddyfile makes a command that controls a running server find the admin endpoint through the Caddyfile in the
// working directory, unless --config or --address is given.
func useCaddyfile(cmd *cobra.Command) error {
	flags := cmd.Flags()
	if flags.Lookup("config") == nil || flags.Changed("config") || flags.Changed("address") {
		return nil
	}
	if _, err := os.Stat("Caddyfile"); err != nil {
		return nil // the command then uses the default address
	}
	return flags.Set("config", "Caddyfile")
}
