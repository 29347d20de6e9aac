package pages

import "testing"

func TestBytes(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{1: "1 byte", 1023: "1\u202f023 bytes", 1536: "1.5\u00a0KiB", 100 << 20: "100.0\u00a0MiB"} {
		if got := bytesOf(nil, n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
