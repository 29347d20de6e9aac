package terms

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"slices"
)

// Part is a part of a passage in which a term may occur.
type Part int

// Parts of a passage.
const (
	Text    Part = iota
	Label        // names of rows, headers of columns and captions of tables
	Section      // headings above the passage
	Title        // the title of its document
)

// Counts tells, in one byte, how often a term occurs in each part of a passage. The lowest four bits count up to 15
// occurrences in the text, and the next two bits up to 3 in labels. The next bit tells whether the term occurs in the
// section, and the highest bit whether it occurs in the title.
type Counts byte

// Text returns how often the term occurs in the text, at most 15.
func (c Counts) Text() int { return int(c & 15) }

// Label returns how often the term occurs in labels, at most 3.
func (c Counts) Label() int { return int(c >> 4 & 3) }

// Section reports whether the term occurs in the section.
func (c Counts) Section() bool { return c&(1<<6) != 0 }

// Title reports whether the term occurs in the title.
func (c Counts) Title() bool { return c&(1<<7) != 0 }

// Vector is a passage in the form that a search reads: a header of 4 bytes, then 4 bytes for each term. The high 24
// bits of a term are its hash, and the low 8 bits its Counts. The terms are in ascending order of their hashes.
//
// Among 100,000 words, some have the same hash. Therefore, in about one of 10,000 passages, a question of ten terms
// matches the hash of another word.
type Vector []byte

// headSize is the size of the header of a Vector in bytes: two with the number of words, one with Flags, and one with
// the topic.
const headSize = 4

// Flags are further properties of a passage, one per bit.
type Flags byte

// HasTable means that the passage contains a table.
const HasTable Flags = 1

// Builder builds one vector after another, separated by Reset. It caches the hashes of words, because the
// passages of a document have many words in common.
type Builder struct {
	counts map[uint32]Counts // of the current vector, by hash
	words  int               // the terms in the text of the current vector, with repetitions
	hashes map[string]uint32 // by word; noTerm for a stop word
}

const (
	noTerm   = 1 << 24 // is not a hash, because hashes have 24 bits
	maxWords = 100_000 // the number of words in the cache
)

// Reset begins a new vector.
func (b *Builder) Reset() {
	clear(b.counts)
	b.words = 0
}

// hash returns the hash of a word's term. It returns noTerm for a stop word.
func (b *Builder) hash(word string) uint32 {
	h, ok := b.hashes[word]
	if ok {
		return h
	}
	h = noTerm
	if t := Stem(word); t != "" {
		h = t.Hash()
	}
	if len(b.hashes) < maxWords {
		b.hashes[word] = h
	}
	return h
}

// Add counts the terms of a text in a part of the passage.
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

// Vector returns the vector of the texts that were added since Reset. topic is a number that the caller assigns to the
// subject of the passage.
func (b *Builder) Vector(flags Flags, topic byte) Vector {
	list := make([]uint32, 0, len(b.counts))
	for h, c := range b.counts {
		list = append(list, h<<8|uint32(c)) // the hash is in the high bits, so that the entries are sorted by it
	}
	slices.Sort(list)
	v := make(Vector, headSize, headSize+4*len(list))
	binary.BigEndian.PutUint16(v, uint16(min(b.words, math.MaxUint16))) //nolint:gosec // bounded
	v[2], v[3] = byte(flags), topic
	for _, entry := range list {
		v = binary.BigEndian.AppendUint32(v, entry)
	}
	return v
}

// Hash returns the 24-bit hash of a term in a vector.
func (t Term) Hash() uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(t)) // never fails
	sum := h.Sum32()
	return (sum>>24 ^ sum) & 0xffffff
}

// Valid reports whether a vector is well-formed.
func (v Vector) Valid() bool { return len(v) >= headSize && len(v)%4 == 0 }

// Words returns the number of terms in the text of the passage.
func (v Vector) Words() int { return int(binary.BigEndian.Uint16(v)) }

// Flags returns the flags given to Builder.Vector.
func (v Vector) Flags() Flags { return Flags(v[2]) }

// Topic returns the topic given to Builder.Vector.
func (v Vector) Topic() byte { return v[3] }

// Find returns how often a term occurs in the passage, or 0.
func (v Vector) Find(hash uint32) Counts {
	// This is a binary search among the entries of 4 bytes. Entry 0 is the header.
	low, high := 1, len(v)/4
	for low < high {
		middle := int(uint(low+high) >> 1)
		entry := binary.BigEndian.Uint32(v[4*middle:])
		switch found := entry >> 8; {
		case found == hash:
			return Counts(entry) //nolint:gosec // its last byte
		case found < hash:
			low = middle + 1
		default:
			high = middle
		}
	}
	return 0
}

// Overlap returns the number of terms that two vectors share, divided by the number of terms that at least one of them
// has, from 0 to 1. It returns 0 if one vector has less than half as many terms as the other.
func (v Vector) Overlap(w Vector) float64 {
	n, m := len(v)/4-1, len(w)/4-1
	if n <= 0 || m <= 0 || min(n, m) < max(n, m)/2 {
		return 0
	}
	shared := 0 // both vectors are sorted, so that they can be walked side by side
	for i, k := 1, 1; i <= n && k <= m; {
		a, b := binary.BigEndian.Uint32(v[4*i:])>>8, binary.BigEndian.Uint32(w[4*k:])>>8
		switch {
		case a == b:
			shared++
			i++
			k++
		case a < b:
			i++
		default:
			k++
		}
	}
	return float64(shared) / float64(n+m-shared)
}
