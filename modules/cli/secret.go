package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/tollgate-gateway/tollgate/internal/password"
)

// NewPassword generates a password, or reads one from standard input. generated is empty if the password was read. An
// empty password is allowed.
func NewPassword(cmd *cobra.Command, generate bool) (text, generated string, err error) {
	if generate {
		generated = password.Generate()
		return generated, generated, nil
	}
	text, err = ReadSecret(cmd, "password")
	return text, "", err
}

// MaxSecret is the limit for ReadSecret, in bytes.
const MaxSecret = 4096

// ReadSecret reads a secret, such as a provider key, from standard input, without echo on a terminal. It strips the
// line break at the end. name is the secret's name in the prompt and in errors. An empty secret is allowed.
func ReadSecret(cmd *cobra.Command, name string) (string, error) {
	var text []byte
	var err error
	if file, ok := cmd.InOrStdin().(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "%s (not shown): ", strings.ToUpper(name[:1])+name[1:])
		text, err = term.ReadPassword(int(file.Fd()))
		_, _ = io.WriteString(cmd.ErrOrStderr(), "\n")
	} else {
		text, err = io.ReadAll(io.LimitReader(cmd.InOrStdin(), MaxSecret+1))
	}
	if err != nil {
		return "", fmt.Errorf("reading the %s: %w", name, err)
	}
	if len(text) > MaxSecret {
		return "", fmt.Errorf("the %s has more than %d bytes", name, MaxSecret)
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}
