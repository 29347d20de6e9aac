package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
	"github.com/tollgate-gateway/tollgate/internal/doctest"
)

// reader follows one page in a separate folder: it runs the blocks in order, writes the files that the page names, and
// compares the output with the output on the page.
//
// The commands, files and output of the page are changed in three ways, so that pages can run beside each other,
// without root rights and without the internet:
//   - Each port is replaced by a free port. Ports 80 and 443 are moved by options of Caddy and of curl.
//   - /etc, /usr/bin, /var/lib, /run and /backups are folders below the reader's.
//   - `…` in a command is replaced by the printed text with the same beginning, such as ak-…
type reader struct {
	t     *testing.T
	name  string
	text  string // the text of the page
	home  string // HOME, and the folder in which the page begins
	ports map[string]string
	env   []string

	printed string              // the output of all commands so far
	last    func() string       // returns the output of the last command
	running map[string]*process // the processes that keep running, by command
	names   []string            // the commands of running, in the order of their start

	passwords map[string]string // passwords of the added users, by mail address
}

// process is a command that keeps running.
type process struct {
	cmd    *exec.Cmd
	out    *e2e.Output
	exited chan struct{}
}

// before has the requirements of a page.
type before struct {
	caddyfile string            // the folder of caddyfiles/ with the Caddyfile to use
	options   string            // additional global options
	files     map[string]string // additional files
	env       []string          // additional variables
	commands  string            // commands to run first
	node      bool              // whether the page needs the packages of Node.js
	authority string            // a root certificate that all programs trust
	stands    map[string]string // replacements for a `…` that was not printed
	provider  string            // the model provider in the page's Caddyfile for which a scripted model stands in
}

// pagePorts matches the ports that pages name.
var pagePorts = regexp.MustCompile(`\b(844[3-8]|900[0-2]|9099|8080|9180|11434|8000|1234)\b`)

// rooted matches the folders that only root may write to.
var rooted = regexp.MustCompile(`(^|[\s=":]|file\.|unix/)(/(?:etc/(?:tollgate|systemd|sysusers\.d)|usr/bin/tollgate|var/lib/tollgate|run/tollgate|backups))`)

// lasting matches commands that run until they are stopped.
var lasting = regexp.MustCompile(`^(?:[A-Z_]+=\S+ )*(?:make run|(?:bin/)?tollgate run|python3 -m http\.server|sudo systemctl enable --now tollgate)\b`)

// stands are replacements for programs that a test must not use, because they change the machine or access the
// internet. A clone is a copy of the files that a reader uses.
var stands = map[string]string{
	"git":  `[ "$1 $2" = "clone https://github.com/tollgate-gateway/tollgate" ] && cp -r "$HOME/.clone/tollgate" .`,
	"make": `exec %s -o build "$@"`,
	"sudo": `[ "$1" = -u ] && shift 2; exec "$@"`,
	"install": `for a; do shift; case $a in -g) group=1 ;; *) [ "$group" ] || set -- "$@" "$a"; group= ;; esac; done
exec %s "$@"`,
	"systemd-sysusers": `test -e "$HOME/etc/sysusers.d/$1"`,
	"setcap":           `test -x "$2"`,
	"systemctl":        `[ "$1" = daemon-reload ]`,
	"editor":           `echo sk-0123456789 > "$1"`,
}

