package sanitize

import (
	"net/url"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/mailaddress"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// email returns a valid mail address in lower case, or an empty string if s is no address or does not have a stable
// form in lower case.
func email(s string) string {
	address, err := mailaddress.Parse(s)
	if err != nil {
		return ""
	}
	lower := strings.ToLower(address)
	if reparsed, err := mailaddress.Parse(lower); err != nil || reparsed != lower || strings.ToLower(lower) != lower {
		return ""
	}
	return lower
}

// parseURL parses an http or https URL, or a relative reference, and returns it with its normalized text. The text is
// empty for any other URL, and for a URL that browsers parse differently than Go: with backslashes, or with // but no
// scheme.
func parseURL(s string) (*url.URL, string) {
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

// normalizeURL returns a normalized URL. It returns an empty string if the normalized text is longer than limit, or if
// normalizing again would change it.
func normalizeURL(s string, limit int) string {
	u, normalized := parseURL(s)
	if u == nil || len(normalized) > limit || strings.HasPrefix(normalized, "//") {
		return ""
	}
	if _, renormalized := parseURL(normalized); renormalized != normalized {
		return ""
	}
	return normalized
}

// anyURL returns a normalized http or https URL or relative reference, or an empty string for any other URL.
func anyURL(s string, limit int) string { return normalizeURL(trim(s), limit) }

// httpURL returns a normalized http or https URL, or an empty string for any other URL. It adds http:// if s has no
// scheme.
func httpURL(s string, limit int) string {
	s = trim(s)
	if !strings.Contains(s, "://") {
		if strings.ContainsRune(s, '@') { // another scheme, or a misleading user name
			return ""
		}
		s = "http://" + strings.TrimPrefix(s, "//")
	}
	if normalized := normalizeURL(s, limit); strings.HasPrefix(normalized, "http://") || strings.HasPrefix(normalized, "https://") {
		return normalized
	}
	return ""
}

// selectorValue returns s as a value in a selector. It quotes s unless s consists of letters, digits, spaces and a few
// marks. It removes quotes and backslashes.
func selectorValue(s string, limit int) string {
	s = trim(strings.ReplaceAll(printable(s), "\n", " "))
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		s = s[1 : len(s)-1]
	}
	s = strings.Map(func(r rune) rune {
		if r == '"' || r == '\\' {
			return -1
		}
		return r
	}, s)
	s = trim(text.Cut(trim(s), limit))
	if strings.ContainsFunc(s, func(r rune) bool {
		return !inWord(r) && r != ' ' && r != '-' && r != '_' && r != '.' && r != '/' && r != '@' && r != ':'
	}) {
		return `"` + s + `"`
	}
	return s
}

// selectorField returns s as the fields of a selector's term, separated by |. It replaces characters that the name of a
// field cannot have by underscores.
func selectorField(s string, limit int) string {
	var b strings.Builder
	for field := range strings.SplitSeq(s, "|") {
		field = fieldName(field, 128)
		separatorLength := min(b.Len(), 1) // 0 for the first field
		if field == "" {
			continue
		}
		if b.Len()+separatorLength+len(field) > limit {
			break
		}
		b.WriteString("|"[:separatorLength])
		b.WriteString(field)
	}
	return b.String()
}
