//go:build race

package script

// memoryFactor is how many times as much memory a process takes: the race detector keeps notes of each byte.
const memoryFactor = 8
