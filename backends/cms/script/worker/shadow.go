//go:build !race

package worker

// shadow is how many bytes of the system a byte of the program takes.
const shadow = 1
