package cli

import (
	"fmt"
	"os"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/modules/directive"
)

// withExplanation makes a Caddy command end with one plain sentence if it fails. Caddy itself logs the error with all
// its wrapping.
func withExplanation(run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		if err != nil {
			if sentence := explain(cmd, err); sentence != "" {
				cmd.PrintErrln("Error:", sentence)
			}
		}
		return err
	}
}

// explain returns a sentence about an error. The sentence names the line of the Caddyfile that the error is about, or
// says that no server is running. explain returns "" if the error needs no explanation.
func explain(cmd *cobra.Command, err error) string {
	if match := noAnswerPattern.FindStringSubmatch(err.Error()); match != nil {
		return fmt.Sprintf(
			"no server answers at the admin endpoint %s: run this command in the folder of the server's Caddyfile, or name the file with --config; "+
				"if the server uses another endpoint than the file says, name it with --address", match[1])
	}
	config, _ := cmd.Flags().GetString("config")
	adapter, _ := cmd.Flags().GetString("adapter")
	if config == "" {
		config = "Caddyfile"
	}
	if adapter != "" && adapter != "caddyfile" {
		return ""
	}
	text, readErr := os.ReadFile(config)
	if readErr != nil {
		return ""
	}
	return directive.Explain(config, text, err)
}

// noAnswerPattern matches the error of a command that found no running server at the admin endpoint.
var noAnswerPattern = regexp.MustCompile(
	`performing request: .*dial (?:tcp|unix) (\S+): connect: (?:connection refused|no such file or directory)`)
