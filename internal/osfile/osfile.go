// Package osfile provides file operations that differ between operating systems: making names durable, and determining
// whether others may read a file.
package osfile