func newReader(t *testing.T, name string, b before) *reader {
	t.Helper()
	// The path is short, because the path of a socket may have at most 104 characters.
	home, err := os.MkdirTemp("", "tg-")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../" + name)
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{t: t, name: name, text: string(text), home: home, ports: make(map[string]string), running: make(map[string]*process), passwords: make(map[string]string)}
	t.Cleanup(func() {
		for _, command := range r.names {
			r.end(command)
		}
		if err := os.RemoveAll(home); err != nil {
			t.Error(err)
		}
	})
	r.last = func() string { return "" }
	r.env = append(e2e.Environment(home), "PATH="+r.path(".bin")+":"+r.path("usr/bin")+":"+os.Getenv("PATH"), "BASH_ENV=")
	r.env = append(r.env, b.env...)
	if b.authority != "" {
		r.env = append(r.env, "CURL_CA_BUNDLE="+r.path(b.authority))
	}
	for _, folder := range []string{".bin", ".clone/tollgate/bin", "data", "etc/systemd/system", "etc/sysusers.d", "usr/bin", "var/lib/tollgate", "run/tollgate", "backups"} {
		if err := os.MkdirAll(r.path(folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, script := range stands {
		if strings.Contains(script, "%s") {
			own, err := exec.LookPath(name)
			if err != nil {
				t.Fatal(err)
			}
			script = fmt.Sprintf(script, own)
		}
		r.write(r.path(".bin", name), "#!/bin/bash\n"+script+"\n", 0o700)
	}
	// A page that begins with the clone must show where the program is. Other pages are for readers who have installed
	// it.
	links := []string{r.path(".clone/tollgate/bin/tollgate")}
	if !strings.Contains(r.text, "tollgate/bin") && !strings.Contains(r.text, "git clone") {
		links = append(links, r.path(".bin", "tollgate"))
	}
	for _, link := range links {
		if err := os.Symlink(e2e.Binary, link); err != nil {
			t.Fatal(err)
		}
	}
	// All names lead to this machine, and curl shows no progress.
	r.write(r.path(".curlrc"), "silent\nshow-error\nmax-time = 120\nconnect-to = \":443:127.0.0.1:"+r.port("443")+"\"\n", 0o600)
	r.clone("Makefile", "VERSION", "caddyfiles", "packaging", "backends/runevents/testdata")
	if b.caddyfile != "" {
		text, err := os.ReadFile(r.path(".clone/tollgate/caddyfiles", b.caddyfile, "Caddyfile"))
		if err != nil {
			t.Fatal(err)
		}
		// All these Caddyfiles have this option, so other options are added after it.
		caddyfile := strings.Replace(string(text), "\tpersist_config off\n", "\tpersist_config off\n"+b.options, 1)
		r.write(r.path("Caddyfile"), caddyfile, 0o600) // clone has already replaced its ports
	}
	if b.node {
		e2e.NodeProgram(t)
		packages, err := filepath.Abs(filepath.Join(e2e.NodeClients(), "node_modules"))
		if err == nil {
			err = os.Symlink(packages, r.path("node_modules"))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range b.files {
		if name == "Caddyfile" {
			text = r.config(text)
		}
		r.write(r.path(name), text, 0o600)
	}
	for command := range strings.Lines(b.commands) {
		r.step(doctest.Step{Command: strings.TrimSpace(command)}, b.stands)
	}
	return r
}

func (r *reader) path(parts ...string) string {
	return filepath.Join(append([]string{r.home}, parts...)...)
}

func (r *reader) write(name, text string, mode fs.FileMode) {
	r.t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		r.t.Fatal(err)
	}
}

// clone copies the files of the repository that a reader uses, with Caddyfiles that this reader can run.
func (r *reader) clone(names ...string) {
	r.t.Helper()
	root := os.DirFS("../..")
	for _, name := range names {
		err := fs.WalkDir(root, name, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := fs.ReadFile(root, name)
			if err != nil {
				return err
			}
			copied := string(text)
			if strings.HasSuffix(strings.ToLower(name), "caddyfile") {
				copied = r.config(copied)
			} else if strings.HasPrefix(name, "packaging/") {
				copied = r.local(copied)
			}
			r.write(r.path(".clone/tollgate", name), copied, 0o600)
			return nil
		})
		if err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *reader) port(name string) string {
	r.t.Helper()
	if r.ports[name] == "" {
		r.ports[name] = e2e.FreePort(r.t)
	}
	return r.ports[name]
}

// local replaces the ports and the folders in a text by this reader's.
func (r *reader) local(text string) string {
	text = pagePorts.ReplaceAllStringFunc(text, r.port)
	return rooted.ReplaceAllString(text, "${1}"+r.home+"${2}")
}

// config returns a Caddyfile with the ports of this reader and with Caddy's internal CA for every name. The CA is not
// installed in the trust store of the system.
func (r *reader) config(text string) string {
	r.t.Helper()
	text = r.local(text)
	options := "\thttp_port " + r.port("80") + "\n\thttps_port " + r.port("443") + "\n\tlocal_certs\n"
	for _, option := range []string{"skip_install_trust", "persist_config off"} {
		if !strings.Contains(text, option) {
			options += "\t" + option + "\n"
		}
	}
	if !strings.Contains(text, "\tadmin ") {
		options += "\tadmin 127.0.0.1:" + r.port("2019") + "\n"
	}
	// The global options are the block at the beginning of a file, after comments.
	lines := slices.Collect(strings.Lines(text))
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, "#"):
			continue
		case line == "{\n":
			return strings.Join(lines[:i+1], "") + options + strings.Join(lines[i+1:], "")
		}
		break
	}
	return "{\n" + options + "}\n\n" + text
}

// follow runs the page.
func (r *reader) follow(b before) {
	r.t.Helper()
	blocks, _ := doctest.Blocks(r.text)
	for _, block := range blocks {
		position := fmt.Sprintf("%s:%d", r.name, block.Line)
		if _, ok := block.NotRun(); ok {
			continue
		}
		if block.File != "" {
			text := r.local(block.Text)
			if block.Language() == "caddyfile" {
				text = r.config(r.standIn(block.Text, b.provider))
			}
			name := r.local(block.File)
			if home, ok := strings.CutPrefix(name, "~"); ok {
				name = r.home + home
			} else if !filepath.IsAbs(name) {
				name = filepath.Join(r.folder(), name)
			}
			r.write(name, text, 0o600)
		}
		copied, isCopied := strings.CutPrefix(block.Note, "copied ")
		person, inBrowser := strings.CutPrefix(block.Note, "in a browser: ")
		switch {
		case inBrowser:
			shown := r.inBrowser(position, person)
			if block.Language() == "text" {
				r.compare(position, block.Text, shown, true)
			}
		case isCopied:
			word, _, _ := strings.Cut(copied, " ")
			line := regexp.MustCompile(`(?m)^ *` + word + ` (?:.*\\\n)*.*$`).FindString(r.printed)
			if line == "" {
				r.t.Fatalf("%s: no line of %s was printed:\n%s", position, word, r.printed)
			}
			printed := r.run(strings.Replace(strings.TrimSpace(line), word, copied, 1))
			r.compare(position, block.Text, printed, true)
		case block.Note == "on another machine":
			r.move()
		case block.Note == "prints":
			r.awaitPrinted(position, block.Text)
		case block.Note == "a browser ends at":
			r.compare(position, block.Text, r.browse(b), false)
		}
		for _, step := range block.Steps() {
			printed := r.step(step, b.stands)
			if step.Shown && printed != nil {
				r.compare(position, step.Prints, *printed, false)
			}
		}
	}
}

// madePassword matches the output of the command that adds a user.
var madePassword = regexp.MustCompile(`(?m)^(\S+)\nThe user was added\.`)

// browse opens the address that was printed last, as the user who was added, and returns the URL at which the browser
// ends. After that, `…` in commands stands for the code in that URL.
func (r *reader) browse(b before) string {
	r.t.Helper()
	password := madePassword.FindStringSubmatch(r.printed)
	if password == nil {
		r.t.Fatalf("%s: no password was printed:\n%s", r.name, r.printed)
	}
	end := e2e.NewPerson(r.t, "alice@example.com", password[1], "http://localhost:"+r.port("1234")+"/").Approve(strings.TrimSpace(r.last()))
	b.stands["…"] = end.Query().Get("code")
	return end.String()
}

// move goes to a folder that contains nothing but the Caddyfile.
func (r *reader) move() {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.folder(), "Caddyfile"))
	if err != nil {
		r.t.Fatal(err)
	}
	r.write(r.path("another", "Caddyfile"), string(text), 0o600)
	r.write(r.path(".pwd"), r.path("another"), 0o600)
}

