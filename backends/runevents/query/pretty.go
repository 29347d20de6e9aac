package query

// indenter indents JSON that arrives in arbitrary pieces.
type indenter struct {
	depth   int
	open    bool // directly after an opening bracket
	text    bool // within a string
	escaped bool // after a backslash
}

// append appends src, a piece of JSON, to dst with line breaks and indentation. A piece can end anywhere, even within a
// string.
func (p *indenter) append(dst, src []byte) []byte {
	for _, c := range src {
		if p.text {
			dst = append(dst, c)
			p.text = c != '"' || p.escaped
			p.escaped = c == '\\' && !p.escaped
			continue
		}
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		case ']', '}':
			p.depth--
			if !p.open {
				dst = p.line(dst)
			}
			p.open = false
			dst = append(dst, c)
			continue
		case ',':
			dst = p.line(append(dst, c))
			continue
		case ':':
			dst = append(dst, c, ' ')
			continue
		}
		if p.open {
			dst = p.line(dst)
		}
		if p.open = c == '[' || c == '{'; p.open {
			p.depth++
		}
		p.text = c == '"'
		dst = append(dst, c)
	}
	return dst
}

func (p *indenter) line(dst []byte) []byte {
	dst = append(dst, '\n')
	for range p.depth {
		dst = append(dst, "  "...)
	}
	return dst
}
