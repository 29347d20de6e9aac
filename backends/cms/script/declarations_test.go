package script

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDeclarations checks that the TypeScript declarations match the global objects.
func TestDeclarations(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../apiTemplate/cms.d.ts")
	if err != nil {
		t.Fatal(err)
	}
	member := regexp.MustCompile(`(?m)^  (?:readonly )?([a-zA-Z]+)(?:<T>)?(?:\(|\??:)`)
	memberNames := func(body string) (names []string) {
		for _, found := range member.FindAllStringSubmatch(body, -1) {
			if !slices.Contains(names, found[1]) {
				names = append(names, found[1])
			}
		}
		slices.Sort(names)
		return names
	}
	block := func(declaration string) string {
		_, body, ok := strings.Cut(string(text), "\n"+declaration+" {\n")
		if !ok {
			t.Fatalf("there is no %s", declaration)
		}
		body, _, _ = strings.Cut(body, "\n}")
		return body + "\n"
	}
	console := append(memberNames(block("interface CmsLog")), "log", "trace")
	slices.Sort(console)
	want := map[string][]string{
		"log": memberNames(block("interface CmsLog")), "console": console, "templates": memberNames(block("interface CmsDefinitions")), "fields": memberNames(block("interface CmsDefinitions")),
		"ctx": memberNames(block("interface CmsContext")),
	}
	for _, name := range []string{"pages", "users", "sanitizer", "RestApiHelper", "input", "session", "cache", "http"} {
		want[name] = memberNames(block("declare const " + name + ":"))
	}
	p := load(t, Options{}, `static m(data, ctx) { return Object.getOwnPropertyNames(data.name === "ctx" ? ctx : globalThis[data.name]).sort().join(" ") }`)
	for name, members := range want {
		got, err := run(t, p, "m", callWith(map[string]any{"name": name}))
		if err != nil || resultText(got) != "'"+strings.Join(members, " ")+"'" || len(members) == 0 {
			t.Errorf("%s has %s, declared are %v, error %v", name, resultText(got), members, err)
		}
	}
}
