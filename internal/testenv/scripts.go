package testenv

import (
	_ "embed"
	"regexp"
	"strings"
)

//go:embed scripts.txt
var scripts string

// Scripts returns texts that would run a script in a page that does not escape them.
func Scripts() []string { return strings.Split(strings.TrimSpace(scripts), "\n") }

var (
	quotedValue = regexp.MustCompile(`"[^"]*"`)
	badURL      = regexp.MustCompile(`(?i)(href|src)="\s*(javascript|vbscript|data):`)
	badMarkup   = regexp.MustCompile(`(?i)<\s*(script|iframe|object|embed|svg|math|style|link|meta|base|form|button|video|audio|template|noscript|details)|<[^>]*\s(on[a-z]+|style|srcdoc)\s*[=>]`)
)

// Executable reports whether HTML that was made from one of the texts of Scripts could run a script.
func Executable(html string) bool {
	return badURL.MatchString(html) || badMarkup.MatchString(quotedValue.ReplaceAllString(html, `""`))
}
