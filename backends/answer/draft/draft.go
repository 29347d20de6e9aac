// Package draft writes answers. Each sentence names the passages that support it by marks, such as "[P3]". Without a
// model it uses templates for values and sentences of the passages, which is deterministic (extractive). With a model,
// it gives the passages to the model as fenced data.
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
	Marks []int  // the indexes of passages in the order of the marks; -1 for an invalid mark
	// Fixed reports that the sentence is the service's own line, such as the information line or the line about parts
	// that were not found.
	Fixed bool
	// Computed reports that the words of the sentence are the service's own and its figures are computed.
	Computed bool
	// Break reports that the sentence begins a new line.
	Break bool
}

// Draft is an answer before it is assembled.
type Draft struct {
	Sentences []Sentence
	// Confidence is how certain the rules are that the draft answers the question, from 0 to 1. It is 0 for the draft
	// of a model.
	Confidence float64
}

// Information is the last line of an answer to a question for advice.
const Information = "This is information, not investment advice."

// mark matches the mark by which a sentence names a passage, such as "[P3]".
var mark = regexp.MustCompile(`\s*\[\s*[pP]\s?(\d{1,4})\s*\]`)

// anyMark also matches texts that look like marks but are not valid marks.
var anyMark = regexp.MustCompile(`\s*\[\s*(?:[pP]?\s?\d{1,6}|[pP][^\]]{0,20}|source[^\]]{0,20})\s*\](?:\([^)]*\))?`)

// Parse parses the text that a model wrote. passages is the number of passages in the prompt.
func Parse(text string, passages int) Draft {
	var d Draft
	for line := range strings.Lines(text) {
		first := true
		for _, s := range Split(strings.TrimSpace(line)) {
			sentence := Sentence{Break: first && len(d.Sentences) > 0}
			for _, m := range anyMark.FindAllString(s, 40) {
				index := -1
				if found := mark.FindStringSubmatch(m); found != nil {
					if n, err := strconv.Atoi(found[1]); err == nil && n >= 1 && n <= passages && !strings.Contains(m, "(") {
						index = n - 1
					}
				}
				if !slices.Contains(sentence.Marks, index) {
					sentence.Marks = append(sentence.Marks, index)
				}
			}
			sentence.Text = strings.TrimSpace(anyMark.ReplaceAllString(s, ""))
			if sentence.Text == "" || strings.Trim(sentence.Text, ".*#-_ ") == "" {
				if n := len(d.Sentences); n > 0 && !sentence.Break { // the mark stands after the full stop
					for _, m := range sentence.Marks {
						if !slices.Contains(d.Sentences[n-1].Marks, m) {
							d.Sentences[n-1].Marks = append(d.Sentences[n-1].Marks, m)
						}
					}
				}
				continue
			}
			d.Sentences = append(d.Sentences, sentence)
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

// Marked returns the draft in one line, with marks in the form in which models write them.
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
			if begin := strings.LastIndexAny(word, " ("); begin >= 0 {
				word = word[begin+1:]
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
			location := anyMark.FindStringIndex(rest)
			if location == nil || location[0] != 0 {
				break
			}
			end += location[1]
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
