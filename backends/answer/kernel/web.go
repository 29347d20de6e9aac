package kernel

import (
	"net/url"
	"strings"
)

// IsHTTP reports whether u is an absolute http or https URL.
func IsHTTP(u *url.URL) bool { return (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" }

// IsWeb reports whether the address of a document is on the web, so that a browser can open it. A document without a
// public address has an address that begins with "corpus:".
func IsWeb(address string) bool {
	return strings.HasPrefix(address, "https://") || strings.HasPrefix(address, "http://")
}
