//go:build !linux

package worker

// beNice lets the gateway go before, where the system knows how.
func beNice() {}

// limitMemory has the system refuse too much memory. Where it cannot, the worker looks at its own.
func limitMemory() error { return nil }

// thread is the one that runs.
func thread() int { return 0 }

// demote lets other threads go before one, where the system knows how.
func demote(int) {}

// closeInherited closes what whoever started the gateway has left open, where the system tells of it.
func closeInherited() {}
