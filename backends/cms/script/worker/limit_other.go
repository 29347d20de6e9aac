//go:build !linux

package worker

// beNice does nothing on this system.
func beNice() {}

// limitMemory does nothing on this system, where workers only measure their memory.
func limitMemory() error { return nil }

// thread returns 0 on this system.
func thread() int { return 0 }

// demote does nothing on this system.
func demote(int) {}

// closeInherited does nothing on this system.
func closeInherited() {}
