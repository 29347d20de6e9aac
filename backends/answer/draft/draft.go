// Package draft writes answers whose sentences name the passages that they stand on: either with templates
// from values and sentences that were found (extractive and deterministic), or with a model, which gets the
// passages as fenced data.
//
// Choices where the specification is silent:
//   - An extractive answer of text has at most two sentences, in the words of their document.
//   - Sentences of documents that contain an address, or that speak to a model, are never quoted.
package draft

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Sentence is a sentence of a draft.
type Sentence struct {
	Text  string // without its marks
	Marks []int  // the indexes of passages in the order of the marks; -1 for a mark that names none
	// Fixed reports that it is the service's own line, such as the information line or what was not found.
	Fixed bool
	// Computed reports that its words are the service's own and its figures are computed.
	Computed bool
	// Break reports that it begins a new line.
	Break bool
}

// Draft is an answer before it is assembled.
type Draft struct {
	Sentences []Sentence
	// Confidence tells how certain the rules are that this is what was asked, from 0 to 1. It is 0 for the draft
	// of a model.
	Confidence float64
}

// Information is the last line of an answer to a question for advice.
const Information = "This is information, not investment advice."

// mark matches the mark by which a sentence names a passage.
var mark = regexp.MustCompile(`\s*\[\s*[pP]\s?(\d{1,4})\s*\]`)

// anyMark also matches what looks like a mark and is none.
var anyMark = regexp.MustCompile(`\s*\[\s*(?:[pP]?\s?\d{1,6}|[pP][^\]]{0,20}|source[^\]]{0,20})\s*\](?:\([^)]*\))?`)

// Parse parses the text that a model wrote. passages is the number of passages that it was given.
func Parse(text string, passages int) Draft {
	var d Draft
	for line := range strings.Lines(text) {
		first := true
		for _, s := range Split(strings.TrimSpace(line)) {
			one := Sentence{Break: first && len(d.Sentences) > 0}
			for _, m := range anyMark.FindAllString(s, 40) {
				at := -1
				if found := mark.FindStringSubmatch(m); found != nil {
					if n, err := strconv.Atoi(found[1]); err == nil && n >= 1 && n <= passages && !strings.Contains(m, "(") {
						at = n - 1
					}
				}
				if !slices.Contains(one.Marks, at) {
					one.Marks = append(one.Marks, at)
				}
			}
			one.Text = strings.TrimSpace(anyMark.ReplaceAllString(s, ""))
			if one.Text == "" || strings.Trim(one.Text, ".*#-_ ") == "" {
				if n := len(d.Sentences); n > 0 && !one.Break { // the mark stands after the full stop
					for _, m := range one.Marks {
						if !slices.Contains(d.Sentences[n-1].Marks, m) {
							d.Sentences[n-1].Marks = append(d.Sentences[n-1].Marks, m)
						}
					}
				}
				continue
			}
			d.Sentences = append(d.Sentences, one)
			first = false
		}
	}
	return d
}

// Text returns the draft without its marks.
func (d Draft) Text() string {
	var b strings.Builder
	for i, s := range d.Sentences {
		if i > 0 {
			if s.Break {
				b.WriteString("\n")
			} else {
				b.WriteByte(' ')
			}
		}
		b.WriteString(s.Text)
	}
	return b.String()
}

// Marked returns the draft in one line, with its marks as a model writes them.
func (d Draft) Marked() string {
	var b strings.Builder
	for i, s := range d.Sentences {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(s.Text)
		for _, m := range s.Marks {
			b.WriteString(" [p" + strconv.Itoa(m+1) + "]")
		}
	}
	return b.String()
}

// abbreviations end with a point that does not end a sentence.
var abbreviations = map[string]bool{
	"inc": true, "corp": true, "co": true, "ltd": true, "no": true, "mr": true, "ms": true, "mrs": true, "dr": true,
	"vs": true, "approx": true, "st": true,
	"u.s": true, "u.k": true, "e.g": true, "i.e": true, "jan": true, "feb": true, "mar": true, "apr": true, "aug": true,
	"sept": true, "oct": true, "nov": true, "dec": true, "jr": true, "sr": true, "plc": true, "etc": true, "fig": true,
	"al": true, "vol": true, "art": true,
}

// maxSentences bounds the sentences of a text.
const maxSentences = 2000

// Split splits a paragraph into sentences. A mark after the full stop belongs to the sentence before it.
func Split(text string) []string {
	var all []string
	start := 0
	for i := 0; i < len(text) && len(all) < maxSentences; i++ {
		c := text[i]
		if c != '.' && c != '!' && c != '?' {
			continue
		}
		end := i + 1
		for end < len(text) && strings.IndexByte(`"')”’`, text[end]) >= 0 {
			end++
		}
		if end < len(text) && text[end] != ' ' && text[end] != '[' {
			continue
		}
		if c == '.' {
			word := text[start:i]
			if at := strings.LastIndexAny(word, " ("); at >= 0 {
				word = word[at+1:]
			}
			next := strings.TrimLeft(text[end:], " ")
			lower := next != "" && next[0] >= 'a' && next[0] <= 'z'
			if lower || (abbreviations[strings.ToLower(word)] || len(word) == 1 && word[0] >= 'A' && word[0] <= 'Z') &&
				next != "" && next[0] != '[' {
				continue
			}
		}
		for { // marks after the full stop
			rest := text[end:]
			at := anyMark.FindStringIndex(rest)
			if at == nil || at[0] != 0 {
				break
			}
			end += at[1]
		}
		if s := strings.TrimSpace(text[start:end]); s != "" {
			all = append(all, s)
		}
		start = end
		i = end - 1
	}
	if s := strings.TrimSpace(text[start:]); s != "" {
		all = append(all, s)
	}
	return all
}
