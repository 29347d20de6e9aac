package authtest

import "strings"

// Outside reports whether a key of the configuration acts outside the rooms of the server:
// in its listeners, its database, and what it tells of itself.
func Outside(key string) bool {
	for _, prefix := range []string{"storage.", "observability.", "counters.", "server.address", "server.idle_timeout", "server.read_timeout", "server.write_timeout", "server.shutdown_wait", "admin.address", "admin.enabled"} {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}
