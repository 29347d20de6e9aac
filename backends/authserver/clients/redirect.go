package clients

import (
	"net/url"
	"slices"
	"strings"
)

// MatchRedirect finds the address that an answer goes to: the one asked for where it is
// registered, or the only one where none is asked for.
func (c *Client) MatchRedirect(asked string) (uri string, ok bool) {
	if asked == "" {
		if len(c.Redirects) != 1 {
			return "", false
		}
		return c.Redirects[0], true
	}
	return asked, matchAny(c.Redirects, asked)
}

// matchAny compares with the registered ones, character by character. The port of a
// loopback address may be another one: a native application takes what it gets
// (RFC 8252 section 7.3).
func matchAny(registered []string, asked string) bool {
	if len(asked) > maxURI {
		return false
	}
	if slices.Contains(registered, asked) {
		return true
	}
	if bare, ok := portless(asked); ok {
		for _, one := range registered {
			if other, ok := portless(one); ok && other == bare {
				return true
			}
		}
	}
	return false
}

// portless is a loopback URI of http without its port; not ok: it is none.
func portless(uri string) (bare string, ok bool) {
	const scheme = "http://"
	rest, ok := strings.CutPrefix(uri, scheme)
	if !ok {
		return "", false
	}
	for _, host := range [...]string{"127.0.0.1", "[::1]", "localhost"} {
		tail, ok := strings.CutPrefix(rest, host)
		if !ok {
			continue
		}
		if digits, ok := strings.CutPrefix(tail, ":"); ok {
			n := 0
			for n < len(digits) && '0' <= digits[n] && digits[n] <= '9' {
				n++
			}
			if n == 0 || n > 5 {
				return "", false
			}
			tail = digits[n:]
		}
		if tail == "" || tail[0] == '/' || tail[0] == '?' {
			return scheme + host + tail, true
		}
	}
	return "", false
}

// maxURI bounds the URIs of a registration, in bytes.
const maxURI = 2048

// redirectFault says what keeps a URI from being registered; empty: nothing.
func redirectFault(uri string) string {
	if uri == "" || len(uri) > maxURI {
		return "must have 1 to 2048 characters"
	}
	for _, b := range []byte(uri) {
		if b <= ' ' || b >= 0x7f || b == '\\' {
			return "must not hold spaces, control characters, backslashes or characters outside ASCII"
		}
	}
	u, err := url.Parse(uri)
	if err != nil || u.Scheme == "" {
		return "must be an absolute URI"
	}
	if strings.Contains(uri, "#") {
		return "must not have a fragment"
	}
	if u.User != nil {
		return "must not have a user name or password"
	}
	switch scheme := u.Scheme; { // lower case, as Parse leaves it
	case scheme == "https":
		if u.Hostname() == "" {
			return "must have a host"
		}
	case scheme == "http":
		if _, ok := portless(uri); !ok {
			return "must be https, or http to 127.0.0.1, [::1] or localhost"
		}
	case !strings.Contains(scheme, "."):
		return "must be https, or a private-use scheme with a dot, such as com.example.app:/callback (RFC 8252 section 7.1)"
	}
	return ""
}
