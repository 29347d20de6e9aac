//go:build linux

package script

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// parentVariable lets the test program be the process whose end is tested.
const parentVariable = "TOLLGATE_TEST_PARENT"

// TestProcessesEndWithParent checks that worker processes end with their parent, however that ends, even during a
// call that cannot be interrupted.
func TestProcessesEndWithParent(t *testing.T) {
	t.Parallel()
	if os.Getenv(parentVariable) != "" {
		attackedParent(t)
	}
	parent := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProcessesEndWithParent$")
	parent.Env = append(os.Environ(), parentVariable+"=1")
	parent.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []string
	for lines := bufio.NewScanner(out); len(pids) == 0 && lines.Scan(); {
		if list, ok := strings.CutPrefix(lines.Text(), "processes"); ok {
			pids = strings.Fields(list)
		}
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	if len(pids) < 2 {
		t.Fatalf("there were the processes %v", pids)
	}
	for _, pid := range pids {
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			status, err := os.ReadFile("/proc/" + pid + "/stat")
			if err != nil || strings.Contains(string(status), ") Z ") { // gone, or nobody has asked for its status yet
				break
			}
			if time.Now().After(deadline) {
				t.Errorf("process %s lives on", pid)
				break
			}
		}
	}
}

// attackedParent runs calls that do not end, tells which processes run them, and waits to be killed.
func attackedParent(t *testing.T) {
	p := load(t, Options{Timeout: time.Minute, Wait: time.Minute}, `static stuck() { return /^(a+)+\1$/.test("a".repeat(60) + "b") } static loop() { for (;;); }`)
	go func() { _, _ = runFor(p, "stuck", nil) }()
	go func() { _, _ = runFor(p, "loop", nil) }()
	for {
		p.engine.pool.mu.Lock()
		line := "processes"
		for call := range p.engine.pool.running {
			line += " " + strconv.Itoa(call.runner.(*process).command.Process.Pid)
		}
		n := len(p.engine.pool.running)
		p.engine.pool.mu.Unlock()
		if n == 2 {
			time.Sleep(100 * time.Millisecond) // the calls have begun
			fmt.Println(line)
			select {}
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestProcessHasNoAccess checks that a worker process inherits no environment, and no files but its pipes.
func TestProcessHasNoAccess(t *testing.T) {
	t.Parallel()
	inherited, err := syscall.Open(os.Args[0], syscall.O_RDONLY, 0) // like a file that the parent of this process has left open
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(inherited)
	p := load(t, Options{}, `static m() { return 1 }`)
	p.engine.pool.mu.Lock()
	defer p.engine.pool.mu.Unlock()
	for _, i := range p.engine.pool.idle {
		pid := strconv.Itoa(i.runner.(*process).command.Process.Pid)
		environment, err := os.ReadFile("/proc/" + pid + "/environ")
		if err != nil {
			t.Fatal(err)
		}
		for variable := range strings.SplitSeq(strings.TrimSuffix(string(environment), "\x00"), "\x00") {
			switch name, _, _ := strings.Cut(variable, "="); name {
			case "GOMAXPROCS", "GOGC", "GOTRACEBACK", "TZ":
			default:
				t.Errorf("it has the variable %s", name)
			}
		}
		files, err := os.ReadDir("/proc/" + pid + "/fd")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if target, _ := os.Readlink("/proc/" + pid + "/fd/" + f.Name()); !strings.HasPrefix(target, "pipe:") && !strings.HasPrefix(target, "anon_inode:") && !strings.HasPrefix(target, "/sys/fs/cgroup/") {
				t.Errorf("it has %s open", target)
			}
		}
		if folder, _ := os.Readlink("/proc/" + pid + "/cwd"); folder != "/" {
			t.Errorf("it is in %s", folder)
		}
	}
}
