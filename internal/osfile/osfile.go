// Package osfile holds what systems do differently with files: making names durable, and knowing who may read a file.
package osfile
