package tollgate_test

import (
	"regexp"
	"strings"
	"testing"
)

// TestMakeTest checks that make test does everything that a fresh machine needs, and that CI runs it. The linter, the
// program and the benchmarks share compiled packages, since all are built with the same flags and tags.
func TestMakeTest(t *testing.T) {
	t.Parallel()
	makes := page(t, "Makefile")
	found := regexp.MustCompile(`(?m)^TAGS +:= (\S+)$`).FindStringSubmatch(makes)
	if found == nil {
		t.Fatal("Makefile has no line TAGS := ...")
	}
	tags := found[1]
	for _, line := range []string{
		`test: deps lint build( ##.*)?`,
		`deps:( ##.*)?\n\t\.tools/debian\.sh\n\tgo mod download\n\t\$\(MAKE\) \$\(TOOLS\) \$\(CLIENTS\)`,
		`export GOFLAGS +:= -buildvcs=false -trimpath -tags=\$\(TAGS\)`,
		`export CGO_ENABLED +:= 0`,
	} {
		if !regexp.MustCompile(`(?m)^` + line + `$`).MatchString(makes) {
			t.Errorf("Makefile has no line %s", line)
		}
	}
	if !regexp.MustCompile(`(?m)^make test$`).MatchString(page(t, ".ci/run")) {
		t.Error(".ci/run does not call make test")
	}
	for _, name := range []string{"cmd/tollgate/e2e/main.go", "cmd/bench/process/binary.go"} {
		builds := regexp.MustCompile(`"go", "build", "-buildvcs=false", "-trimpath",\s+"-tags", "` + regexp.QuoteMeta(tags) + `",`)
		if !builds.MatchString(page(t, name)) {
			t.Errorf("%s does not build with the Makefile's flags and the tags %s", name, tags)
		}
	}
	lint := "  build-tags:\n    - " + strings.ReplaceAll(tags, ",", "\n    - ") + "\n\n"
	if !strings.Contains(page(t, ".golangci.yml"), lint) {
		t.Errorf(".golangci.yml does not have the tags %s", tags)
	}
}
