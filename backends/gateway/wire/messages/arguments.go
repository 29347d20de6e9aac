package messages

// arguments follows the arguments of a call, which come in pieces, to know when
// their object is complete.
type arguments struct {
	depth           int
	began, inString bool
	escaped         bool
}

// complete reports whether a JSON value with brackets has ended.
func (a *arguments) complete() bool { return a.began && a.depth <= 0 }

// pass takes the next piece, unescaped.
func (a *arguments) pass(piece []byte) {
	for _, c := range piece {
		a.step(c)
	}
}

func (a *arguments) step(c byte) {
	switch {
	case a.escaped:
		a.escaped = false
	case a.inString:
		a.escaped = c == '\\'
		a.inString = c != '"'
	case c == '"':
		a.inString = true
	case c == '{', c == '[':
		a.began = true
		a.depth++
	case c == '}', c == ']':
		a.depth--
	}
}
