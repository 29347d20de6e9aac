package tollgate_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
)

// TestPackageSources checks that the files that nfpm.yaml takes from the tree exist, and that build.sh makes those that
// it takes from the build.
func TestPackageSources(t *testing.T) {
	t.Parallel()
	built := page(t, "packaging/build.sh")
	count := 0
	for _, match := range regexp.MustCompile(`(?m)^ *(?:- src|postinstall|preremove|postremove): (\S+)$`).FindAllStringSubmatch(page(t, "packaging/nfpm.yaml"), -1) {
		count++
		if name, ok := strings.CutPrefix(match[1], "bin/dist/"); ok {
			name, _, _ = strings.Cut(name, "${ARCH}")
			name = strings.Replace(name, "_linux_", "_${target", 1) // one line of build.sh makes the files of all systems
			if !strings.Contains(built, "$dist/"+name) {
				t.Errorf("packaging/build.sh does not make %s", match[1])
			}
			continue
		}
		if _, err := os.Stat(match[1]); err != nil {
			t.Errorf("packaging/nfpm.yaml: %v", err)
		}
	}
	if count < 12 {
		t.Errorf("only %d sources: they are not found any more", count)
	}
}

// TestPackageCaddyfile checks that the Caddyfile of the package is formatted and loads, with its folders moved to where
// a test may write.
func TestPackageCaddyfile(t *testing.T) { // not parallel: loads a configuration into the process
	text := page(t, "packaging/Caddyfile")
	for _, path := range []string{"unix//run/tollgate/admin.sock", "/var/lib/tollgate/caddy", "/var/lib/tollgate/tollgate.db"} {
		if !strings.Contains(text, path) {
			t.Errorf("packaging/Caddyfile does not have %s", path)
		}
	}
	dir := t.TempDir()
	text = strings.NewReplacer("/var/lib/tollgate", dir, "/run/tollgate", dir).Replace(text)
	body, warnings, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(text), map[string]any{"filename": "Caddyfile"})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range warnings {
		t.Errorf("packaging/Caddyfile:%d: %s", w.Line, w.Message)
	}
	var config caddy.Config
	if err := json.Unmarshal(body, &config); err != nil {
		t.Fatal(err)
	}
	if err := caddy.Validate(&config); err != nil {
		t.Error(err)
	}
}

// TestPackageUnit checks that systemd accepts the unit, and that it names the folders and files of the package and the
// Caddyfile.
func TestPackageUnit(t *testing.T) {
	t.Parallel()
	const name = "packaging/tollgate.service"
	unit := page(t, name)
	packaged := page(t, "packaging/nfpm.yaml")
	for _, match := range regexp.MustCompile(`(?:[= -])(/(?:usr|etc)/[^\s]+)`).FindAllStringSubmatch(unit, -1) {
		if !strings.Contains(packaged, "dst: "+match[1]+"\n") {
			t.Errorf("%s: the package has no %s", name, match[1])
		}
	}
	_, admin, _ := strings.Cut(page(t, "packaging/Caddyfile"), "\tadmin ")
	admin, _, _ = strings.Cut(admin, "\n")
	if !strings.Contains(unit, "--address "+admin+" ") {
		t.Errorf("%s: a reload does not ask %s", name, admin)
	}
	if !strings.HasPrefix(page(t, "packaging/tollgate.sysusers"), "u tollgate ") || !strings.Contains(unit, "\nUser=tollgate\n") {
		t.Errorf("%s: the user is not that of tollgate.sysusers", name)
	}

	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("no systemd-analyze here")
	}
	// A program that is there stands in for the one that is not installed.
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "tollgate.service")
	unit = strings.ReplaceAll(unit, "/usr/bin/tollgate", self)
	unit = strings.Replace(unit, "man:tollgate(8) ", "", 1)
	if err := os.WriteFile(copied, []byte(unit), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), analyze, "verify", "--recursive-errors=no", copied).CombinedOutput()
	if err != nil || strings.Contains(string(out), "tollgate.service:") {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}

