package dpop

import (
	"net/url"
	"strings"
)

// Normalize returns an absolute http or https URL in normal form (RFC 3986, sections 6.2.2 and 6.2.3), without query
// and fragment, so that equivalent URLs are equal. ok is false for anything else.
func Normalize(address string) (normal string, ok bool) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.Opaque != "" {
		return "", false
	}
	port := u.Port()
	switch {
	case u.Scheme != "https" && u.Scheme != "http": // url.Parse returns it in lower case
		return "", false
	case u.Scheme == "https" && port == "443", u.Scheme == "http" && port == "80":
		port = ""
	}
	host := strings.ToLower(u.Hostname())
	if host == "" {
		return "", false
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port != "" {
		host += ":" + port
	}
	path := normalizeEscapes(u.EscapedPath())
	if path == "" {
		path = "/"
	}
	return u.Scheme + "://" + host + path, true
}

// normalizeEscapes decodes the characters of an encoded path that need no encoding, and converts the hexadecimal digits
// of the remaining escapes to upper case.
func normalizeEscapes(path string) string {
	if !strings.Contains(path, "%") {
		return path
	}
	out := make([]byte, 0, len(path))
	for i := 0; i < len(path); i++ {
		if path[i] != '%' || i+2 >= len(path) {
			out = append(out, path[i])
			continue
		}
		c := nibble(path[i+1])<<4 | nibble(path[i+2])
		if unreserved(c) {
			out = append(out, c)
		} else {
			out = append(out, strings.ToUpper(path[i:i+3])...)
		}
		i += 2
	}
	return string(out)
}

// nibble returns the value of a hexadecimal digit. url.Parse has checked that it is one.
func nibble(c byte) byte {
	if c >= 'a' {
		return c - 'a' + 10
	}
	if c >= 'A' {
		return c - 'A' + 10
	}
	return c - '0'
}

// unreserved reports whether a character needs no encoding (RFC 3986, section 2.3).
func unreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		c == '-' || c == '.' || c == '_' || c == '~'
}
