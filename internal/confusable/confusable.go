// Package confusable tells whether texts look alike, and whether one is mixed of
// scripts that do, after Unicode Technical Standard #39.
package confusable

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/text/unicode/norm"
)

// table has a line for each code point that looks like something else: the code
// point and its prototype, in hex. testdata/confusables.c writes it from ICU 72,
// whose Unicode 15.0 is that of Go's tables.
//
//go:embed confusables.txt
var table string

// passesMost bounds Skeleton; no prototype needs more than three.
const passesMost = 8

// prototypes are the lines of the table.
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

// Skeleton is the same for texts that look alike (UTS #39, section 4). It is for
// comparing only: it may look like neither, and be many times as long.
//
// A few prototypes fall apart into letters that have prototypes themselves, so
// texts pass until they stay.
func Skeleton(text string) string {
	for range passesMost {
		next := pass(text)
		if next == text {
			break
		}
		text = next
	}
	return text
}

// pass puts prototypes for all characters once.
func pass(text string) string {
	known := prototypes()
	var b strings.Builder
	for _, r := range norm.NFD.String(text) {
		if like, ok := known[r]; ok {
			b.WriteString(like)
		} else {
			b.WriteRune(r)
		}
	}
	return norm.NFD.String(b.String())
}
