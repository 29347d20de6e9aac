package placeholder_test

import (
	"os"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/modules/placeholder"
)

func TestResolve(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("TOLLGATE_TEST_SET", "value")
	t.Setenv("TOLLGATE_TEST_EMPTY", "")
	for name, text := range map[string]string{"full": "secret", "none": ""} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for text, want := range map[string]string{
		"":                                      "",
		"plain":                                 "plain",
		"a {env.TOLLGATE_TEST_SET}":             "a value",
		"{file.full}{env.TOLLGATE_TEST_SET}":    "secretvalue",
		"{env.TOLLGATE_TEST_NOT_SET}":           "! the environment variable TOLLGATE_TEST_NOT_SET is not set",
		"x {env.TOLLGATE_TEST_EMPTY}":           "! the environment variable TOLLGATE_TEST_EMPTY is empty",
		"{env.TOLLGATE_TEST_SET}{file.nowhere}": "! stat nowhere: no such file or directory",
		"{file.none}":                           "! the file none is empty",
		"{nonsense}":                            "! unrecognized placeholder {nonsense}",
	} {
		got, err := placeholder.Resolve(text)
		if err != nil {
			got = "! " + err.Error()
		}
		if !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
