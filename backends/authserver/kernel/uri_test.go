package kernel_test

import (
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
)

func TestRooted(t *testing.T) {
	t.Parallel()
	for uri, want := range map[string]string{
		"https://host": "https://host/", "https://host/": "https://host/", "https://host:8443": "https://host:8443/", "https://host?a=/b": "https://host/?a=/b",
		"https://host/a": "https://host/a", "https://host/a/": "https://host/a/", "http://[::1]:1": "http://[::1]:1/", "cursor://app": "cursor://app/",
		"urn:a:b": "urn:a:b", "com.example.app:/cb": "com.example.app:/cb", "slug": "slug", "": "", "://": "://", "a?b=https://host": "a?b=https://host", "https:///a": "https:///a", "https://": "https://",
	} {
		if got := kernel.WithRootPath(uri); got != want {
			t.Errorf("%q: %q, want %q", uri, got, want)
		}
		if !kernel.SameURI(uri, want) || kernel.SameURI(uri, want+"x") {
			t.Errorf("%q is not %q alone", uri, want)
		}
	}
}

func FuzzRooted(f *testing.F) {
	for _, uri := range []string{"https://host", "https://host?x", "://", "a://#"} {
		f.Add(uri)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		once := kernel.WithRootPath(uri)
		if kernel.WithRootPath(once) != once || len(once) > len(uri)+1 {
			t.Errorf("%q: %q", uri, once)
		}
	})
}
