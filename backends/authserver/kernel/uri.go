package kernel

import "strings"

// SameURI reports whether two absolute URIs are equal, where an empty path equals "/" (RFC 3986 section 6.2.3). Nothing
// else is normalized.
func SameURI(a, b string) bool { return a == b || Rooted(a) == Rooted(b) }

// Rooted returns an absolute URI with the path "/" if it has no path. A URI without an authority is returned as it is.
func Rooted(uri string) string {
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
