package syntax

import (
	"slices"
	"strings"
)

// hasPath reports whether the field with the given name is structured, so that a path to a part of it can follow.
func hasPath(name string) bool {
	return slices.Contains([]string{"facts", "trusted", "parameters"}, name)
}

// pqlPath returns the length of the path with which in, the text after a name, begins: any number of parts, each after
// a dot. ok is false if a part is not terminated; n is then the position of that part. These are paths:
//
//	.kernel
//	.mountpoints."/var/log".size
//	.interfaces[0]
//	.match("eth\d+").ip
func pqlPath(in string) (n int, ok bool) {
	for strings.HasPrefix(in[n:], ".") {
		length, ok := pqlPathPart(in[n+1:])
		if !ok {
			return n + 1, false
		}
		if length == 0 {
			break
		}
		n += 1 + length
	}
	return n, true
}

// pqlPathPart returns the length of the first part of the path in: a name in quotes, a match(…) expression, or a bare
// name with an optional index. ok is false if the part is not terminated.
func pqlPathPart(in string) (n int, ok bool) {
	switch {
	case strings.HasPrefix(in, `"`):
		// A part in quotes may contain quotes. It ends at a quote after which the path or the query can continue.
		for n = 1; n < len(in); n++ {
			if in[n] == '"' && (n+1 == len(in) || strings.IndexByte(". \t\r\n,[]!<=>~(){}", in[n+1]) >= 0) {
				return n + 1, true
			}
		}
		return 0, false
	case strings.HasPrefix(in, "match("):
		end := ")"
		if strings.HasPrefix(in, `match("`) {
			end = `")`
		}
		if n = strings.Index(in, end); n < 0 {
			return 0, false
		}
		return n + len(end), true
	}
	for n < len(in) && strings.IndexByte(". \t\r\n\",[]!<=>~(){}", in[n]) < 0 {
		n++
	}
	if n == 0 || n == len(in) || in[n] != '[' {
		return n, true
	}
	end := n + 1
	for end < len(in) && isDigit(in[end]) {
		end++
	}
	if end > n+1 && end < len(in) && in[end] == ']' {
		return end + 1, true
	}
	return n, true
}
