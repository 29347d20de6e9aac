package jsontext

import (
	"bytes"
	"cmp"
	"slices"
)

// Edit is a replacement of the bytes from the offset From up to the offset To with Text.
type Edit struct {
	From, To int
	Text     string
}

// Edits is a list of replacements in a text. They are in ascending order and do not overlap.
type Edits []Edit

// Replace adds a replacement of the text between two offsets. It must follow the replacements that were added before.
func (e *Edits) Replace(start, end int, text string) {
	*e = append(*e, Edit{start, end, text})
}

// Apply appends src with the replacements to dst.
func (e Edits) Apply(dst, src []byte) []byte {
	return e.Part(dst, src, 0, len(src))
}

// Part appends src[start:end] to dst, with the replacements within that range.
func (e Edits) Part(dst, src []byte, start, end int) []byte {
	copied := start // offset up to which src was copied
	for _, edit := range e {
		if edit.From >= copied && edit.To <= end {
			dst = append(dst, src[copied:edit.From]...)
			dst = append(dst, edit.Text...)
			copied = edit.To
		}
	}
	return append(dst, src[copied:end]...)
}

// Sort orders the replacements by their offset. It is only needed if they were added in another order.
func (e Edits) Sort() {
	slices.SortFunc(e, func(a, b Edit) int { return cmp.Compare(a.From, b.From) })
}

// Item is a member of an object, including its key, or an element of an array.
type Item struct {
	From, To int
	Drop     bool // the item is to be removed
}

// Remove adds replacements that remove items whose Drop is set, each with one comma. items are all items of one object
// or array.
func (e *Edits) Remove(items []Item) {
	hasKept := false // an earlier item is kept
	for i, item := range items {
		switch {
		case !item.Drop:
			hasKept = true
		case hasKept: // with the comma before the item
			e.Replace(items[i-1].To, item.To, "")
		case i+1 < len(items): // with the comma after the item
			e.Replace(item.From, items[i+1].From, "")
		default: // no item is left, and so no comma
			e.Replace(item.From, item.To, "")
		}
	}
}

// ObjectItems works like Object and returns the members as items. member may set Drop of its item.
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

// ArrayItems works like Array and returns the elements as items. element may set Drop of its item.
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

// KeyAt returns the offset of the opening quote of the key whose value begins at the given offset. A Scanner must
// have validated the object up to this offset.
func KeyAt(body []byte, offset int) int {
	i := bytes.LastIndexByte(body[:offset], ':')
	i = bytes.LastIndexByte(body[:i], '"') // the closing quote
	for {
		i = bytes.LastIndexByte(body[:i], '"')
		backslashes := i - len(bytes.TrimRight(body[:i], `\`))
		if backslashes%2 == 0 { // after an odd number, the quote is part of the key
			return i
		}
	}
}
