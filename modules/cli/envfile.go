package cli

import (
	"os"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"
)

// loadEnvironment loads the files of the flag --envfile before the command runs. Caddy reads these files only within
// its commands. So Caddy's command environ is run to read them, and its output is discarded.
func loadEnvironment(cmd *cobra.Command) error {
	flag := cmd.Flags().Lookup("envfile")
	if flag == nil || !flag.Changed {
		return nil
	}
	files, err := cmd.Flags().GetStringSlice("envfile")
	if err != nil {
		return err
	}
	environ := new(cobra.Command)
	caddycmd.Commands()["environ"].CobraFunc(environ)
	for _, file := range files {
		if err := environ.Flags().Set("envfile", file); err != nil {
			return err
		}
	}
	devNull, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	stdout := os.Stdout
	os.Stdout = devNull
	defer func() {
		os.Stdout = stdout
		_ = devNull.Close()
	}()
	return environ.RunE(environ, nil)
}
