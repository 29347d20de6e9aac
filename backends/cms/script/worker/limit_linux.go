package worker

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// How much less a worker gets of a processor than the gateway where both want it, and a call that computes for long.
const (
	nice = 2
	slow = 10
)

// beNice lets the gateway go before, also where the system has no memory left and ends a process. The priority is one of
// threads, and new ones have that of who makes them.
func beNice() {
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("500"), 0) // it may be raised by anybody
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		_ = unix.Setpriority(unix.PRIO_PROCESS, 0, nice)
		return
	}
	for _, t := range threads {
		if id, err := strconv.Atoi(t.Name()); err == nil {
			_ = unix.Setpriority(unix.PRIO_PROCESS, id, nice)
		}
	}
}

// thread is the one that runs.
func thread() int { return unix.Gettid() }

// demote lets other threads go before one.
func demote(thread int) { _ = unix.Setpriority(unix.PRIO_PROCESS, thread, slow) }

// closeInherited closes what whoever started the gateway has left open for all that it starts. The runtime of Go has
// files of its own.
func closeInherited() {
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return
	}
	for _, f := range files {
		to, err := os.Readlink("/proc/self/fd/" + f.Name())
		if n, bad := strconv.Atoi(f.Name()); err == nil && bad == nil && n > 2 && !strings.HasPrefix(to, "anon_inode:") && !strings.HasPrefix(to, "/sys/fs/cgroup/") {
			_ = unix.Close(n)
		}
	}
}

// arena is how much memory the runtime of Go asks of the system at once.
const arena = 64 << 20

// limitMemory has the system refuse more memory than a call may have, with what the runtime of Go asks for in advance.
// The process ends where it is refused.
func limitMemory() error {
	now, err := dataSize()
	if err != nil {
		return err
	}
	limit := now + shadow*(MaxMemory+arena+arena/2)
	return unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: limit, Max: limit})
}

// dataSize is what counts for RLIMIT_DATA.
func dataSize() (uint64, error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmData:"); ok {
			kilobytes, err := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kilobytes << 10, err
		}
	}
	return 0, fmt.Errorf("there is no VmData in /proc/self/status")
}