// TestPackageContainer checks that the files that the Containerfile and compose.yaml take from the tree exist, and that
// the image has the folders that its Caddyfiles name.
func TestPackageContainer(t *testing.T) {
	t.Parallel()
	container := page(t, "packaging/Containerfile")
	count := 0
	for _, match := range regexp.MustCompile(`(?m)^COPY ([^-].*) \S+$`).FindAllStringSubmatch(container, -1) {
		for name := range strings.FieldsSeq(match[1]) {
			count++
			if _, err := os.Stat(name); err != nil {
				t.Errorf("packaging/Containerfile: %v", err)
			}
		}
	}
	if count < 5 {
		t.Errorf("only %d sources: they are not found any more", count)
	}
	compose := page(t, "packaging/compose.yaml")
	for _, match := range regexp.MustCompile(`- \./(\S+?):|dockerfile: packaging/(\S+)`).FindAllStringSubmatch(compose, -1) {
		if _, err := os.Stat("packaging/" + match[1] + match[2]); err != nil {
			t.Errorf("packaging/compose.yaml: %v", err)
		}
	}
	user := regexp.MustCompile(`(?m)^USER (\d+):(\d+)$`).FindStringSubmatch(container)
	if user == nil || user[1] == "0" || !strings.Contains(container, "--chown="+user[1]+":"+user[2]+" /image/ /") ||
		!strings.Contains(compose, "/run/tollgate:uid="+user[1]+",gid="+user[2]) {
		t.Errorf("packaging/Containerfile: the folders are not those of the user %q", user)
	}
	// What the Caddyfile asks the environment for, compose.yaml sets.
	text := page(t, "packaging/compose.caddyfile")
	_, warnings, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(text), map[string]any{"filename": "Caddyfile"})
	if err != nil || len(warnings) > 0 {
		t.Errorf("packaging/compose.caddyfile: %v %v", err, warnings)
	}
	for _, match := range regexp.MustCompile(`\{(?:env\.|\$)([A-Z_]+)`).FindAllStringSubmatch(text, -1) {
		if !strings.Contains(compose, "\n      "+match[1]+": ") {
			t.Errorf("packaging/compose.yaml does not set %s", match[1])
		}
	}
	for _, match := range regexp.MustCompile(`(/(?:var/lib|run)/tollgate)`).FindAllString(text+page(t, "packaging/Caddyfile"), -1) {
		if !strings.Contains(container, "/image"+match) {
			t.Errorf("packaging/Containerfile does not make %s", match)
		}
	}
}

// TestPackageImages checks that the image that image.sh makes and the one of the Containerfile run alike.
func TestPackageImages(t *testing.T) {
	t.Parallel()
	container, image := page(t, "packaging/Containerfile"), page(t, "packaging/image.sh")
	_, container, _ = strings.Cut(container, "\nFROM scratch\n")
	count := 0
	for _, match := range regexp.MustCompile(`(?m)^(ENV|WORKDIR|USER|VOLUME|EXPOSE|ENTRYPOINT|CMD) (.+)$`).FindAllStringSubmatch(container, -1) {
		flag := map[string]string{
			"ENV": "env", "WORKDIR": "workingdir", "USER": "user", "VOLUME": "volume",
			"EXPOSE": "exposedports", "ENTRYPOINT": "entrypoint", "CMD": "cmd",
		}[match[1]]
		for word := range strings.FieldsSeq(strings.NewReplacer(`["`, "", `"]`, "", `", "`, " ").Replace(match[2])) {
			count++
			if !strings.Contains(image, "--config."+flag+" "+word) {
				t.Errorf("packaging/image.sh does not set --config.%s %s", flag, word)
			}
		}
	}
	if count < 12 {
		t.Errorf("only %d settings: they are not found any more", count)
	}
	for _, match := range regexp.MustCompile(`(?:/image/)?(etc/tollgate|run/tollgate|var/lib/tollgate|usr/bin/tollgate)`).FindAllStringSubmatch(container, -1) {
		if !strings.Contains(image, match[1]) {
			t.Errorf("packaging/image.sh has no %s", match[1])
		}
	}
}
