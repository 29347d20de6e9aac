package wire

// edit replaces src[from:to] with text.
type edit struct {
	from, to int
	text     string
}

// edits is a list of replacements in ascending, non-overlapping order.
type edits []edit

func (e *edits) replace(from, to int, text string) {
	*e = append(*e, edit{from, to, text})
}

// apply appends src with the replacements to dst.
func (e edits) apply(dst, src []byte) []byte {
	at := 0
	for _, x := range e {
		dst = append(dst, src[at:x.from]...)
		dst = append(dst, x.text...)
		at = x.to
	}
	return append(dst, src[at:]...)
}

// part appends src[from:to] with the replacements that lie within it.
func (e edits) part(dst, src []byte, from, to int) []byte {
	for _, x := range e {
		if x.from >= from && x.to <= to {
			dst = append(dst, src[from:x.from]...)
			dst = append(dst, x.text...)
			from = x.to
		}
	}
	return append(dst, src[from:to]...)
}
