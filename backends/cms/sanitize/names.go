package sanitize

import (
	"strings"
	"unicode"

	"github.com/tollgate-gateway/tollgate/internal/text"
)

// isDigit reports whether r is an ASCII digit.
func isDigit(r rune) bool { return '0' <= r && r <= '9' }

// isAlpha reports whether r is an ASCII letter.
func isAlpha(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }

// isVar reports whether r can be part of the name of a variable or a field: an ASCII letter, a digit or an underscore.
func isVar(r rune) bool { return isAlpha(r) || isDigit(r) || r == '_' }

// isHyphened reports whether r can be part of the name of a template: it is a hyphen, or isVar returns true for it.
func isHyphened(r rune) bool { return isVar(r) || r == '-' }

// isName reports whether r can be part of any other name: it is a dot, or isHyphened returns true for it.
func isName(r rune) bool { return isHyphened(r) || r == '.' }

// keepOnly keeps the characters for which keep returns true. It replaces the others by replacement, or removes them if
// replacement is -1. The result has at most limit characters.
func keepOnly(s string, limit int, keep func(rune) bool, replacement rune) string {
	return text.Cut(strings.Map(func(r rune) rune {
		if keep(r) {
			return r
		}
		return replacement
	}, s), limit)
}

// name returns s as a name, in which ASCII letters, digits and "_-." are allowed. It replaces other characters by
// underscores.
func name(s string, limit int) string { return keepOnly(trim(s), limit, isName, '_') }

// fieldName returns s as the name of a field. It replaces characters other than those of isVar by underscores.
func fieldName(s string, limit int) string { return keepOnly(trim(s), limit, isVar, '_') }

// templateName returns s as the name of a template. It replaces characters other than those of isHyphened by hyphens.
func templateName(s string, limit int) string { return keepOnly(trim(s), limit, isHyphened, '-') }

// alpha keeps only ASCII letters.
func alpha(s string, limit int) string { return keepOnly(s, limit, isAlpha, -1) }

// digits keeps only ASCII digits.
func digits(s string, limit int) string { return keepOnly(s, limit, isDigit, -1) }

// alphanumeric keeps only ASCII letters and digits.
func alphanumeric(s string, limit int) string {
	return keepOnly(s, limit, func(r rune) bool { return isAlpha(r) || isDigit(r) }, -1)
}

// chars keeps the characters that the first argument of the sanitizer contains. Without an argument, it keeps ASCII
// letters and digits.
func chars(value any, o options) any {
	if len(o.arguments) == 0 {
		return alphanumeric(str(value), o.limit)
	}
	allowed := make(map[rune]bool)
	for _, r := range str(o.arguments[0]) {
		allowed[r] = true
	}
	return keepOnly(str(value), o.limit, func(r rune) bool { return allowed[r] }, -1)
}

// punctuation lists the characters of a page name with which the name must neither begin nor end.
const punctuation = "._-"

// pageName returns s as the name of a page, in lower case. It replaces all characters by hyphens, except the letters
// from a to z, digits and the characters in punctuation.
func pageName(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		if r = unicode.ToLower(r); 'a' <= r && r <= 'z' || isDigit(r) || strings.ContainsRune(punctuation, r) {
			return r
		}
		return '-'
	}, s)
	return strings.TrimRight(text.Cut(strings.TrimLeft(s, punctuation), limit), punctuation)
}

// pageNameTranslate is like pageName, but transliterates letters outside of ASCII.
func pageNameTranslate(s string, limit int) string { return pageName(text.Transliterate(s), limit) }

// pagePathName returns s as a path of page names. It keeps a slash at the beginning and at the end.
func pagePathName(s string, limit int) string {
	s = trim(s)
	var b strings.Builder
	for segment := range strings.SplitSeq(s, "/") {
		cleaned := pageName(segment, 128)
		if cleaned == "" {
			continue
		}
		if b.Len() > 0 || s[0] == '/' {
			b.WriteByte('/')
		}
		b.WriteString(cleaned)
	}
	if strings.HasSuffix(s, "/") {
		b.WriteByte('/')
	}
	return strings.TrimRight(text.Cut(b.String(), limit), punctuation)
}

// path returns a value if it is a path in the form of pagePathName, and false otherwise.
func path(value any, o options) any {
	if value == false { // false is the result for an invalid path; it is returned unchanged, so that path is idempotent
		return false
	}
	s := str(value)
	if pagePathName(s, o.limit) != s {
		return false
	}
	return s
}

