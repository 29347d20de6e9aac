//go:build !race

package script

// memoryFactor is how many times as much memory a process takes.
const memoryFactor = 1
