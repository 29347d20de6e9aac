package terms

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"slices"
)

// Part is where in a passage a term stands.
type Part int

// The parts of a passage.
const (
	Text    Part = iota
	Label        // names of rows, headers of columns and captions of tables
	Section      // headings above it
	Title        // of its document
)

// Counts are how often a term is in the parts of a passage, in one byte: up to 15
// times in its text, up to 3 in labels, and whether it is in the two others.
type Counts byte

// Text, Label, Section and Title are how often it is there.
func (c Counts) Text() int     { return int(c & 15) }
func (c Counts) Label() int    { return int(c >> 4 & 3) }
func (c Counts) Section() bool { return c&(1<<6) != 0 }
func (c Counts) Title() bool   { return c&(1<<7) != 0 }

// Vector is a passage as a search reads it: 4 bytes of head, then 4 for each term, of
// which 24 bits are a hash and 8 the Counts, in ascending order.
//
// Two of 100,000 words share a hash now and then; a question of ten terms meets a wrong
// one in about one of 10,000 passages.
type Vector []byte

const headSize = 4

// Flags are what else is known of a passage.
type Flags byte

// HasTable tells that a table is in the passage.
const HasTable Flags = 1

// Builder gathers a vector, and after Reset another: it remembers the words it has met,
// which the passages of a document have in common.
type Builder struct {
	counts map[uint32]Counts
	words  int
	hashes map[string]uint32 // of words; noTerm: it says nothing
}

const (
	noTerm    = 1 << 24
	mostWords = 100_000 // that are remembered
)

// Reset begins another vector.
func (b *Builder) Reset() {
	clear(b.counts)
	b.words = 0
}

// hash is that of the term of a word.
func (b *Builder) hash(word string) uint32 {
	h, ok := b.hashes[word]
	if ok {
		return h
	}
	h = noTerm
	if t := Stem(word); t != "" {
		h = t.Hash()
	}
	if len(b.hashes) < mostWords {
		b.hashes[word] = h
	}
	return h
}

// Add counts the terms of a text that stands in a part.
func (b *Builder) Add(part Part, text string) {
	if b.counts == nil {
		b.counts = make(map[uint32]Counts, 128)
		b.hashes = make(map[string]uint32, 256)
	}
	Each(text, func(word string) {
		h := b.hash(word)
		if h == noTerm {
			return
		}
		c := b.counts[h]
		switch part {
		case Text:
			if b.words++; c.Text() < 15 {
				c++
			}
		case Label:
			if c.Label() < 3 {
				c += 1 << 4
			}
		case Section:
			c |= 1 << 6
		case Title:
			c |= 1 << 7
		}
		b.counts[h] = c
	})
}

// Vector is what was gathered. topic is a number that the caller gives to what the
// passage is about.
func (b *Builder) Vector(flags Flags, topic byte) Vector {
	list := make([]uint32, 0, len(b.counts))
	for h, c := range b.counts {
		list = append(list, h<<8|uint32(c))
	}
	slices.Sort(list)
	v := make(Vector, headSize, headSize+4*len(list))
	binary.BigEndian.PutUint16(v, uint16(min(b.words, math.MaxUint16))) //nolint:gosec // bounded
	v[2], v[3] = byte(flags), topic
	for _, one := range list {
		v = binary.BigEndian.AppendUint32(v, one)
	}
	return v
}

// Hash is the number of a term in a vector, of 24 bits.
func (t Term) Hash() uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(t)) // never fails
	sum := h.Sum32()
	return (sum>>24 ^ sum) & 0xffffff
}

// Good reports whether a vector is whole.
func (v Vector) Good() bool { return len(v) >= headSize && len(v)%4 == 0 }

// Words is how many terms its text has.
func (v Vector) Words() int { return int(binary.BigEndian.Uint16(v)) }

// Flags are those given to Builder.Vector.
func (v Vector) Flags() Flags { return Flags(v[2]) }

// Topic is the one given to Builder.Vector.
func (v Vector) Topic() byte { return v[3] }

// Find is how often a term is in the passage; 0: it is not.
func (v Vector) Find(hash uint32) Counts {
	low, high := 1, len(v)/4
	for low < high {
		middle := int(uint(low+high) >> 1)
		one := binary.BigEndian.Uint32(v[4*middle:])
		switch at := one >> 8; {
		case at == hash:
			return Counts(one) //nolint:gosec // its last byte
		case at < hash:
			low = middle + 1
		default:
			high = middle
		}
	}
	return 0
}

// Overlap is the share of the terms of both that are in each of them, 0 to 1.
func (v Vector) Overlap(other Vector) float64 {
	n, m := len(v)/4-1, len(other)/4-1
	if n <= 0 || m <= 0 || min(n, m) < max(n, m)/2 {
		return 0
	}
	both := 0
	for i, k := 1, 1; i <= n && k <= m; {
		a, b := binary.BigEndian.Uint32(v[4*i:])>>8, binary.BigEndian.Uint32(other[4*k:])>>8
		switch {
		case a == b:
			both++
			i++
			k++
		case a < b:
			i++
		default:
			k++
		}
	}
	return float64(both) / float64(n+m-both)
}
