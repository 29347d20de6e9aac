package jsontext

import (
	"cmp"
	"slices"
)

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

// Sort puts replacements that were noted in another order in that of the text.
func (e Edits) Sort() {
	slices.SortFunc(e, func(a, b Edit) int { return cmp.Compare(a.From, b.From) })
}

// Item is a member of an object, its key included, or an element of an array.
type Item struct {
	From, To int
	Drop     bool // it is to be left out
}

// Remove leaves out the items of one object or array that are to be dropped, each
// with one comma.
func (e *Edits) Remove(items []Item) {
	kept := false
	for i, item := range items {
		switch {
		case !item.Drop:
			kept = true
		case kept:
			e.Replace(items[i-1].To, item.To, "")
		case i+1 < len(items):
			e.Replace(item.From, items[i+1].From, "")
		default:
			e.Replace(item.From, item.To, "")
		}
	}
}

// ObjectItems is Object that notes the members as items, to be dropped as member says.
func (s *Scanner) ObjectItems(member func(key []byte, item *Item) error) (items []Item, err error) {
	err = s.Object(func(key []byte) error {
		items = append(items, Item{From: KeyAt(s.b, s.Start())})
		item := &items[len(items)-1]
		err := member(key, item)
		item.To = s.i
		return err
	})
	return items, err
}

// ArrayItems is Array that does so with elements.
func (s *Scanner) ArrayItems(element func(item *Item) error) (items []Item, err error) {
	err = s.Array(func(int) error {
		items = append(items, Item{From: s.Start()})
		item := &items[len(items)-1]
		err := element(item)
		item.To = s.i
		return err
	})
	return items, err
}

// KeyAt is the offset of the opening quote of the key whose value stands at from.
// A Scanner must have passed the object up to there.
func KeyAt(body []byte, from int) int {
	i := from - 1
	for body[i] != ':' {
		i--
	}
	for i--; body[i] != '"'; i-- { // the closing one
	}
	for {
		for i--; body[i] != '"'; i-- {
		}
		// A quote behind an odd number of backslashes is part of the key.
		n := 0
		for body[i-1-n] == '\\' {
			n++
		}
		if n%2 == 0 {
			return i
		}
	}
}
