package query

// indenter indents JSON that is written in arbitrary pieces.
type indenter struct {
	depth   int
	open    bool // directly after an opening bracket
	text    bool // within a string
	escaped bool // after a backslash
}

// append appends a piece of JSON to to, with line breaks and indentation. A piece may end anywhere, even within a
// string.
func (p *indenter) append(to, from []byte) []byte {
	for _, c := range from {
		if p.text {
			to = append(to, c)
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
				to = p.line(to)
			}
			p.open = false
			to = append(to, c)
			continue
		case ',':
			to = p.line(append(to, c))
			continue
		case ':':
			to = append(to, c, ' ')
			continue
		}
		if p.open {
			to = p.line(to)
		}
		if p.open = c == '[' || c == '{'; p.open {
			p.depth++
		}
		p.text = c == '"'
		to = append(to, c)
	}
	return to
}

func (p *indenter) line(to []byte) []byte {
	to = append(to, '\n')
	for range p.depth {
		to = append(to, "  "...)
	}
	return to
}