func (r *reader) compare(position, shown, printed string, among bool) {
	r.t.Helper()
	if err := doctest.Match(r.local(shown), printed, among); err != nil {
		r.t.Fatalf("%s: %v", position, err)
	}
}

// awaitPrinted waits until the last command has printed the output on the page.
func (r *reader) awaitPrinted(position, shown string) {
	r.t.Helper()
	e2e.Eventually(r.t, e2e.WaitLimit, position+" is printed", func() error {
		return doctest.Match(r.local(shown), r.last(), true)
	})
}

// step runs a command and returns its output, or nil if the command keeps running.
func (r *reader) step(step doctest.Step, stands map[string]string) *string {
	r.t.Helper()
	command := r.fill(r.local(step.Command), stands)
	var script strings.Builder
	for line := range strings.Lines(command) {
		if !lasting.MatchString(line) {
			script.WriteString(line)
			continue
		}
		r.run(script.String())
		script.Reset()
		r.start(strings.TrimSpace(line))
	}
	if strings.TrimSpace(script.String()) == "" {
		return nil
	}
	printed := r.run(script.String())
	r.last = func() string { return printed }
	r.remember(command, printed)
	return &printed
}

var (
	shellComment = regexp.MustCompile(`(?m)(^| +)#.*$`)
	elided       = regexp.MustCompile(`[\w-]*…`)
)

