package kernel

import "strings"

// SameURI reports whether two absolute URIs are equal. An empty path equals "/" (RFC 3986 section 6.2.3); nothing else
// is normalized.
func SameURI(a, b string) bool { return a == b || WithRootPath(a) == WithRootPath(b) }

// WithRootPath returns an absolute URI with the path "/" if its path is empty. A URI without an authority is returned
// unchanged.
func WithRootPath(uri string) string {
	scheme, rest, ok := strings.Cut(uri, "://")
	if !ok || strings.ContainsAny(scheme, "/?#") {
		return uri
	}
	end := strings.IndexAny(rest, "/?#")
	switch {
	case end < 0:
		end = len(rest)
	case rest[end] == '/':
		return uri
	}
	if end == 0 {
		return uri
	}
	return scheme + "://" + rest[:end] + "/" + rest[end:]
}
