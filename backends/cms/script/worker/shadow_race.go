//go:build race

package worker

// shadow is how many bytes of the system a byte of the program takes: the race detector keeps notes of each.
const shadow = 8
