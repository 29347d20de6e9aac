//go:build !linux

package worker

// beNice lets the gateway go before, where the system knows how.
func beNice() {}

// limitMemory has the system refuse too much memory. Where it cannot, the worker looks at its own.
func limitMemory() error { return nil }
