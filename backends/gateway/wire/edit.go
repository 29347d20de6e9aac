package wire

// Edit replaces src[From:To] with Text.
type Edit struct {
	From, To int
	Text     string
}

// Edits is a list of replacements in ascending, non-overlapping order.
type Edits []Edit

// Replace adds a replacement.
func (e *Edits) Replace(from, to int, text string) {
	*e = append(*e, Edit{from, to, text})
}

// Apply appends src with the replacements to dst.
func (e Edits) Apply(dst, src []byte) []byte {
	return e.Part(dst, src, 0, len(src))
}

// Part appends src[from:to] with the replacements that lie within it.
func (e Edits) Part(dst, src []byte, from, to int) []byte {
	for _, x := range e {
		if x.From >= from && x.To <= to {
			dst = append(dst, src[from:x.From]...)
			dst = append(dst, x.Text...)
			from = x.To
		}
	}
	return append(dst, src[from:to]...)
}