// filename returns s as the name of a file. If it has to cut the name, it keeps the extension.
func filename(s string, limit int) string {
	s = s[strings.LastIndexAny(s, `/\`)+1:]
	s = strings.Trim(keepOnly(trim(s), unlimited, isName, '_'), ".")
	if len(s) <= limit {
		return s
	}
	if dot := strings.LastIndexByte(s, '.'); dot > 0 && len(s)-dot <= 16 && len(s)-dot < limit {
		return s[:limit-(len(s)-dot)] + s[dot:]
	}
	return strings.TrimRight(s[:limit], ".")
}

// attrName returns s as the name of an HTML attribute. It removes all other characters.
func attrName(s string, limit int) string {
	s = keepOnly(s, unlimited, func(r rune) bool { return isName(r) || r == ':' }, -1)
	return text.Cut(strings.TrimLeft(s, "0123456789.-"), limit)
}

// classMarks are the characters of a class other than letters and digits: the hyphen, the underscore, and the marks of
// utility classes (md:flex, @sm).
const classMarks = "-_:@"

// htmlClass returns s as a class of an HTML element, or an empty string if s has no letter or digit. It replaces each
// character that a class cannot have by a hyphen. It removes digits at the beginning, because a class does not begin
// with a digit.
func htmlClass(s string, limit int) string {
	s = keepOnly(trim(s), unlimited, func(r rune) bool {
		return isAlpha(r) || isDigit(r) || strings.ContainsRune(classMarks, r)
	}, '-')
	s = text.Cut(strings.TrimLeft(s, "0123456789"), limit)
	if strings.Trim(s, classMarks) == "" {
		return ""
	}
	return s
}

// htmlClasses returns the classes in a list, without duplicates. In the list s, they are separated by white space,
// commas or dots.
func htmlClasses(s string, limit int) string {
	var b strings.Builder
	seen := make(map[string]bool)
	for class := range strings.FieldsFuncSeq(s, func(r rune) bool { return isSpace(r) || r == ',' || r == '.' }) {
		if class = htmlClass(class, 128); class == "" || seen[class] {
			continue
		}
		seen[class] = true
		separatorLength := min(b.Len(), 1) // 0 for the first class
		if b.Len()+separatorLength+len(class) > limit {
			break
		}
		b.WriteString(" "[:separatorLength])
		b.WriteString(class)
	}
	return b.String()
}

// asciiWords returns the words of a text. A word ends at a character other than an ASCII letter or digit, and before a
// capital that does not follow a capital. Latin letters with diacritics are replaced by ASCII letters first.
func asciiWords(s string) (found []string) {
	s = strings.Map(func(r rune) rune {
		if isAlpha(r) || isDigit(r) {
			return r
		}
		return ' '
	}, latin(s))
	for run := range strings.FieldsSeq(s) {
		start := 0
		for i := 1; i < len(run); i++ {
			if 'A' <= run[i] && run[i] <= 'Z' && (run[i-1] < 'A' || run[i-1] > 'Z') {
				found = append(found, run[start:i])
				start = i
			}
		}
		found = append(found, run[start:])
	}
	return found
}

// latin transliterates letters outside of ASCII, preserving case.
func latin(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < 0x80 {
			b.WriteRune(r)
			continue
		}
		replacement := text.Transliterate(string(r))
		if unicode.IsUpper(r) && replacement != "" {
			replacement = strings.ToUpper(replacement[:1]) + replacement[1:]
		}
		b.WriteString(replacement)
	}
	return b.String()
}

// camelCase joins the words of a text. Each word but the first begins with a capital; other letters keep their case.
// The result does not begin with a digit.
func camelCase(s string) string {
	result := []byte(pascalCase(s))
	if len(result) > 0 {
		result[0] |= 'a' - 'A'
	}
	return string(result)
}

// pascalCase joins the words of a text, each with a capital as its first letter. Leading digits are removed.
func pascalCase(s string) string {
	result := make([]byte, 0, len(s))
	wordStart := true // the next letter begins a word
	for _, r := range s {
		switch {
		case !isAlpha(r) && !isDigit(r):
			wordStart = true
			continue
		case isDigit(r) && len(result) == 0:
			continue
		case wordStart && 'a' <= r && r <= 'z':
			r -= 'a' - 'A'
		}
		result = append(result, byte(r)) //nolint:gosec // ASCII
		wordStart = false
	}
	return string(result)
}

// snakeCase joins the words of a text in lower case by underscores; see asciiWords.
func snakeCase(s string) string { return strings.ToLower(strings.Join(asciiWords(s), "_")) }

// kebabCase joins the words of a text in lower case by hyphens; see asciiWords.
func kebabCase(s string) string { return strings.ToLower(strings.Join(asciiWords(s), "-")) }
