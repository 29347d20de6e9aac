//go:build race

package worker

// shadow is the number of bytes of system memory for each byte that the program allocates. The race detector needs
// several.
const shadow = 8
