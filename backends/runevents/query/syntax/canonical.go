package syntax

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Canonical returns the canonical form of a JSON value, in which values are stored and compared: without white space,
// with sorted keys, the shortest form of numbers, and U+FFFD in place of U+0000. Two values are equal if their
// canonical forms are equal. Canonical builds no tree, which would take much more memory than the text.
func Canonical(raw []byte) (string, error) {
	s := jsontext.NewScanner(raw)
	c := canonicalizer{&s, make([]byte, 0, len(raw))}
	if err := c.value(); err != nil {
		return "", err
	}
	if err := s.End(); err != nil {
		return "", err
	}
	return string(c.out), nil
}

// canonicalizer copies the JSON text of the scanner to out in canonical form. Its methods return syntax errors.
type canonicalizer struct {
	*jsontext.Scanner
	out []byte
}

// value copies the next value.
func (c *canonicalizer) value() error {
	switch c.Kind() {
	case jsontext.Array:
		c.out = append(c.out, '[')
		err := c.Array(func(i int) error {
			if i > 0 {
				c.out = append(c.out, ',')
			}
			return c.value()
		})
		c.out = append(c.out, ']')
		return err
	case jsontext.Object:
		return c.object()
	case jsontext.String:
		text, err := c.Word()
		c.text(text)
		return err
	case jsontext.Number:
		start := c.Start()
		err := c.Skip()
		c.out = appendCanonicalNumber(c.out, string(c.Since(start)))
		return err
	default: // null, true and false
		start := c.Start()
		err := c.Skip()
		c.out = append(c.out, c.Since(start)...)
		return err
	}
}

// text writes a string in quotes, in which it replaces U+0000 by U+FFFD.
func (c *canonicalizer) text(text []byte) {
	if bytes.IndexByte(text, 0) >= 0 {
		text = bytes.ReplaceAll(text, []byte{0}, []byte("\uFFFD"))
	}
	c.out = jsontext.AppendQuoted(c.out, text)
}

// memberRange describes a member of an object in the output by three positions: the beginning, the quote after the key,
// and the end. It is small because an object may have millions of members.
type memberRange struct{ from, quote, end uint32 }

// object copies an object and sorts its members. Most objects are sorted already.
func (c *canonicalizer) object() error {
	c.out = append(c.out, '{')
	start := len(c.out)
	var list []memberRange
	// key returns the text between the quotes of the key.
	key := func(m memberRange) []byte { return c.out[m.from+1 : m.quote] }
	sorted := true
	err := c.Object(func(name []byte) error {
		if len(list) > 0 {
			c.out = append(c.out, ',')
		}
		offset := len(c.out)
		c.text(name)
		quote := len(c.out) - 1
		c.out = append(c.out, ':')
		err := c.value()
		m := memberRange{uint32(offset), uint32(quote), uint32(len(c.out))} //nolint:gosec // a command is shorter
		sorted = sorted && (len(list) == 0 || bytes.Compare(key(list[len(list)-1]), key(m)) < 0)
		list = append(list, m)
		return err
	})
	if err == nil && !sorted {
		slices.SortStableFunc(list, func(a, b memberRange) int { return bytes.Compare(key(a), key(b)) })
		inOrder := make([]byte, 0, len(c.out)-start)
		for i, m := range list {
			// If two members have the same key, the last one is used, as in PostgreSQL.
			if i+1 < len(list) && bytes.Equal(key(m), key(list[i+1])) {
				continue
			}
			if len(inOrder) > 0 {
				inOrder = append(inOrder, ',')
			}
			inOrder = append(inOrder, c.out[m.from:m.end]...)
		}
		c.out = append(c.out[:start], inOrder...)
	}
	c.out = append(c.out, '}')
	return err
}

// Numbers from minLarge on, and those below maxSmall, keep an exponent. Without it, 1e308 would become sixty times as
// long.
const minLarge, maxSmall = 1e21, 1e-21

// appendCanonicalNumber appends a number. An integer has neither exponent nor fraction; any other number has the
// shortest form that parses to the same value.
func appendCanonicalNumber(b []byte, text string) []byte {
	if !strings.ContainsAny(text, ".eE") {
		if text == "-0" {
			return append(b, '0')
		}
		return append(b, text...)
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return append(b, text...) // exceeds a double; kept as written
	}
	if f == 0 {
		return append(b, '0')
	}
	format := byte('f')
	if size := math.Abs(f); size >= minLarge || size < maxSmall {
		format = 'e'
	}
	return strconv.AppendFloat(b, f, format, -1, 64)
}
