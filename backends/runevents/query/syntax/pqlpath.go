package syntax

import (
	"slices"
	"strings"
)

// hasPath reports whether the field with the given name is structured, so that a path to a part of it can follow.
func hasPath(name string) bool {
	return slices.Contains([]string{"facts", "trusted", "parameters"}, name)
}

// pqlPath returns the length of the path at the start of input, the text after a name: any number of parts, each after
// a dot. ok is false if a part is not terminated; n is then the position of that part. These are paths:
//
//	.kernel
//	.mountpoints."/var/log".size
//	.interfaces[0]
//	.match("eth\d+").ip
func pqlPath(input string) (n int, ok bool) {
	for strings.HasPrefix(input[n:], ".") {
		length, ok := pqlPathPart(input[n+1:])
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

// pqlPathPart returns the length of the part of a path at the start of input: a name in quotes, a match(…) expression,
// or a bare name with an optional index. ok is false if the part is not terminated.
func pqlPathPart(input string) (n int, ok bool) {
	switch {
	case strings.HasPrefix(input, `"`):
		// A part in quotes may contain quotes. It ends at a quote after which the path or the query can continue.
		for n = 1; n < len(input); n++ {
			if input[n] == '"' && (n+1 == len(input) || strings.IndexByte(". \t\r\n,[]!<=>~(){}", input[n+1]) >= 0) {
				return n + 1, true
			}
		}
		return 0, false
	case strings.HasPrefix(input, "match("):
		end := ")"
		if strings.HasPrefix(input, `match("`) {
			end = `")`
		}
		if n = strings.Index(input, end); n < 0 {
			return 0, false
		}
		return n + len(end), true
	}
	for n < len(input) && strings.IndexByte(". \t\r\n\",[]!<=>~(){}", input[n]) < 0 {
		n++
	}
	if n == 0 || n == len(input) || input[n] != '[' {
		return n, true
	}
	end := n + 1
	for end < len(input) && isDigit(input[end]) {
		end++
	}
	if end > n+1 && end < len(input) && input[end] == ']' { // an index; any other bracket is not part of the path
		return end + 1, true
	}
	return n, true
}
