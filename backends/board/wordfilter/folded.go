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
	// offsets maps the offset of each byte in folded, and the offset of the end, to the offset of the same letter in text.
	// It is nil if each offset is the same in folded and in text. That is usual: only few letters, such as ſ, have another
	// size in another case.
	offsets []int32
}

// fold returns text with its folded copy.
func fold(text string) folded {
	f := folded{text: text}
	var b strings.Builder
	b.Grow(len(text))
	for i, r := range text {
		start := b.Len() // the offset in folded of this letter
		b.WriteRune(letter(r))
		if f.offsets == nil && b.Len() != i+size(text, i, r) { // from here on, the offsets differ
			f.offsets = make([]int32, start, len(text)+1)
			for j := range f.offsets {
				f.offsets[j] = int32(j)
			}
		}
		if f.offsets != nil {
			for range b.Len() - start {
				f.offsets = append(f.offsets, int32(i)) //nolint:gosec // texts are far shorter
			}
		}
	}
	if f.offsets != nil {
		f.offsets = append(f.offsets, int32(len(text))) //nolint:gosec // texts are far shorter
	}
	f.folded = b.String()
	return f
}

// size returns the number of bytes of rune r, which is at offset i of text. For invalid UTF-8, r is utf8.RuneError,
// which can stand for a single byte.
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
	lowest := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		lowest = min(lowest, next)
	}
	return lowest
}

// offset converts an offset in folded to the offset in text.
func (f *folded) offset(i int) int {
	if f.offsets == nil {
		return i
	}
	return int(f.offsets[i])
}

// replace replaces all occurrences of a word, and adds the pieces of the resulting text to known.
func (f *folded) replace(r *replacement, known *pieces) {
	var result foldedBuilder
	copied := 0 // the offset in f.folded up to which result is written; 0 before the first match
	for pos := 0; ; {
		start := strings.Index(f.folded[pos:], r.pattern.folded)
		if start < 0 {
			break
		}
		start += pos
		end := start + len(r.pattern.folded)
		if f.offset(end)-f.offset(start) != len(r.pattern.text) { // a match must have as many bytes as the pattern
			_, n := utf8.DecodeRuneInString(f.folded[start:])
			pos = start + n
			continue
		}
		if copied == 0 {
			result.text.Grow(len(f.text))
			result.folded.Grow(len(f.folded))
		}
		result.add(f, copied, start)
		result.add(&r.replacement, 0, len(r.replacement.folded))
		copied, pos = end, end
	}
	if copied == 0 {
		return
	}
	result.add(f, copied, len(f.folded))
	*f = result.build()
	known.add(f.folded)
}

// foldedBuilder builds a folded text from parts of other folded texts.
type foldedBuilder struct {
	text, folded strings.Builder
	offsets      []int32
}

// add appends the part of f between the offsets start and end in f.folded.
func (b *foldedBuilder) add(f *folded, start, end int) {
	textFrom, textTo := f.offset(start), f.offset(end)
	if f.offsets != nil && b.offsets == nil {
		b.offsets = make([]int32, 0, len(f.offsets))
		for i := range b.folded.Len() { // until now all offsets were equal
			b.offsets = append(b.offsets, int32(i))
		}
	}
	if b.offsets != nil {
		for i := start; i < end; i++ {
			b.offsets = append(b.offsets, int32(b.text.Len()+f.offset(i)-textFrom)) //nolint:gosec // texts are far shorter
		}
	}
	b.text.WriteString(f.text[textFrom:textTo])
	b.folded.WriteString(f.folded[start:end])
}

// build returns the folded text.
func (b *foldedBuilder) build() folded {
	if b.offsets != nil {
		b.offsets = append(b.offsets, int32(b.text.Len())) //nolint:gosec // texts are far shorter
	}
	return folded{text: b.text.String(), folded: b.folded.String(), offsets: b.offsets}
}

// pieces is a Bloom filter of all pieces that a text contains or contained. A piece is a sequence of four bytes. A word
// with a piece that is not in the filter need not be searched for in the text.
type pieces struct{ bits [1 << 10]uint64 }

// add adds all pieces of a text.
func (p *pieces) add(text string) {
	var piece uint32 // the four bytes up to i
	for i := range len(text) {
		piece = piece<<8 | uint32(text[i])
		if i >= 3 {
			bit := bitOf(piece)
			p.bits[bit>>6] |= 1 << (bit & 63)
		}
	}
}

// mayHave reports whether the text may contain a word. If it returns false, the text does not contain it.
func (p *pieces) mayHave(word string) bool {
	var piece uint32 // the four bytes up to i
	for i := range len(word) {
		piece = piece<<8 | uint32(word[i])
		if bit := bitOf(piece); i >= 3 && p.bits[bit>>6]&(1<<(bit&63)) == 0 {
			return false
		}
	}
	return true
}

// bitOf returns the number of the bit, out of 1<<16, that represents a piece.
func bitOf(piece uint32) uint32 { return piece * 0x9E3779B1 >> 16 }
