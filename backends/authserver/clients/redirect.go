package clients

import (
	"net/url"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
)

// MatchRedirect returns the redirect URI for a response. The parameter requested is the redirect URI of the request,
// or "". The client must have registered the requested URI or, if the request has none, exactly one URI. Otherwise ok
// is false.
func (c *Client) MatchRedirect(requested string) (uri string, ok bool) {
	if requested == "" {
		if len(c.Redirects) != 1 {
			return "", false
		}
		return c.Redirects[0], true
	}
	return requested, matchAny(c.Redirects, requested)
}

// matchAny reports whether the requested URI equals one of the registered URIs, character by character. In a loopback
// URI the port may differ, since a native application uses any free port (RFC 8252 section 7.3), and an empty path
// equals "/".
func matchAny(registered []string, requested string) bool {
	if len(requested) > maxURI {
		return false
	}
	if slices.Contains(registered, requested) {
		return true
	}
	requestedBare, ok := portless(requested)
	if !ok {
		return false
	}
	return slices.ContainsFunc(registered, func(uri string) bool {
		bare, ok := portless(uri)
		return ok && bare == requestedBare
	})
}

// SameRedirect reports whether two redirect URIs are equal. In loopback URIs an empty path equals "/".
func SameRedirect(a, b string) bool {
	if a == b {
		return true
	}
	_, loopback := portless(a)
	return loopback && kernel.SameURI(a, b)
}

// portless returns an http loopback URI without its port, and with the path "/" in place of an empty path. For any
// other URI ok is false.
func portless(uri string) (bare string, ok bool) {
	const scheme = "http://"
	hostAndPath, ok := strings.CutPrefix(uri, scheme)
	if !ok {
		return "", false
	}
	for _, host := range [...]string{"127.0.0.1", "[::1]", "localhost"} {
		tail, ok := strings.CutPrefix(hostAndPath, host)
		if !ok {
			continue
		}
		if portAndPath, ok := strings.CutPrefix(tail, ":"); ok {
			tail = strings.TrimLeft(portAndPath, "0123456789")
			if digits := len(portAndPath) - len(tail); digits == 0 || digits > 5 {
				return "", false
			}
		}
		if tail == "" || tail[0] == '/' || tail[0] == '?' {
			return kernel.WithRootPath(scheme + host + tail), true
		}
	}
	return "", false
}

// refusedSchemes are the schemes that browsers and operating systems handle themselves. Any other scheme is accepted as
// an application's private-use scheme (RFC 8252 section 7.1). Contrary to that section it need not contain a dot, since
// the schemes of some editors do not.
var refusedSchemes = []string{
	"javascript", "data", "vbscript", "file", "blob", "about", "filesystem", "view-source", "ws", "wss", "ftp", "mailto",
	"tel",
}

// maxURI is the maximum length of a URI in a registration, in bytes.
const maxURI = 2048

// redirectFault returns the reason why a redirect URI cannot be registered, or "".
func redirectFault(uri string) string {
	if uri == "" || len(uri) > maxURI {
		return "must have 1 to 2048 characters"
	}
	for _, b := range []byte(uri) {
		if b <= ' ' || b >= 0x7f || b == '\\' {
			return "must not contain spaces, control characters, backslashes or characters outside ASCII"
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
	switch scheme := u.Scheme; { // url.Parse returns it in lower case
	case scheme == "https":
		if u.Hostname() == "" {
			return "must have a host"
		}
	case scheme == "http":
		if _, ok := portless(uri); !ok {
			return "must be https, or http to 127.0.0.1, [::1] or localhost"
		}
	case slices.Contains(refusedSchemes, scheme):
		return "must not have the scheme " + scheme +
			": it must be https, http to a loopback address, or the scheme of an application, such as com.example.app:/callback"
	}
	return ""
}
