package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

// tick is the unit of CPU times in /proc. USER_HZ is 100 on every platform that Go supports.
const tick = time.Second / 100

// CPU returns the CPU time that a process has used, in user and kernel mode.
func CPU(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("reading CPU times: %w", err)
	}
	return parseStat(stat)
}

// parseStat returns the sum of utime and stime, which are fields 14 and 15 in proc(5). The second field is the
// program's name in parentheses, which may contain any characters.
func parseStat(stat []byte) (time.Duration, error) {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0, errors.New("reading CPU times: /proc/<pid>/stat is too short")
	}
	var sum int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("reading CPU times: %w", err)
		}
		sum += n
	}
	return time.Duration(sum) * tick, nil
}

// Resident returns the anonymous memory of a process in bytes: the heap, the stacks and the runtime's own
// memory, without the pages of the program file.
func Resident(pid int) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("reading memory: %w", err)
	}
	return parseStatus(status)
}

// parseStatus returns RssAnon in bytes. The file has it in kB; see proc(5).
func parseStatus(status []byte) (int64, error) {
	for entry := range bytes.Lines(status) {
		if value, ok := bytes.CutPrefix(entry, []byte("RssAnon:")); ok {
			value = bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(value), []byte("kB")))
			kilobytes, err := strconv.ParseInt(string(value), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("reading memory: %w", err)
			}
			return kilobytes << 10, nil
		}
	}
	return 0, errors.New("reading memory: /proc/<pid>/status has no RssAnon")
}
