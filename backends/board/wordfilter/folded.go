package wordfilter

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// folded is a text and a copy of it without differences of case: letters that differ only by case are the same letter
// in the copy.
type folded struct {
	text, folded string
	// at maps the offset of each byte in folded, and that of the end, to an offset in text. It is nil if all offsets
	// are equal. That is usual: only few letters, such as ſ, have another size in another case.
	at []int32
}

// fold returns text with its folded copy.
func fold(text string) folded {
	f := folded{text: text}
	var b strings.Builder
	b.Grow(len(text))
	for i, r := range text {
		to, n := letter(r), b.Len()
		b.WriteRune(to)
		if f.at == nil && b.Len() != i+size(text, i, r) {
			f.at = make([]int32, n, len(text)+1)
			for j := range f.at {
				f.at[j] = int32(j)
			}
		}
		for ; f.at != nil && n < b.Len(); n++ {
			f.at = append(f.at, int32(i)) //nolint:gosec // texts are far shorter
		}
	}
	if f.at != nil {
		f.at = append(f.at, int32(len(text))) //nolint:gosec // texts are far shorter
	}
	f.folded = b.String()
	return f
}

// size returns the number of bytes of rune r, which is at offset i of text.
func size(text string, i int, r rune) int {
	if r != utf8.RuneError {
		return utf8.RuneLen(r)
	}
	_, n := utf8.DecodeRuneInString(text[i:])
	return n
}

// letter returns the same rune for all runes that differ only by case, as [strings.EqualFold] compares them.
func letter(r rune) rune {
	if r < utf8.RuneSelf {
		if 'a' <= r && r <= 'z' {
			return r - 'a' + 'A'
		}
		return r
	}
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
}

// offset converts an offset in folded to the offset in text.
func (f *folded) offset(i int) int {
	if f.at == nil {
		return i
	}
	return int(f.at[i])
}

// replace replaces all occurrences of a word, and adds the pieces of the resulting text to has.
func (f *folded) replace(r *replacement, has *pieces) {
	var to rewritten
	done := 0 // the offset in folded up to which to has been written
	for from := 0; ; {
		i := strings.Index(f.folded[from:], r.pattern.folded)
		if i < 0 {
			break
		}
		i += from
		end := i + len(r.pattern.folded)
		if f.offset(end)-f.offset(i) != len(r.pattern.text) { // a match must have as many bytes as the pattern
			_, n := utf8.DecodeRuneInString(f.folded[i:])
			from = i + n
			continue
		}
		if done == 0 {
			to.text.Grow(len(f.text))
			to.folded.Grow(len(f.folded))
		}
		to.add(f, done, i)
		to.add(&r.by, 0, len(r.by.folded))
		done, from = end, end
	}
	if done == 0 {
		return
	}
	to.add(f, done, len(f.folded))
	*f = to.end()
	has.add(f.folded)
}

// rewritten builds a folded text from parts of other folded texts.
type rewritten struct {
	text, folded strings.Builder
	at           []int32
}

// add appends the part of f between the offsets from and to in f.folded.
func (w *rewritten) add(f *folded, from, to int) {
	first, last := f.offset(from), f.offset(to)
	if f.at != nil && w.at == nil {
		w.at = make([]int32, 0, len(f.at))
		for i := range w.folded.Len() { // until now text and folded were alike
			w.at = append(w.at, int32(i))
		}
	}
	if w.at != nil {
		for i := from; i < to; i++ {
			w.at = append(w.at, int32(w.text.Len()+f.offset(i)-first)) //nolint:gosec // texts are far shorter
		}
	}
	w.text.WriteString(f.text[first:last])
	w.folded.WriteString(f.folded[from:to])
}

func (w *rewritten) end() folded {
	if w.at != nil {
		w.at = append(w.at, int32(w.text.Len())) //nolint:gosec // texts are far shorter
	}
	return folded{text: w.text.String(), folded: w.folded.String(), at: w.at}
}

// pieces is the set of all sequences of four bytes that a text contains or contained. A word whose pieces are not all
// in the set need not be searched for in the text.
type pieces struct{ seen [1 << 10]uint64 }

func (p *pieces) add(text string) {
	var last uint32
	for i := range len(text) {
		last = last<<8 | uint32(text[i])
		if i >= 3 {
			at := place(last)
			p.seen[at>>6] |= 1 << (at & 63)
		}
	}
}

// mayHave reports whether the text may contain a word. If it returns false, the text does not contain it.
func (p *pieces) mayHave(word string) bool {
	var last uint32
	for i := range len(word) {
		last = last<<8 | uint32(word[i])
		if at := place(last); i >= 3 && p.seen[at>>6]&(1<<(at&63)) == 0 {
			return false
		}
	}
	return true
}

// place returns the number of the bit, out of 1<<16, that represents a piece.
func place(piece uint32) uint32 { return piece * 0x9E3779B1 >> 16 }
