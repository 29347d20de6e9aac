package budget

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/tollgate-gateway/tollgate/modules/edge"
)

const (
	maxNameBytes = 64
	// maxKeyBytes limits the size of a key in the store. Longer keys, which may come from a client's header, are
	// counted under their hash.
	maxKeyBytes = 128
	// ipv6Bits is the length of the network prefix that usually belongs to one IPv6 client.
	ipv6Bits = 64
)

// compileKey parses the option key. Placeholders of the user may be unknown in a request: no user may be authenticated,
// or the token may lack a claim. Unknown placeholders are then empty.
func compileKey(text string, repl *caddy.Replacer) (template, error) {
	t, err := compileTemplate(text, repl)
	for i := range t.parts {
		t.parts[i].optional = strings.HasPrefix(t.parts[i].name, "http.auth.user.")
	}
	return t, err
}

// countKey returns the key in the store under which the request is counted.
func (h *Handler) countKey(r *http.Request, repl *caddy.Replacer) (string, error) {
	text, err := h.key.text(repl)
	if err != nil {
		return "", err
	}
	var buf [192]byte
	key := append(buf[:0], h.prefix...)
	switch {
	case text == "": // nobody is authenticated
		key = appendAddress(append(key, "ip:"...), edge.Address(r))
	case len(text) <= maxKeyBytes:
		key = append(key, text...)
	default:
		sum := sha256.Sum256([]byte(text))
		key = hex.AppendEncode(append(key, "sha256:"...), sum[:])
	}
	return string(key), nil
}

// AddressKey returns the key of the client's address in the store. The budget with this name and window uses this key
// for clients without an authenticated user.
func AddressKey(ctx context.Context, name string, window time.Duration) string {
	return string(appendAddress([]byte(prefixOf(name, window)+"ip:"), edge.AddressIn(ctx)))
}

// prefixOf returns the prefix of a budget's keys in the store.
func prefixOf(name string, window time.Duration) string {
	return "budget:" + name + ":" + window.String() + ":"
}

// appendAddress appends an IPv4 address unchanged, and an IPv6 address as its /64 network.
func appendAddress(dst []byte, address string) []byte {
	ip, err := netip.ParseAddr(address)
	if err != nil { // for example a client on a Unix socket
		return append(dst, address[:min(len(address), maxKeyBytes)]...)
	}
	ip = ip.WithZone("").Unmap()
	if ip.Is4() {
		return ip.AppendTo(dst)
	}
	network, _ := ip.Prefix(ipv6Bits) // 64 is always valid
	return network.AppendTo(dst)
}

// checkName accepts only names that can be used in a structured header, a metric's label and a store's key without
// escaping.
func checkName(name string) error {
	ok := name != "" && len(name) <= maxNameBytes
	for _, c := range name {
		ok = ok && (c == '_' || c == '-' || c == '.' ||
			(c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))
	}
	if !ok {
		return fmt.Errorf("name %q must be 1..%d letters, digits, \"_\", \"-\" or \".\"", name, maxNameBytes)
	}
	return nil
}
