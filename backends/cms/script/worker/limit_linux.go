package worker

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// The nice values of a worker, and of the thread of a worker whose call has computed for longer than demoteAfter.
const (
	nice = 2
	slow = 10
)

// beNice gives the worker a lower priority than the gateway, and makes the system end the worker first when memory runs
// out. In Linux, priorities belong to threads; a new thread inherits the priority of its creator.
func beNice() {
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("500"), 0) // raising it needs no privilege
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

// thread returns the ID of the current thread.
func thread() int { return unix.Gettid() }

// demote lowers the priority of a thread.
func demote(thread int) { _ = unix.Setpriority(unix.PRIO_PROCESS, thread, slow) }

// closeInherited closes the files that the worker has inherited by accident, because the gateway's parent had left them
// open. It keeps the files of the Go runtime.
func closeInherited() {
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return
	}
	for _, f := range files {
		target, err := os.Readlink("/proc/self/fd/" + f.Name())
		if n, notNumber := strconv.Atoi(f.Name()); err == nil && notNumber == nil && n > 2 &&
			!strings.HasPrefix(target, "anon_inode:") && !strings.HasPrefix(target, "/sys/fs/cgroup/") {
			_ = unix.Close(n)
		}
	}
}

// arena is the amount of memory that the Go runtime requests from the system at a time.
const arena = 64 << 20

// limitMemory limits the memory that the system grants to the process. The limit allows for the present memory, the
// memory of a call, and memory that the Go runtime requests in advance. The process ends when the system refuses
// memory.
func limitMemory() error {
	current, err := dataSize()
	if err != nil {
		return err
	}
	limit := current + shadow*(MaxMemory+arena+arena/2)
	return unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: limit, Max: limit})
}

// dataSize returns the amount of memory that counts towards RLIMIT_DATA at present, in bytes.
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
