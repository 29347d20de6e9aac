package sanitize

import (
	"net/url"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/mailaddress"
)

// email returns a valid address in lower case, or an empty string.
func email(s string) string {
	address, err := mailaddress.Parse(s)
	if err != nil {
		return ""
	}
	small := strings.ToLower(address)
	if again, err := mailaddress.Parse(small); err != nil || again != small || strings.ToLower(small) != small {
		return ""
	}
	return small
}

// written parses a URL that has the scheme http or https, or none, and returns it with its normalized form. The
// form is empty for other URLs, and for those that browsers parse differently than Go: with backslashes, or with //
// but no scheme.
func written(s string) (*url.URL, string) {
	if strings.ContainsRune(s, '\\') || strings.HasPrefix(s, "//") {
		return nil, ""
	}
	u, err := url.Parse(s)
	if err != nil || u.Opaque != "" {
		return nil, ""
	}
	switch u.Scheme {
	case "http", "https":
		if u.Hostname() == "" {
			return nil, ""
		}
	case "":
		if u.Host != "" || u.User != nil {
			return nil, ""
		}
	default:
		return nil, ""
	}
	return u, u.String()
}

// settled returns a normalized URL, or an empty string if its normalized form is not stable or longer than limit.
func settled(s string, limit int) string {
	u, made := written(s)
	if u == nil || len(made) > limit || strings.HasPrefix(made, "//") {
		return ""
	}
	if _, again := written(made); again != made {
		return ""
	}
	return made
}

func anyURL(s string, limit int) string { return settled(trim(s), limit) }

func httpURL(s string, limit int) string {
	s = trim(s)
	if !strings.Contains(s, "://") {
		if strings.ContainsRune(s, '@') { // another scheme, or a misleading user name
			return ""
		}
		s = "http://" + strings.TrimPrefix(s, "//")
	}
	if made := settled(s, limit); strings.HasPrefix(made, "http://") || strings.HasPrefix(made, "https://") {
		return made
	}
	return ""
}

// selectorValue quotes a value that has other characters than letters, digits, spaces and a few marks. Within
// quotes, all other characters stand for themselves; quotes and backslashes are removed.
func selectorValue(s string, limit int) string {
	s = trim(strings.ReplaceAll(printed(s), "\n", " "))
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		s = s[1 : len(s)-1]
	}
	s = strings.Map(func(r rune) rune {
		if r == '"' || r == '\\' {
			return -1
		}
		return r
	}, s)
	s = trim(first(trim(s), limit))
	if strings.ContainsFunc(s, func(r rune) bool {
		return !inWord(r) && r != ' ' && r != '-' && r != '_' && r != '.' && r != '/' && r != '@' && r != ':'
	}) {
		return `"` + s + `"`
	}
	return s
}

// selectorField replaces by an underscore each character that the name of a field cannot have.
func selectorField(s string, limit int) string {
	var b strings.Builder
	for field := range strings.SplitSeq(s, "|") {
		field = fieldName(field, 128)
		space := min(b.Len(), 1)
		if field == "" {
			continue
		}
		if b.Len()+space+len(field) > limit {
			break
		}
		b.WriteString("|"[:space])
		b.WriteString(field)
	}
	return b.String()
}
