package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// manual replaces Caddy's command manpage, whose pages have the name of Caddy at their heads.
func manual(cmd *cobra.Command, _ []string) error {
	dir, err := cmd.Flags().GetString("directory")
	if err != nil {
		return err
	}
	if dir = strings.TrimSpace(dir); dir == "" {
		return errors.New("--directory is missing: name the folder that the manual pages are written to")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // manual pages are for everybody
		return fmt.Errorf("making the folder of the manual pages: %w", err)
	}
	return writeManual(cmd.Root(), dir)
}

// writeManual writes a page for each command into a folder. It changes how the commands say that
// they are used, and is the last thing that a process does with them.
func writeManual(root *cobra.Command, dir string) error {
	escape(root)
	// An empty title is the name of the command in capitals.
	return doc.GenManTree(root, &doc.GenManHeader{Section: "8", Source: "Tollgate", Manual: "Tollgate Manual"}, dir)
}

// escape keeps words in angle brackets, which the writer of manual pages takes for HTML.
func escape(cmd *cobra.Command) {
	cmd.Use = strings.ReplaceAll(cmd.Use, "<", `\<`)
	for _, child := range cmd.Commands() {
		escape(child)
	}
}
