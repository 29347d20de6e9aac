package sanitize

import (
	"net/url"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/mailaddress"
)

// email returns a valid address in lower case, or nothing.
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

// written is an address as a URL of http, https or of no scheme; empty: it is none. What
// browsers read in another way than Go is none: backslashes, and // without a scheme.
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

// settled is an address that is read again as the same.
func settled(s string, most int) string {
	u, made := written(s)
	if u == nil || len(made) > most || strings.HasPrefix(made, "//") {
		return ""
	}
	if _, again := written(made); again != made {
		return ""
	}
	return made
}

func anyURL(s string, most int) string { return settled(trim(s), most) }

func httpURL(s string, most int) string {
	s = trim(s)
	if !strings.Contains(s, "://") {
		if strings.ContainsRune(s, '@') { // another scheme, or a name that pretends
			return ""
		}
		s = "http://" + strings.TrimPrefix(s, "//")
	}
	if made := settled(s, most); strings.HasPrefix(made, "http://") || strings.HasPrefix(made, "https://") {
		return made
	}
	return ""
}

// selectorValue quotes what is more than letters, digits, spaces and a few marks. In
// quotes, all but the quote stands for itself; quotes in the value are left out.
func selectorValue(s string, most int) string {
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
	s = trim(first(trim(s), most))
	if strings.ContainsFunc(s, func(r rune) bool {
		return !inWord(r) && r != ' ' && r != '-' && r != '_' && r != '.' && r != '/' && r != '@' && r != ':'
	}) {
		return `"` + s + `"`
	}
	return s
}

// selectorField makes an underscore of each character that a field's name cannot have.
func selectorField(s string, most int) string {
	var b strings.Builder
	for field := range strings.SplitSeq(s, "|") {
		field = fieldName(field, 128)
		space := min(b.Len(), 1)
		if field == "" {
			continue
		}
		if b.Len()+space+len(field) > most {
			break
		}
		b.WriteString("|"[:space])
		b.WriteString(field)
	}
	return b.String()
}
