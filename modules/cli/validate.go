package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/caddyserver/caddy/v2"
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"
)

// validate works like Caddy's command but leaves no files behind: the certificates, keys and logs of a loaded
// configuration are created in a temporary folder.
func validate(cmd *cobra.Command, args []string) error {
	if err := loadEnvironment(cmd); err != nil {
		return err
	}
	return caddycmd.WrapCommandFuncForCobra(func(flags caddycmd.Flags) (int, error) {
		if err := validateFile(flags.String("config"), flags.String("adapter")); err != nil {
			return caddy.ExitCodeFailedStartup, err
		}
		_, _ = fmt.Fprintln(cmd.OutOrStdout(), "Valid configuration")
		return caddy.ExitCodeSuccess, nil
	})(cmd, args)
}

// validateFile returns an error if a configuration file cannot be loaded. An empty name means ./Caddyfile.
func validateFile(file, adapter string) error {
	if file == "" {
		if _, err := os.Stat("Caddyfile"); err != nil {
			return errors.New("there is no Caddyfile in the working directory: name a file with --config")
		}
		file = "Caddyfile"
	}
	text, _, _, err := caddycmd.LoadConfig(file, adapter)
	if err != nil {
		return err
	}
	var config *caddy.Config
	if err := caddy.StrictUnmarshalJSON(caddy.RemoveMetaFields(text), &config); err != nil {
		return fmt.Errorf("decoding the configuration: %w", err)
	}
	tempFolder, err := os.MkdirTemp("", "tollgate-validate-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tempFolder) }()
	if err := redirectFiles(config, tempFolder); err != nil {
		return err
	}
	return caddy.Validate(config)
}

// redirectFiles changes a configuration so that loading it writes files only to the given folder. Storage modules other
// than file_system are not changed.
func redirectFiles(config *caddy.Config, folder string) error {
	if config == nil {
		return nil
	}
	var storage struct {
		Module string `json:"module"`
	}
	if config.StorageRaw != nil {
		if err := json.Unmarshal(config.StorageRaw, &storage); err != nil {
			return fmt.Errorf("storage: %w", err)
		}
	}
	if storage.Module == "" || storage.Module == "file_system" {
		raw, err := json.Marshal(map[string]string{"module": "file_system", "root": folder})
		if err != nil {
			return err
		}
		config.StorageRaw = raw
	}
	if config.Logging == nil {
		return nil
	}
	for name, log := range config.Logging.Logs {
		var writer map[string]any
		if log.WriterRaw == nil || json.Unmarshal(log.WriterRaw, &writer) != nil || writer["output"] != "file" {
			continue
		}
		// Only the file is replaced. The log keeps its other settings, because modules check which headers the log would
		// show.
		writer["filename"] = filepath.Join(folder, url.PathEscape(name)+".log")
		raw, err := json.Marshal(writer)
		if err != nil {
			return err
		}
		log.WriterRaw = raw
	}
	return nil
}
