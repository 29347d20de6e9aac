package tollgate_test

import (
	"maps"
	"net/url"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// compose is the part of packaging/compose.yaml that the tests read.
type compose struct {
	Services map[string]struct {
		Build *struct{ Context, Dockerfile string }
		Image string
		// ReadOnly leaves volumes and tmpfs to write to.
		ReadOnly    bool                                  `yaml:"read_only"`
		StopGrace   string                                `yaml:"stop_grace_period"`
		DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
		Healthcheck *struct{ Test []string }
		Environment map[string]string
		Volumes     []string
		Tmpfs       []string
		Ports       []string
	}
	Volumes map[string]any
}

// TestPackageCompose checks that the services of compose.yaml fit each other, the image and the Caddyfile, and that
// compose.yaml asks .env for the variables that the page of installation writes there.
func TestPackageCompose(t *testing.T) {
	t.Parallel()
	const name = "packaging/compose.yaml"
	var file compose
	if err := yaml.Unmarshal([]byte(page(t, name)), &file); err != nil {
		t.Fatal(err)
	}
	own, ok := file.Services["tollgate"]
	if !ok || own.Build == nil {
		t.Fatalf("%s builds no tollgate", name)
	}
	used := make(map[string]bool)
	for service, s := range file.Services {
		if s.Image == "" || strings.HasSuffix(s.Image, ":latest") {
			t.Errorf("%s: %s has no image of a version: %q", name, service, s.Image)
		}
		for other, dependency := range s.DependsOn {
			needed, ok := file.Services[other]
			if !ok || dependency.Condition == "service_healthy" && needed.Healthcheck == nil {
				t.Errorf("%s: %s waits for %s, which is not there or never healthy", name, service, other)
			}
		}
		for _, volume := range s.Volumes {
			source, _, _ := strings.Cut(volume, ":")
			if strings.HasPrefix(source, ".") {
				continue
			}
			if _, ok := file.Volumes[source]; !ok {
				t.Errorf("%s: %s mounts %s, which is no volume", name, service, source)
			}
			used[source] = true
		}
	}
	for volume := range file.Volumes {
		if !used[volume] {
			t.Errorf("%s: nobody mounts the volume %s", name, volume)
		}
	}

	// The servers that the environment of tollgate names are services of this file, with their accounts.
	for variable, text := range own.Environment {
		address, err := url.Parse(regexp.MustCompile(`\$\{[^}]*\}`).ReplaceAllString(text, "secret"))
		if err != nil || address.Host == "" {
			continue
		}
		s, ok := file.Services[address.Hostname()]
		if _, waits := own.DependsOn[address.Hostname()]; !ok || !waits {
			t.Errorf("%s: %s names %s, for which tollgate does not wait", name, variable, address.Hostname())
		}
		if address.Scheme == "postgres" && (address.User.Username() != s.Environment["POSTGRES_USER"] || path.Base(address.Path) != s.Environment["POSTGRES_USER"] ||
			!strings.Contains(text, s.Environment["POSTGRES_PASSWORD"])) {
			t.Errorf("%s: %s is not the account of %s: %v", name, variable, address.Hostname(), s.Environment)
		}
	}

	// Readers write into .env each variable that has no default, and none that is not asked for.
	written := make(map[string]bool)
	for _, match := range regexp.MustCompile(`echo "([A-Z_]+)=[^\n]*> \.env`).FindAllStringSubmatch(page(t, "docs/how-to/install.md"), -1) {
		written[match[1]] = true
	}
	for _, match := range regexp.MustCompile(`\$\{([A-Z_]+):([?-])`).FindAllStringSubmatch(page(t, name), -1) {
		if match[2] == "?" && !written[match[1]] {
			t.Errorf("docs/how-to/install.md does not write %s into .env", match[1])
		}
	}
	for variable := range written {
		if !strings.Contains(page(t, name), "${"+variable+":") {
			t.Errorf("%s does not ask for %s", name, variable)
		}
	}

	// The folders that the Caddyfile writes to are kept in volumes or made anew with each start.
	writable := slices.Clone(own.Tmpfs)
	for _, volume := range own.Volumes {
		if _, target, _ := strings.Cut(volume, ":"); !strings.HasSuffix(target, ":ro") {
			writable = append(writable, target)
		}
	}
	for i := range writable {
		writable[i], _, _ = strings.Cut(writable[i], ":")
	}
	config := page(t, "packaging/compose.caddyfile")
	for _, match := range regexp.MustCompile(`(?m)^\t(?:admin unix/|storage file_system )(/\S+)`).FindAllStringSubmatch(config, -1) {
		if !slices.ContainsFunc(writable, func(folder string) bool { return strings.HasPrefix(match[1], folder+"/") }) {
			t.Errorf("%s: %s is in none of %q", name, match[1], writable)
		}
	}
	if !own.ReadOnly || !slices.Contains(own.Volumes, "./compose.caddyfile:"+configOf(t)+":ro") {
		t.Errorf("%s: the Caddyfile is not where the image looks for it: %q", name, own.Volumes)
	}
	exposed := regexp.MustCompile(`(?m)^EXPOSE (.*)$`).FindStringSubmatch(page(t, "packaging/Containerfile"))[1]
	for _, port := range own.Ports {
		if _, inside, _ := strings.Cut(port, ":"); !slices.Contains(strings.Fields(exposed), inside) {
			t.Errorf("%s: the image has no port %s", name, inside)
		}
	}
	if outlives(t, own.StopGrace, config); len(own.Ports) != len(strings.Fields(exposed)) {
		t.Errorf("%s: ports %q of %q", name, own.Ports, exposed)
	}

	// Docker's own parser accepts the file. It is asked only where Docker is installed.
	docker, err := exec.LookPath("docker")
	if err != nil || exec.CommandContext(t.Context(), docker, "compose", "version").Run() != nil {
		return
	}
	cmd := exec.CommandContext(t.Context(), docker, "compose", "--file", name, "config", "--quiet")
	cmd.Env = []string{"POSTGRES_PASSWORD=a", "TOLLGATE_MASTER_KEY=b"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("docker compose config: %v\n%s", err, out)
	}
}

// outlives checks that the time for which a process is waited is longer than its grace period.
func outlives(t *testing.T, waits, config string) {
	t.Helper()
	match := regexp.MustCompile(`(?m)^\tgrace_period (\S+)$`).FindStringSubmatch(config)
	if match == nil {
		t.Error("no grace_period")
		return
	}
	grace, err := time.ParseDuration(match[1])
	if err != nil {
		t.Error(err)
	}
	if waited, err := time.ParseDuration(waits); err != nil || waited <= grace {
		t.Errorf("is waited for %s, and may take %s: %v", waits, grace, err)
	}
}

// configOf returns the path at which the image looks for its Caddyfile.
func configOf(t *testing.T) string {
	t.Helper()
	match := regexp.MustCompile(`(?m)^CMD \["run", "--config", "([^"]+)"\]$`).FindStringSubmatch(page(t, "packaging/Containerfile"))
	if match == nil {
		t.Fatal("packaging/Containerfile runs nothing")
	}
	return match[1]
}

// TestPackageImage checks that the stages of the Containerfile copy files that exist, and that the image starts the
// binary that the build makes.
func TestPackageImage(t *testing.T) {
	t.Parallel()
	const name = "packaging/Containerfile"
	text := page(t, name)
	stages := strings.Split(text, "\nFROM ")[1:]
	if len(stages) != 2 {
		t.Fatalf("%s has %d stages", name, len(stages))
	}
	build, image := stages[0], stages[1]
	head, _, _ := strings.Cut(build, "\n")
	stage := head[strings.LastIndex(head, " ")+1:]
	needed := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(page(t, "go.mod"))[1]
	if !strings.Contains(head, "golang:"+needed+"-") || !strings.HasPrefix(image, "scratch\n") {
		t.Errorf("%s: builds with %q, go.mod has %s", name, head, needed)
	}
	folder := regexp.MustCompile(`(?m)^WORKDIR (\S+)$`).FindStringSubmatch(build)[1]
	makes := page(t, "Makefile")
	for _, match := range regexp.MustCompile(`make (\w+)`).FindAllStringSubmatch(build, -1) {
		if !strings.Contains(makes, "\n"+match[1]+":") {
			t.Errorf("%s: there is no make %s", name, match[1])
		}
	}
	placed := make(map[string]string) // by its place in the image, where it comes from
	for _, match := range regexp.MustCompile(`(?m)^COPY --from=(\w+) (?:--chown=\S+ )?(\S+) (\S+)$`).FindAllStringSubmatch(image, -1) {
		if match[1] != stage {
			t.Errorf("%s: there is no stage %s", name, match[1])
		}
		placed[match[3]] = match[2]
	}
	for _, match := range regexp.MustCompile(`(?m)^COPY ([^-\s]\S*) (/\S+)$`).FindAllStringSubmatch(image, -1) {
		placed[match[2]] = match[1]
	}
	entry := regexp.MustCompile(`(?m)^ENTRYPOINT \["([^"]+)"\]$`).FindStringSubmatch(image)
	if entry == nil || placed[entry[1]] != folder+"/bin/tollgate" || !strings.Contains(makes, "-o bin/tollgate ") {
		t.Errorf("%s starts %q of %v", name, entry, slices.Sorted(maps.Keys(placed)))
	}
	if config := configOf(t); placed[config] != "packaging/Caddyfile" {
		t.Errorf("%s: %s comes from %q", name, config, placed[config])
	}
	if run := command("run"); run == nil || run.Flags().Lookup("config") == nil {
		t.Error("there is no run --config")
	}
	// What it keeps is below the volume, which is its home.
	volume := regexp.MustCompile(`(?m)^VOLUME (\S+)$`).FindStringSubmatch(image)
	if volume == nil || !strings.Contains(image, "\nWORKDIR "+volume[1]+"\n") || !strings.Contains(image, "ENV HOME="+volume[1]+" XDG_DATA_HOME="+volume[1]) {
		t.Fatalf("%s: the volume %q is not where it writes to", name, volume)
	}
	config := page(t, "packaging/Caddyfile")
	for _, match := range regexp.MustCompile(`(?m)^\s+(?:storage file_system|database sqlite) (\S+)$`).FindAllStringSubmatch(config, -1) {
		if !strings.HasPrefix(match[1], volume[1]+"/") {
			t.Errorf("packaging/Caddyfile: %s is not in the volume", match[1])
		}
	}
	ignored := strings.Fields(page(t, ".dockerignore"))
	for _, match := range regexp.MustCompile(`(?m)^COPY ([^-\n]*) \S+$`).FindAllStringSubmatch(text, -1) {
		for source := range strings.FieldsSeq(match[1]) {
			if slices.ContainsFunc(ignored, func(left string) bool { return source == left || strings.HasPrefix(source, left+"/") }) {
				t.Errorf("%s: .dockerignore leaves %s out", name, source)
			}
		}
	}
}

// TestPackageFolders checks that the unit gives the Caddyfile of the package the folders that it writes to, and waits
// until the process has ended.
func TestPackageFolders(t *testing.T) {
	t.Parallel()
	unit, config := page(t, "packaging/tollgate.service"), page(t, "packaging/Caddyfile")
	set := func(name string) string {
		match := regexp.MustCompile(`(?m)^` + name + `=(.*)$`).FindStringSubmatch(unit)
		if match == nil {
			t.Fatalf("packaging/tollgate.service has no %s", name)
		}
		return match[1]
	}
	outlives(t, set("TimeoutStopSec"), config)
	found := 0
	for _, match := range regexp.MustCompile(`(?m)^\s+(?:admin unix/|storage file_system |database sqlite )(/\S+)$`).FindAllStringSubmatch(config, -1) {
		found++
		if !strings.HasPrefix(match[1], "/var/lib/"+set("StateDirectory")+"/") && !strings.HasPrefix(match[1], "/run/"+set("RuntimeDirectory")+"/") {
			t.Errorf("packaging/tollgate.service: %s may not be written", match[1])
		}
	}
	if found != 3 {
		t.Errorf("%d places of the Caddyfile", found)
	}
	// What the service is told by variables is in the file that it reads them from.
	if !strings.Contains(unit, "EnvironmentFile=-/etc/tollgate/environment") {
		t.Error("packaging/tollgate.service reads no environment")
	}
	for _, match := range regexp.MustCompile(`\{\$([A-Z_]+)`).FindAllStringSubmatch(config, -1) {
		if !strings.Contains(page(t, "packaging/environment"), "\n#"+match[1]+"=") {
			t.Errorf("packaging/environment does not know %s", match[1])
		}
	}
}
