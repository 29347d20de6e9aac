package factors

import (
	"strings"
	"testing"
)

// TestUserHandle checks that handles fit an authenticator and contain no mail address.
func TestUserHandle(t *testing.T) {
	t.Parallel()
	seen := make(map[string]string)
	for _, id := range []string{
		"0190a5b1-0000-7000-8000-000000000000", "ann@example.com", "Ann@example.com",
		strings.Repeat("x", 100), strings.Repeat("y", 100),
	} {
		handle := string(userHandle(id))
		if len(handle) > 64 || strings.Contains(handle, "ann@") || handle != string(userHandle(id)) {
			t.Errorf("%s: the handle is %q", id, handle)
		}
		if other, ok := seen[handle]; ok {
			t.Errorf("%s and %s have the same handle", id, other)
		}
		seen[handle] = id
	}
}
