package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// manual replaces Caddy's command manpage, which writes the name Caddy in the headers of its pages.
func manual(cmd *cobra.Command, _ []string) error {
	dir, err := cmd.Flags().GetString("directory")
	if err != nil {
		return err
	}
	if dir = strings.TrimSpace(dir); dir == "" {
		return errors.New("--directory is missing: name the folder to write the manual pages to")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // manual pages are for everybody
		return fmt.Errorf("creating the folder of the manual pages: %w", err)
	}
	return writeManual(cmd.Root(), dir)
}

// writeManual writes a manual page for each command into a folder. It changes the usage lines of the commands, which
// must not be used afterwards.
func writeManual(root *cobra.Command, dir string) error {
	escape(root)
	// An empty title stands for the name of the command in capitals.
	return doc.GenManTree(root, &doc.GenManHeader{Section: "8", Source: "Tollgate", Manual: "Tollgate Manual"}, dir)
}

// escape escapes words in angle brackets, because the writer of manual pages would read them as HTML.
func escape(cmd *cobra.Command) {
	cmd.Use = strings.ReplaceAll(cmd.Use, "<", `\<`)
	for _, child := range cmd.Commands() {
		escape(child)
	}
}
