package tollgate_test

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// operators has the files that connect only to addresses that the operator configures.
var operators = map[string]string{
	"backends/gateway/credentials/credentials.go": "the token endpoints of the catalog and the configuration",
	"backends/gateway/credentials/workload.go":    "the metadata servers of clouds, which are on the operator's machine or in the environment",
	"internal/counters/redis_client.go":           "the counters of the configuration",
	"internal/store/postgres.go":                  "the database of the configuration",
	"internal/transit/transit.go":                 "the key management server of the configuration",
}

// TestFetchers checks that the connections of services go through internal/outbound, except those to addresses of the
// configuration.
func TestFetchers(t *testing.T) {
	t.Parallel()
	connects := regexp.MustCompile(`http\.(DefaultClient|DefaultTransport|Get\(|Head\(|Post\(|PostForm\(|Client\{|Transport\{)|new\(http\.(Client|Transport)\)|net\.(Dial|Dialer\{)|new\(net\.Dialer\)|tls\.(Dial|Dialer\{)`)
	found := 0
	for _, root := range []string{"backends", "internal"} {
		fsys := os.DirFS(".")
		err := fs.WalkDir(fsys, root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				if entry != nil && (entry.Name() == "testenv" || strings.HasSuffix(entry.Name(), "test")) {
					return fs.SkipDir
				}
				return err
			}
			if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || operators[path] != "" {
				return nil
			}
			text, err := fs.ReadFile(fsys, path)
			if err != nil || !connects.Match(text) {
				return err
			}
			found++
			if !strings.HasPrefix(path, "internal/outbound/") && !strings.Contains(string(text), "outbound.") {
				t.Errorf("%s connects to somewhere without internal/outbound", path)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 5 {
		t.Errorf("%d files connect to somewhere: they are not found any more", found)
	}
}
