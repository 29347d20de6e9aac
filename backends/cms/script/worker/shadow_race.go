//go:build race

package worker

// shadow is how many bytes of system memory a byte of the program takes. The race detector needs several.
const shadow = 8
