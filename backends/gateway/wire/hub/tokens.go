package hub

import (
	"math/bits"
	"unicode"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
)

// perTool is the cost of a tool beside its text, in tokens.
const perTool = 12

// CountTokens estimates the tokens of a prompt. It uses no tokenizer's tables, so the result is the same for all
// models: about 3.6 bytes per token for text and code, one character per token for Chinese, Japanese and Korean, 2.5
// digits per token.
func CountTokens(r *Request) int64 {
	if r.counted > 0 {
		return r.counted
	}
	var c counter
	for i := range r.Messages {
		m := &r.Messages[i]
		c.tokens += wire.MessageTokens
		for j := range m.Parts {
			c.part(&m.Parts[j])
		}
		for _, call := range m.Calls {
			c.text(call.Name)
			c.text(call.Arguments)
		}
		for _, reasoning := range m.Reasoning {
			c.text(reasoning.Text)
		}
	}
	for i := range r.Tools {
		t := &r.Tools[i]
		c.tokens += perTool
		c.text(t.Name)
		c.text(t.Description)
		c.text(t.Parameters)
	}
	if r.Output != nil {
		c.text(r.Output.Schema)
	}
	return c.tokens + (c.latin*10+35)/36 + (c.digits*2+4)/5
}

// counter counts tokens. digits is the number of ASCII digits, and latin the number of other bytes, that are not yet
// converted to tokens.
type counter struct{ tokens, latin, digits int64 }

// text counts the tokens of a text.
func (c *counter) text(s string) {
	for i := 0; i < len(s); {
		if i+8 <= len(s) { // eight ASCII bytes are counted at once
			if w := load(s[i : i+8]); w&highs == 0 {
				n := digits(w)
				c.digits += n
				c.latin += 8 - n
				i += 8
				continue
			}
		}
		b := s[i]
		switch {
		case '0' <= b && b <= '9':
			c.digits++
			i++
		case b < utf8.RuneSelf:
			c.latin++
			i++
		default:
			r, size := utf8.DecodeRuneInString(s[i:])
			if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
				c.tokens++
			} else {
				c.latin += int64(size)
			}
			i += size
		}
	}
}

// Each of the eight bytes of ones is 1. In highs, only the high bit of each byte is set. highs finds bytes that are not
// ASCII.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// load returns the first 8 bytes of s as an integer. The compiler turns the function into one read.
func load(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// digits returns how many of the 8 ASCII bytes in w are digits. The first sum carries into the high bit of each byte
// that is not below '0'. The second sum carries into the high bit of each byte above '9'.
func digits(w uint64) int64 {
	return int64(bits.OnesCount64((w + ones*(0x80-'0')) &^ (w + ones*(0x7f-'9')) & highs))
}

// part counts the tokens of a piece of content.
func (c *counter) part(p *Part) {
	switch p.Kind {
	case PartText, PartRefusal:
		c.text(p.Text)
	case PartImage:
		c.tokens += wire.ImageTokens([]byte(p.URL[:min(len(p.URL), wire.HeadOfImage)]))
	case PartFile:
		c.tokens += wire.FileTokens(len(p.URL))
	case PartAudio:
		c.tokens += wire.AudioTokens
	case PartOther:
		c.text(p.Raw)
	}
}
