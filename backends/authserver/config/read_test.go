package config

import (
	"io/fs"
	"os"
	"path"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// readHere are the keys that only this package reads, with their uses.
var readHere = map[string]string{
	"oidc.client_secret_env": "normalized into oidc.client_secret_ref",
	"server.allow_networks":  "what Networks tells",
}

// fieldPath returns the names of the fields that lead to the value of a key, such as Signing and KeyPath.
func fieldPath(in reflect.Value, target any) []string {
	for i := range in.NumField() {
		field := in.Type().Field(i)
		if !field.IsExported() {
			continue
		}
		if v := in.Field(i).Addr(); v.Interface() == target {
			return []string{field.Name}
		}
		if _, ref := reflect.TypeAssert[Ref](in.Field(i)); !ref && field.Type.Kind() == reflect.Struct {
			if below := fieldPath(in.Field(i), target); below != nil {
				return append([]string{field.Name}, below...)
			}
		}
	}
	return nil
}

// TestEachKeyIsRead checks that each key is read outside of this package, unless it belongs to a feature that is not
// built and therefore refused.
func TestEachKeyIsRead(t *testing.T) {
	t.Parallel()
	var sources []string
	for _, root := range []string{"..", "../../../modules/authserver", "../../../modules/adapters/authserver"} {
		err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && name == "config":
				return fs.SkipDir
			case entry.IsDir() || strings.HasSuffix(name, "_test.go") || path.Ext(name) != ".go" && path.Ext(name) != ".caddyfile":
				return nil
			}
			text, err := fs.ReadFile(os.DirFS(root), name)
			sources = append(sources, string(text))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	c := new(Config)
	for i := range keys {
		k := &keys[i]
		fields := fieldPath(reflect.ValueOf(c).Elem(), k.pointer(c))
		if len(fields) == 0 {
			t.Fatalf("%s has no field", k.Name)
		}
		section, field := regexp.MustCompile(`\.`+fields[0]+`\b`), regexp.MustCompile(`\.`+fields[len(fields)-1]+`\b`)
		read := false
		for _, text := range sources {
			read = read || section.MatchString(text) && field.MatchString(text)
		}
		switch {
		case !read && readHere[k.Name] == "":
			t.Errorf("%s (%s) is parsed, and nothing reads it", k.Name, strings.Join(fields, "."))
		case read && readHere[k.Name] != "":
			t.Errorf("%s is read: take it out of the list", k.Name)
		}
	}
}
