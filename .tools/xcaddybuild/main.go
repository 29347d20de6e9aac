// Command xcaddybuild builds the gateway with xcaddy from the recipe in
// xcaddy.json, then checks that the binary lists every module of the recipe. It
// runs at the top of the repository; `make xcaddy` calls it.
//
// xcaddy resolves the dependencies again, in a temporary module. go.mod lists a version
// for each dependency, so xcaddy chooses the same versions and needs no pins.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// timeout bounds the download and the build together.
const timeout = 20 * time.Minute

// recipe is xcaddy.json.
type recipe struct {
	// Caddy is the version of Caddy to build, such as "v2.11.9".
	Caddy string `json:"caddy"`

	// Packages are the Go packages to link in. The module of this repository
	// comes from the working tree. Other packages are written as "path" or
	// "path@version", and go downloads them.
	Packages []string `json:"packages"`

	// Modules are the ids of the Caddy modules that the packages register.
	Modules []string `json:"modules"`
}

func main() {
	xcaddy := flag.String("xcaddy", ".tools/bin/xcaddy", "xcaddy binary")
	out := flag.String("out", "bin/tollgate-xcaddy", "binary to write")
	tags := flag.String("tags", "", "build tags, separated by commas")
	ldflags := flag.String("ldflags", "", "linker flags")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	err := run(ctx, *xcaddy, *out, *tags, *ldflags)
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "xcaddybuild:", err)
		os.Exit(1)
	}
}

// run builds out and checks it.
func run(ctx context.Context, xcaddy, out, tags, ldflags string) error {
	body, err := os.ReadFile("xcaddy.json")
	if err != nil {
		return err
	}
	var r recipe
	if err := json.Unmarshal(body, &r); err != nil {
		return fmt.Errorf("reading xcaddy.json: %w", err)
	}
	if out, err = filepath.Abs(out); err != nil {
		return err
	}
	local, err := modulePath()
	if err != nil {
		return err
	}

	args := []string{"build", r.Caddy, "--output", out}
	for _, pkg := range r.Packages {
		if pkg == local {
			// Without a version, xcaddy asks the module proxy for the latest version.
			// The replacement applies to the given version.
			pkg += "@v0.0.0=."
		}
		args = append(args, "--with", pkg)
	}
	build := exec.CommandContext(ctx, xcaddy, args...) //nolint:gosec // the developer's own recipe and tools
	build.Env = append(
		os.Environ(), "CGO_ENABLED=0",
		fmt.Sprintf("XCADDY_GO_BUILD_FLAGS=-trimpath -tags=%s -ldflags='%s'", tags, ldflags),
	)
	build.Stdout, build.Stderr = os.Stdout, os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("building with xcaddy: %w", err)
	}

	missing, err := missingModules(ctx, out, r.Modules)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s lacks the modules %s", out, strings.Join(missing, ", "))
	}
	fmt.Printf("%s has all %d modules of xcaddy.json\n", out, len(r.Modules))
	return nil
}

// missingModules returns the ids that the binary does not list.
func missingModules(ctx context.Context, binary string, ids []string) ([]string, error) {
	list, err := exec.CommandContext(ctx, binary, "list-modules").Output()
	if err != nil {
		return nil, fmt.Errorf("listing the modules of %s: %w", binary, err)
	}
	listed := strings.Fields(string(list))
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		return slices.Contains(listed, id)
	}), nil
}

// modulePath returns the path of the Go module in the working directory.
func modulePath() (string, error) {
	body, err := os.ReadFile("go.mod")
	if err != nil {
		return "", err
	}
	for line := range bytes.Lines(body) {
		if path, ok := bytes.CutPrefix(line, []byte("module ")); ok {
			return string(bytes.TrimSpace(path)), nil
		}
	}
	return "", errors.New("go.mod names no module")
}
