package query

// indenter indents JSON that arrives in arbitrary pieces. Its fields describe the position in the JSON text.
type indenter struct {
	depth        int
	afterOpening bool // directly after an opening bracket
	inString     bool // within a string
	escaped      bool // after a backslash
}

// append appends src, a piece of JSON, to dst with line breaks and indentation. A piece can end anywhere, even within a
// string.
func (p *indenter) append(dst, src []byte) []byte {
	for _, c := range src {
		if p.inString {
			dst = append(dst, c)
			p.inString = c != '"' || p.escaped
			p.escaped = c == '\\' && !p.escaped
			continue
		}
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		case ']', '}':
			p.depth--
			if !p.afterOpening { // an empty list or object stays on one line
				dst = p.newLine(dst)
			}
			p.afterOpening = false
			dst = append(dst, c)
			continue
		case ',':
			dst = p.newLine(append(dst, c))
			continue
		case ':':
			dst = append(dst, c, ' ')
			continue
		}
		if p.afterOpening {
			dst = p.newLine(dst)
		}
		p.afterOpening = c == '[' || c == '{'
		if p.afterOpening {
			p.depth++
		}
		p.inString = c == '"'
		dst = append(dst, c)
	}
	return dst
}

// newLine appends a line break and the indentation of the current depth to dst.
func (p *indenter) newLine(dst []byte) []byte {
	dst = append(dst, '\n')
	for range p.depth {
		dst = append(dst, "  "...)
	}
	return dst
}