// fill replaces each `…` by the printed text.
func (r *reader) fill(command string, stands map[string]string) string {
	r.t.Helper()
	command = shellComment.ReplaceAllString(command, "")
	return elided.ReplaceAllStringFunc(command, func(text string) string {
		if stand, ok := stands[text]; ok {
			return stand
		}
		if text == "…" {
			return r.path(".clone") // the folder before …/tollgate
		}
		found := regexp.MustCompile(`\b`+regexp.QuoteMeta(strings.TrimSuffix(text, "…"))+`[\w-]+`).FindAllString(r.printed, -1)
		if len(found) == 0 {
			r.t.Fatalf("%s: nothing like %s was printed before:\n%s", r.name, text, command)
		}
		return found[len(found)-1]
	})
}

// The shell keeps its folder and variables from block to block.
const shell = `
set -aeo pipefail
[ ! -e "$HOME/.env" ] || . "$HOME/.env"
trap 'code=$?; export -p > "$HOME/.env"; pwd > "$HOME/.pwd"; exit $code' EXIT
`

func (r *reader) folder() string {
	text, err := os.ReadFile(r.path(".pwd"))
	if err != nil {
		return r.home
	}
	return strings.TrimSpace(string(text))
}

func (r *reader) command(ctx context.Context, script string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.Dir, cmd.Env = r.folder(), r.env
	return cmd
}

// run runs commands that must end by themselves, without an error.
func (r *reader) run(script string) string {
	r.t.Helper()
	if strings.TrimSpace(script) == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), e2e.StartLimit)
	defer cancel()
	out, err := r.command(ctx, shell+script).CombinedOutput()
	r.printed += string(out)
	if err != nil {
		r.t.Fatalf("%s: %v\n%s\n%s%s", r.name, err, script, out, r.tails())
	}
	return string(out)
}

// tails returns the last output of each running program.
func (r *reader) tails() string {
	var b strings.Builder
	for _, command := range r.names {
		fmt.Fprintf(&b, "\n%s:\n%s", command, r.running[command].out.Tail(4<<10))
	}
	return b.String()
}

