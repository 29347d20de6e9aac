package doctest

import (
	"fmt"
	"regexp"
	"strings"
)

// varying matches output that differs in each run: keys and ids after their prefix, generated passwords, times and
// dates. For other output that differs, documents have `…`, which stands for any text within a line; a line of only `…`
// stands for any lines.
var varying = regexp.MustCompile(strings.Join([]string{
	`(?:\b(?:ak-|gk_|pk_|brd_pat_|req_|chatcmpl-)[0-9A-Za-z_-]+)`,
	`(?:\b[A-Z2-7]{20}\b)`,
	`(?:\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z)`,
	`(?:…)`,
}, "|"))

// forms has the patterns for the kinds of text that varying matches, in the same order. prefix recognises the kind of a
// text; its submatch is the part that does not differ. rest matches any text in place of the part that differs.
var forms = []struct{ prefix, rest *regexp.Regexp }{
	{regexp.MustCompile(`^(ak-|gk_|pk_|brd_pat_|req_|chatcmpl-)`), regexp.MustCompile(`[0-9A-Za-z_-]+`)},
	{regexp.MustCompile(`^()[A-Z2-7]{20}`), regexp.MustCompile(`[A-Z2-7]{20}`)},
	{regexp.MustCompile(`^()\d`), regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z`)},
	{regexp.MustCompile(`^()…`), regexp.MustCompile(`.*?`)},
}

// Pattern returns a regular expression for the output of a command. shown is the output in a document. The expression
// matches that text, and any text that differs only in keys, times and other parts that the variable varying
// describes. White space at the ends of lines is ignored.
func Pattern(shown string) string {
	var b strings.Builder
	for line := range strings.Lines(trimmed(shown)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "…" {
			b.WriteString(`(?:.*\n)*?`) // any number of lines
			continue
		}
		offset := 0
		for _, match := range varying.FindAllStringIndex(line, -1) {
			start, end := match[0], match[1]
			b.WriteString(regexp.QuoteMeta(line[offset:start]))
			b.WriteString(patternOfKind(line[start:end]))
			offset = end
		}
		b.WriteString(regexp.QuoteMeta(line[offset:]) + "\n")
	}
	return b.String()
}

// patternOfKind returns a regular expression for all texts of the same kind as text. The variable varying must match
// text.
func patternOfKind(text string) string {
	for _, f := range forms {
		if match := f.prefix.FindStringSubmatch(text); match != nil {
			return regexp.QuoteMeta(match[1]) + f.rest.String()
		}
	}
	return regexp.QuoteMeta(text)
}

// Match compares what a command has printed with the output that a page shows; see [Pattern]. It returns an error if
// they do not agree. If partial is set, the page may show only some consecutive lines of what was printed.
func Match(shown, printed string, partial bool) error {
	pattern, printed := Pattern(shown), trimmed(printed)
	if !partial {
		pattern = `\A` + pattern + `\z`
	} else {
		pattern = `(?m)^` + pattern
	}
	matched, err := regexp.MatchString(pattern, printed)
	if err == nil && !matched {
		err = fmt.Errorf("the page shows\n%s\nbut the command prints\n%s", shown, printed)
	}
	return err
}

// trimmed removes white space at the ends of lines and empty lines at both ends of the text. It adds a final line feed.
func trimmed(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.Trim(strings.TrimRight(text, " \t\r\n"), "\r\n")) {
		b.WriteString(strings.TrimRight(line, " \t\r\n") + "\n")
	}
	return b.String()
}
