package jsontext

// Compact returns JSON text without the white space between its tokens.
func Compact(text string) string {
	var out []byte
	quoted, from := false, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case !quoted && (c == ' ' || c == '\n' || c == '\t' || c == '\r'):
			out = append(out, text[from:i]...)
			from = i + 1
		}
	}
	if from == 0 {
		return text
	}
	return string(append(out, text[from:]...))
}
