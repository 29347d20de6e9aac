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

// forms has the patterns for the matches of varying, in the same order.
var forms = []struct{ begins, pattern *regexp.Regexp }{
	{regexp.MustCompile(`^(ak-|gk_|pk_|brd_pat_|req_|chatcmpl-)`), regexp.MustCompile(`[0-9A-Za-z_-]+`)},
	{regexp.MustCompile(`^()[A-Z2-7]{20}`), regexp.MustCompile(`[A-Z2-7]{20}`)},
	{regexp.MustCompile(`^()\d`), regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z`)},
	{regexp.MustCompile(`^()…`), regexp.MustCompile(`.*?`)},
}

// Pattern returns a regular expression for the output that a page shows.
func Pattern(shown string) string {
	var b strings.Builder
	for line := range strings.Lines(trimmed(shown)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "…" {
			b.WriteString(`(?:.*\n)*?`)
			continue
		}
		at := 0
		for _, found := range varying.FindAllStringIndex(line, -1) {
			b.WriteString(regexp.QuoteMeta(line[at:found[0]]))
			b.WriteString(form(line[found[0]:found[1]]))
			at = found[1]
		}
		b.WriteString(regexp.QuoteMeta(line[at:]) + "\n")
	}
	return b.String()
}

func form(text string) string {
	for _, f := range forms {
		if match := f.begins.FindStringSubmatch(text); match != nil {
			return regexp.QuoteMeta(match[1]) + f.pattern.String()
		}
	}
	return regexp.QuoteMeta(text)
}

// Match compares the output that a page shows with the output printed, and returns an error if they differ. With among
// set, the page may show only some of the printed lines.
func Match(shown, printed string, among bool) error {
	pattern, printed := Pattern(shown), trimmed(printed)
	if !among {
		pattern = `\A` + pattern + `\z`
	} else {
		pattern = `(?m)^` + pattern
	}
	matched, err := regexp.MatchString(pattern, printed)
	if err == nil && !matched {
		err = fmt.Errorf("the page shows\n%s\nand printed is\n%s", shown, printed)
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
