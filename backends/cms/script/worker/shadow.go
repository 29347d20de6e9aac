//go:build !race

package worker

// shadow is the number of bytes of system memory for each byte that the program allocates.
const shadow = 1
