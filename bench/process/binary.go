package process

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Binary returns the path of the server to measure: the program in TOLLGATE_BIN, or a program that it builds into dir
// with the flags of the Makefile.
func Binary(ctx context.Context, dir string) (string, error) {
	if path := os.Getenv("TOLLGATE_BIN"); path != "" {
		path, err := filepath.Abs(path)
		if err == nil {
			_, err = os.Stat(path) //nolint:gosec // whoever runs the bench may name any program
		}
		if err != nil {
			return "", fmt.Errorf("TOLLGATE_BIN: %w", err)
		}
		return path, nil
	}
	path := filepath.Join(dir, "tollgate")
	build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-trimpath", "-tags", "nobadger,nomysql,nopgx", //nolint:gosec // path is ours
		"-o", path, "github.com/tollgate-gateway/tollgate/cmd/tollgate")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the server: %w\n%s", err, out)
	}
	return path, nil
}
