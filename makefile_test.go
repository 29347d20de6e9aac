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
	for _, name := range []string{"cmd/tollgate/e2e/main.go", "bench/process/binary.go"} {
		builds := regexp.MustCompile(`"go", "build", "-buildvcs=false", "-trimpath",\s+"-tags", "` + regexp.QuoteMeta(tags) + `",`)
		if !builds.MatchString(page(t, name)) {
			t.Errorf("%s does not build with the Makefile's flags and the tags %s", name, tags)
		}
	}
	for _, line := range []string{
		`	\(cd bench && \$\(RACE\) \./\.\.\.\) \|\| status=1; \\`, // test
		`	cd bench && \.\./\$\(LINT\) run --config \.\./\.golangci\.yml \./\.\.\.`,
	} {
		if !regexp.MustCompile(`(?m)^(?:` + line + `)$`).MatchString(makes) {
			t.Errorf("Makefile has no line %s: the benchmarks are a module of their own", line)
		}
	}
	lint := "  build-tags:\n    - " + strings.ReplaceAll(tags, ",", "\n    - ") + "\n\n"
	if !strings.Contains(page(t, ".golangci.yml"), lint) {
		t.Errorf(".golangci.yml does not have the tags %s", tags)
	}
}

// TestBenchModule checks that the module of the benchmarks requires the same versions as the gateway's, and that both
// have what they share from this tree.
func TestBenchModule(t *testing.T) {
	t.Parallel()
	required := regexp.MustCompile(`(?m)^\s(\S+\.\S+/\S+) (v\S+)`)
	versions := map[string]string{}
	for _, match := range required.FindAllStringSubmatch(page(t, "go.mod"), -1) {
		versions[match[1]] = match[2]
	}
	module := page(t, "bench/go.mod")
	shared := 0
	for _, match := range required.FindAllStringSubmatch(module, -1) {
		switch version, ok := versions[match[1]]; {
		case !ok:
		case version != match[2]:
			t.Errorf("bench/go.mod has %s %s, go.mod has %s: run go mod tidy in bench", match[1], match[2], version)
		default:
			shared++
		}
	}
	if shared < 10 {
		t.Errorf("only %d modules are in bench/go.mod and in go.mod: they are not found any more", shared)
	}
	if !strings.Contains(module, "\nreplace github.com/tollgate-gateway/tollgate => ../\n") {
		t.Error("bench/go.mod does not take the gateway from this tree")
	}
	if !strings.Contains(page(t, "bench/go.work"), "use (\n\t.\n\t..\n)") {
		t.Error("bench/go.work does not use both modules, so that they would not share compiled packages")
	}
}
