package tollgate_test

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"

	_ "github.com/tollgate-gateway/tollgate"
)

// modulePath is this Go module, which is also the package that xcaddy has to import.
const modulePath = "github.com/tollgate-gateway/tollgate"

// TestXcaddyJSON compares xcaddy.json with the build that ships: the same version of Caddy, the same package, and
// exactly the modules that importing it registers. Each failure says which line to change.
func TestXcaddyJSON(t *testing.T) {
	t.Parallel()
	var recipe struct {
		Caddy    string
		Packages []string
		Modules  []string
	}
	body, err := os.ReadFile("xcaddy.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(body, &recipe); err != nil {
		t.Fatalf("reading xcaddy.json: %v", err)
	}

	if want := requiredVersion(t, caddy.ImportPath); recipe.Caddy != want {
		t.Errorf("xcaddy.json: set \"caddy\" to %q as in go.mod, it is %q", want, recipe.Caddy)
	}
	if want := []string{modulePath}; !slices.Equal(recipe.Packages, want) {
		t.Errorf("xcaddy.json: set \"packages\" to %q, it is %q", want, recipe.Packages)
	}
	registered := registeredModules(t)
	if len(registered) == 0 {
		t.Error("no module is registered: modules/modules.go imports none")
	}
	for _, id := range registered {
		if !slices.Contains(recipe.Modules, id) {
			t.Errorf("xcaddy.json: add %q to \"modules\"", id)
		}
	}
	for _, id := range recipe.Modules {
		if !slices.Contains(registered, id) {
			t.Errorf("xcaddy.json: remove %q from \"modules\", or import its package in modules/modules.go", id)
		}
	}
	if sorted := slices.Sorted(slices.Values(recipe.Modules)); !slices.Equal(slices.Compact(sorted), recipe.Modules) {
		t.Error("xcaddy.json: sort \"modules\", each id once")
	}
}

// registeredModules returns, sorted, the ids of the Caddy modules whose Go type
// is declared in this Go module.
func registeredModules(t *testing.T) []string {
	t.Helper()
	var ids []string
	for _, id := range caddy.Modules() {
		info, err := caddy.GetModule(id)
		if err != nil {
			t.Fatalf("getting module %s: %v", id, err)
		}
		typ := reflect.TypeOf(info.New())
		for typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		if strings.HasPrefix(typ.PkgPath(), modulePath+"/") {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// requiredVersion returns the version of a Go module in go.mod.
func requiredVersion(t *testing.T, path string) string {
	t.Helper()
	body, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(body)) {
		words := strings.Fields(strings.TrimPrefix(line, "require "))
		if len(words) > 1 && words[0] == path {
			return words[1]
		}
	}
	t.Fatalf("go.mod does not require %s", path)
	return ""
}