// start runs a command that keeps running, as in a separate terminal, and waits until it can be used. Before that, it
// ends the previous run of the same command and, if the command is a server, any other server, since both would use the
// same folder.
func (r *reader) start(command string) {
	r.t.Helper()
	for _, other := range slices.Clone(r.names) {
		if other == command || isServer(other) && isServer(command) {
			r.end(other)
		}
	}
	script := command
	if strings.HasPrefix(command, "sudo systemctl") {
		unit, err := os.ReadFile(r.path("etc/systemd/system/tollgate.service"))
		if err != nil {
			r.t.Fatal(err)
		}
		line := regexp.MustCompile(`(?m)^ExecStart=(.*)$`).FindSubmatch(unit)
		if line == nil {
			r.t.Fatalf("the unit starts nothing:\n%s", unit)
		}
		script = "cd " + r.path("var/lib/tollgate") + "\n" + string(line[1])
	}
	// exec replaces the shell by the program.
	cmd := r.command(context.Background(), shell+"trap - EXIT\n"+regexp.MustCompile(`(?m)^((?:[A-Z_]+=\S+ )*)(\S.*)\z`).ReplaceAllString(script, "${1}exec ${2}"))
	p := &process{cmd: cmd, out: new(e2e.Output), exited: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = p.out, p.out
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	e2e.Watch(cmd.Process.Pid, true)
	go func() {
		_ = cmd.Wait()
		e2e.Watch(cmd.Process.Pid, false)
		close(p.exited)
	}()
	r.running[command], r.last = p, p.out.String
	defer func() { r.printed += p.out.String() }()
	r.names = append(r.names, command)
	e2e.Eventually(r.t, e2e.StartLimit, command+" runs", func() error {
		select {
		case <-p.exited:
			r.t.Fatalf("%s: %s has ended:\n%s", r.name, command, p.out.Tail(8<<10))
		default:
		}
		return r.serves(p, command)
	})
}

// isServer reports whether a command starts Tollgate.
func isServer(command string) bool {
	return strings.Contains(command, "tollgate run") || strings.Contains(command, "make run")
}

var managed = regexp.MustCompile(`"enabling automatic TLS certificate management","domains":\[([^\]]*)\]`)

// localSite matches the address of a site with a port.
var localSite = regexp.MustCompile(`(?m)^https://localhost:(\d+) \{`)

// httpsPort returns the port of the site in the Caddyfile of the current folder, or 443 if it names none.
func (r *reader) httpsPort() string {
	text, err := os.ReadFile(filepath.Join(r.folder(), "Caddyfile"))
	if err == nil {
		if match := localSite.FindSubmatch(text); match != nil {
			return string(match[1])
		}
	}
	return r.port("443")
}

// serves returns nil if a program can be used, which means that it listens and has its certificates.
func (r *reader) serves(p *process, command string) error {
	dial := (&net.Dialer{}).DialContext
	addresses := map[string]string{}
	switch text := p.out.String(); {
	case strings.HasPrefix(command, "python3"):
		addresses[""] = r.port("8080")
	case strings.Contains(text, "Tollgate is up at "):
		return nil
	case !strings.Contains(text, "serving initial configuration"):
		return errors.New("no configuration yet")
	default:
		if match := managed.FindStringSubmatch(text); match != nil {
			for name := range strings.SplitSeq(match[1], ",") {
				addresses[strings.Trim(name, `"`)] = r.httpsPort()
			}
		}
	}
	for name, port := range addresses {
		dialed := dial
		if name != "" {
			dialed = (&tls.Dialer{Config: &tls.Config{ServerName: name, InsecureSkipVerify: true}}).DialContext
		}
		conn, err := dialed(r.t.Context(), "tcp", "127.0.0.1:"+port)
		if err != nil {
			return err
		}
		if err := conn.Close(); err != nil {
			return err
		}
	}
	return nil
}

// end ends a running program.
func (r *reader) end(command string) {
	p, ok := r.running[command]
	if !ok {
		return
	}
	// make passes the signal on to the program that it has started.
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err == nil {
		select {
		case <-p.exited:
		case <-time.After(e2e.StopLimit):
			r.t.Errorf("%s: %s does not end", r.name, command)
			_ = p.cmd.Process.Kill()
		}
	}
	<-p.exited
	delete(r.running, command)
	r.names = slices.DeleteFunc(r.names, func(name string) bool { return name == command })
	if strings.Contains(p.out.String(), "panic:") {
		r.t.Errorf("%s has panicked:\n%s", command, p.out.Tail(8<<10))
	}
}

// followed has the pages that are followed from the first block to the last, with their requirements.
var followed = map[string]before{
	"README.md":                      {},
	"docs/tutorials/first-answer.md": {stands: map[string]string{"gsk_…": "gsk_0123456789"}},
	"docs/tutorials/team-gateway.md": {
		authority: "var/lib/tollgate/caddy/pki/authorities/local/root.crt", provider: "openai",
	},
	"docs/tutorials/existing-service.md":     {},
	"docs/tutorials/authorization-server.md": {stands: map[string]string{}},
	"docs/tutorials/answers.md":              {},
	"docs/tutorials/cms.md":                  {},
	"docs/tutorials/forum.md":                {},
	"docs/tutorials/fleet-events.md":         {},
	"docs/how-to/back-up.md": {
		files:    map[string]string{"Caddyfile": strings.Replace(boardAndGateway, "\t\tkeyring aes {env.OLD_KEY}\n", "", 1)},
		commands: "tollgate run\ntollgate keychain users add alice\necho gsk_0123456789 | tollgate keychain provider-keys add groq --user alice",
	},
	"docs/how-to/alerts.md":        {caddyfile: "gateway", commands: "tollgate run"},
	"docs/how-to/budgets.md":       {caddyfile: "gateway", commands: "tollgate run"},
	"docs/how-to/coding-agents.md": {stands: map[string]string{"ak-…": "ak-0"}},
	"docs/how-to/connect-sdks.md":  {caddyfile: "quickstart", commands: "tollgate run", node: true, env: []string{"NODE_EXTRA_CA_CERTS=data/caddy/pki/authorities/local/root.crt"}},
	"docs/how-to/local-models.md": {
		files: map[string]string{"Caddyfile": boardAndGateway}, env: []string{oldKey},
		commands: "ln -s .clone/tollgate/caddyfiles .\ntollgate run\ntollgate keychain users add alice",
	},
	"docs/how-to/monitoring.md": {
		caddyfile: "quickstart", options: "\tmetrics\n",
		commands: "tollgate run\n" + askOnce,
	},
	"docs/how-to/move.md": {
		env: []string{oldKey}, commands: "tollgate run",
		files: map[string]string{
			"Caddyfile":  boardAndGateway,
			"users.txt":  "ada\ngrace\n",
			"forum.json": `{"users":[{"name":"grace"}],"forums":[{"slug":"help","title":"Help"}],"threads":[{"forum":"help","title":"Hello","posts":[{"author":"grace","message":"First!"}]}]}`,
		},
	},
	"docs/how-to/mcp-server.md":    {commands: "ln -s .clone/tollgate/caddyfiles ."},
	"docs/how-to/own-sign-in.md":   {commands: "ln -s .clone/tollgate/caddyfiles ."},
	"docs/how-to/provider-keys.md": {caddyfile: "gateway", env: []string{"GROQ_API_KEY=gsk_0123456789"}, commands: "tollgate run\ntollgate keychain users add alice"},
	"docs/how-to/rotate-keys.md": {
		files: map[string]string{"Caddyfile": boardAndGateway},
		env:   []string{oldKey, "NEW_KEY=MTEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=", "NEW=gsk_new456789"},
		commands: "tollgate run\ntollgate keychain users add alice\n" +
			"for p in openai groq; do echo sk-old456789 | tollgate keychain provider-keys add $p --user alice --label old; done\n" +
			"sed -i 's/keyring.*/keyring aes {env.NEW_KEY} {env.OLD_KEY}/' Caddyfile",
	},
	"docs/how-to/azure-clients.md": {
		caddyfile: "quickstart", node: true, env: []string{"NODE_EXTRA_CA_CERTS=data/caddy/pki/authorities/local/root.crt"},
		commands: "sed -i 's|^\ttollgate gateway$|\troute {\\n\t\t@azureKey {\\n\t\t\tpath /openai/*\\n\t\t\theader Api-Key *\\n\t\t}\\n\t\trequest_header @azureKey Authorization \"Bearer {http.request.header.Api-Key}\"\\n\t\trequest_header @azureKey -Api-Key\\n\t\turi /openai/* path_regexp ^/openai/.*?((chat/completions\\|responses\\|embeddings\\|models\\|images\\|audio)\\\\b.*)$ /v1/$1\\n\t\ttollgate gateway\\n\t}|' Caddyfile\ntollgate run",
	},
	"docs/how-to/bedrock-clients.md": {
		caddyfile: "quickstart", node: true, env: []string{"NODE_EXTRA_CA_CERTS=data/caddy/pki/authorities/local/root.crt"},
		commands: "tollgate run",
	},
	"docs/how-to/stored-responses.md": {
		caddyfile: "quickstart", node: true, env: []string{"NODE_EXTRA_CA_CERTS=data/caddy/pki/authorities/local/root.crt"},
		commands: "sed -i 's/^\ttollgate gateway$/\ttollgate gateway {\\n\t\tcascade {\\n\t\t\tstore_responses 30d\\n\t\t}\\n\t}/' Caddyfile\ntollgate run",
	},
	"docs/how-to/trust-local-certificate.md": {caddyfile: "quickstart", commands: "tollgate run"},
	"docs/how-to/upgrade.md":                 {caddyfile: "gateway"},
}

const oldKey = "OLD_KEY=MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

const askOnce = `curl -f --cacert data/caddy/pki/authorities/local/root.crt https://localhost:8443/v1/chat/completions -H "Authorization: Bearer ak-…" -H 'Content-Type: application/json' -d '{"model":"keychain-high","messages":[{"role":"user","content":"Hello"}]}'`

const boardAndGateway = `{
	admin unix/data/admin.sock
	persist_config off
	storage file_system data/caddy
	skip_install_trust
	tollgate {
		database sqlite data/tollgate.db
		allow_networks 127.0.0.0/8
		keyring aes {env.OLD_KEY}
	}
}

llm.example.com {
	tollgate gateway
}

forum.example.com {
	tollgate board
}
`

// TestPages checks that the commands in the documents have the documented effects.
func TestPages(t *testing.T) {
	t.Parallel()
	for _, name := range slices.Sorted(maps.Keys(followed)) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			b := followed[name]
			newReader(t, name, b).follow(b)
		})
	}
}

// TestPagesFollowed checks that every command of the README, the tutorials and the how-tos is run, or marked with the
// reason why it is not.
func TestPagesFollowed(t *testing.T) {
	t.Parallel()
	names := []string{"README.md"}
	for _, folder := range []string{"tutorials", "how-to"} {
		found, err := filepath.Glob("../../docs/" + folder + "/*.md")
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v", folder, err)
		}
		for _, name := range found {
			names = append(names, "docs/"+folder+"/"+filepath.Base(name))
		}
	}
	for name := range followed {
		if !slices.Contains(names, name) {
			t.Errorf("%s is not there", name)
		}
	}
	for _, name := range names {
		text, err := os.ReadFile("../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		blocks, _ := doctest.Blocks(string(text))
		for _, block := range blocks {
			_, marked := block.NotRun()
			if _, ok := followed[name]; !ok && !marked && len(block.Steps()) > 0 {
				t.Errorf("%s:%d: the block is not run: add the page to the list, or mark the block", name, block.Line)
			}
		}
	}
}
