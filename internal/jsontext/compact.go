package jsontext

// Compact returns JSON text without the white space between its tokens.
func Compact(text string) string {
	var out []byte
	inString := false
	copied := 0 // offset up to which text was copied to out
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			inString = !inString
		case inString && c == '\\':
			i++
		case !inString && (c == ' ' || c == '\n' || c == '\t' || c == '\r'):
			out = append(out, text[copied:i]...)
			copied = i + 1
		}
	}
	if copied == 0 {
		return text
	}
	return string(append(out, text[copied:]...))
}
