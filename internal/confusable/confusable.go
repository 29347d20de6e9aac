// Package confusable detects texts that look alike, and texts that mix scripts, according to Unicode Technical Standard
// #39.
package confusable

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/text/unicode/norm"
)

// table has a line for each code point that looks like another text: the code point and its prototype, in hex.
// testdata/confusables.c writes the table from ICU 72, whose Unicode 15.0 is that of Go's tables.
//
//go:embed confusables.txt
var table string

// maxPasses limits the passes of Skeleton. No prototype needs more than three.
const maxPasses = 8

// prototypes returns the parsed table: the prototypes by code point.
var prototypes = sync.OnceValue(func() map[rune]string {
	all := make(map[rune]string, 6000)
	for line := range strings.Lines(table) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		var points []rune
		for field := range strings.FieldsSeq(line) {
			point, err := strconv.ParseUint(field, 16, 21)
			if err != nil {
				panic(err) // the table is embedded
			}
			points = append(points, rune(point))
		}
		all[points[0]] = string(points[1:])
	}
	return all
})

// Skeleton returns the same text for texts that look alike (UTS #39, section 4). The result is only for comparison: it
// may look different from the text, and may be many times as long.
//
// A few prototypes decompose into letters that have prototypes themselves, so the replacement is repeated until the
// text no longer changes.
func Skeleton(text string) string {
	for range maxPasses {
		next := pass(text)
		if next == text {
			break
		}
		text = next
	}
	return text
}

// pass replaces each character by its prototype once.
func pass(text string) string {
	byRune := prototypes()
	var b strings.Builder
	for _, r := range norm.NFD.String(text) {
		if prototype, ok := byRune[r]; ok {
			b.WriteString(prototype)
		} else {
			b.WriteRune(r)
		}
	}
	return norm.NFD.String(b.String())
}
