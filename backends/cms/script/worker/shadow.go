//go:build !race

package worker

// shadow is how many bytes of system memory a byte of the program takes.
const shadow = 1
