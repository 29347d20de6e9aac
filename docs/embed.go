// Package docs holds the documents, which are embedded in the program.
package docs

import "embed"

// Files are the documents by their paths in this folder, as they are in the repository.
//
//go:embed *.md concepts decisions how-to images reference tutorials
var Files embed.FS
