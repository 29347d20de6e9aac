package directive

import (
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

// line returns the first token of the line that an error is about. It compares the message with each line and the
// blocks that enclose the line, and chooses the line whose words in the message have the greatest total length. If no
// line matches, it returns the first line.
func (p place) line(message string) caddyfile.Token {
	best, highest := p.tokens[0], 0
	if p.expandedFrom != nil {
		best = p.expandedFrom[0]
	}
	for _, tokens := range [][]caddyfile.Token{p.tokens, p.expandedFrom} {
		first, score := bestLine(tokens, message)
		isGenerated := p.expandedFrom != nil && first.File == p.generatedFile // the user does not know such lines
		if score > highest && !isGenerated {
			best, highest = first, score
		}
	}
	if dir, err := os.Getwd(); err == nil {
		if relative, err := filepath.Rel(dir, best.File); err == nil && filepath.IsLocal(relative) {
			best.File = relative // a file of an import
		}
	}
	return best
}

// bestLine returns the first token of the line that matches the message best, and the line's score, which is 0 if no
// line matches. Only lines inside a block are considered. The first line of the directive is therefore never the
// result.
func bestLine(tokens []caddyfile.Token, message string) (best caddyfile.Token, highest int) {
	var blocks []int // scores of the lines that opened the blocks around the current line
	for i := 0; i < len(tokens); {
		first := tokens[i]
		matched := 0         // total length of the line's words that are in the message
		significant := false // whether a matched word is the first of the line, or has at least 4 letters
		opened, closed := 0, 0
		for ; i < len(tokens) && tokens[i].Line == first.Line && tokens[i].File == first.File; i++ {
			switch text := tokens[i].Text; {
			case text == "{":
				opened++
			case text == "}":
				closed++
			case containsWord(message, text):
				matched += len(text)
				significant = significant || text == first.Text || len(text) >= 4
			}
		}
		score := 0
		if significant && len(blocks) > 0 {
			score = blocks[len(blocks)-1] + matched
		}
		if score > highest {
			best, highest = first, score
		}
		for range opened { // the lines inside the opened blocks add this score to their own
			blocks = append(blocks, score)
		}
		blocks = blocks[:max(len(blocks)-closed, 0)]
	}
	return best, highest
}

// containsWord reports whether message contains word, or word with an s at its end, as a whole word.
func containsWord(message, word string) bool {
	for start := 0; ; {
		i := strings.Index(message[start:], word)
		if i < 0 || word == "" {
			return false
		}
		previous, _ := utf8.DecodeLastRuneInString(message[:start+i])
		rest := message[start+i+len(word):]
		next, _ := utf8.DecodeRuneInString(strings.TrimPrefix(rest, "s"))
		if !isWordRune(previous) && !isWordRune(next) {
			return true
		}
		start += i + len(word)
	}
}

func isWordRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
