// Package username checks names of accounts, so that readers can distinguish them and no account has a name that stands
// for the site.
package username

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/tollgate-gateway/tollgate/internal/confusable"
)

// maxMarks limits the marks on a letter. More marks would reach into other lines.
const maxMarks = 4

// Error is the reason why a name is refused.
type Error struct {
	// Reason is a word for programs: invisible, spaces, marks, scripts, digits or reserved.
	Reason string
	// Message is the text for people.
	Message string
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Check returns an *Error for a name that readers cannot distinguish from other names or cannot read at all. It does
// not check the length, nor characters that only some sites forbid.
func Check(name string) error {
	name = norm.NFC.String(name)
	switch {
	case strings.ContainsFunc(name, invisible):
		return &Error{"invisible", "the name has a character that cannot be seen"}
	case strings.HasPrefix(name, " "), strings.HasSuffix(name, " "), strings.Contains(name, "  "):
		return &Error{"spaces", "the name has a space at its ends, or two in a row"}
	case manyMarks(name):
		return &Error{"marks", "the name has marks without a letter, or too many on one"}
	case confusable.MixesScripts(name):
		return &Error{"scripts", "the name mixes scripts, such as Latin and Cyrillic; write it in one"}
	case confusable.MixesDigits(name):
		return &Error{"digits", "the name mixes digits of different scripts"}
	}
	return nil
}

// invisible reports whether a character is not shown or not assigned: format and control characters, fillers, spaces of
// other widths, and unassigned code points.
func invisible(r rune) bool {
	switch r {
	case ' ':
		return false
	case '\u2800', '\uFFFC', '\uFFFD': // an empty Braille cell, and replacement characters
		return true
	}
	return unicode.In(r, unicode.C, unicode.Z, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) ||
		!unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S)
}

// manyMarks reports whether a name has a mark without a letter, an enclosing mark, or too many marks on a letter.
func manyMarks(name string) bool {
	marks := maxMarks // marks on the current letter; at the beginning and after a space no mark is allowed
	for _, r := range name {
		if !unicode.IsMark(r) {
			marks = 0
			if r == ' ' {
				marks = maxMarks
			}
			continue
		}
		if marks++; marks > maxMarks || unicode.Is(unicode.Me, r) {
			return true
		}
	}
	return false
}

// Keys returns one or two keys of a name, for comparison only. Names that look alike, as written or in lower case,
// share a key, so keys should be unique over all names. A name has two keys if its two forms look like different names:
// the capital I looks like the small L, but the small i does not.
func Keys(name string) []string {
	name = strings.Join(strings.Fields(norm.NFKC.String(name)), " ")
	lowerKey := key(strings.ToLower(name))
	if asWritten := key(name); asWritten != lowerKey {
		return []string{lowerKey, asWritten}
	}
	return []string{lowerKey}
}

// key returns the skeleton of a text without regard to case. U+0000 is replaced, because PostgreSQL does not accept it.
func key(text string) string {
	lower := strings.ToLower(confusable.Skeleton(text)) // some skeletons have capitals
	return strings.ReplaceAll(confusable.Skeleton(lower), "\x00", "\uFFFD")
}

// Reserved is a set of names that nobody may register.
type Reserved map[string]bool

// Common are names that stand for a site or its staff, or that suggest that there is no account.
var Common = []string{
	"admin", "admins", "administrator", "administrators", "administration",
	"moderator", "moderators", "moderation", "mod", "mods",
	"system", "sysadmin", "sysop", "root", "superuser", "webmaster", "hostmaster", "postmaster", "operator",
	"support", "help", "helpdesk", "staff", "team", "security", "abuse", "official", "info", "noreply", "mailer-daemon",
	"deleted", "deleted member", "deleted user", "guest", "anonymous", "nobody", "everyone", "unknown", "null",
	"undefined",
}

// NewReserved reserves words and all names that look like them, also with spaces and marks in between.
func NewReserved(words ...string) Reserved {
	all := make(Reserved)
	for _, word := range words {
		for _, spelling := range []string{word, strings.ToUpper(word)} {
			for _, key := range Keys(spelling) {
				all[lettersOf(key)] = true
			}
		}
	}
	delete(all, "")
	return all
}

// Check returns an *Error for a reserved name.
func (r Reserved) Check(name string) error {
	if slices.ContainsFunc(Keys(name), func(key string) bool { return r[lettersOf(key)] }) {
		return &Error{"reserved", "this name, or one that looks like it, is reserved"}
	}
	return nil
}

// lettersOf returns a key with only its letters and digits.
func lettersOf(key string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			return r
		}
		return -1
	}, key)
}
