// Package placeholder resolves {env.*} and {file.*} in configured values.
package placeholder

import (
	"fmt"
	"os"
	"regexp"

	"github.com/caddyserver/caddy/v2"
)

// Resolve replaces the placeholders in text with their values. If a placeholder has no value, the error names the
// missing variable or file.
func Resolve(text string) (string, error) {
	resolved, err := caddy.NewReplacer().ReplaceOrErr(text, true, true)
	if err == nil {
		return resolved, nil
	}
	for _, match := range pattern.FindAllStringSubmatch(text, -1) {
		if reason := explainMissing(match[1], match[2]); reason != nil {
			return "", reason
		}
	}
	return "", err // for example an unknown placeholder
}

// pattern matches the placeholders that Resolve can replace.
var pattern = regexp.MustCompile(`\{(env|file)\.([^{}]+)\}`)

// explainMissing returns the reason why the placeholder {kind.name} has no value, or nil if it has a value. kind is env
// or file.
func explainMissing(kind, name string) error {
	if kind == "env" {
		switch value, ok := os.LookupEnv(name); {
		case !ok:
			return fmt.Errorf("the environment variable %s is not set", name)
		case value == "":
			return fmt.Errorf("the environment variable %s is empty", name)
		}
		return nil
	}
	info, err := os.Stat(name)
	if err == nil && info.Size() == 0 {
		return fmt.Errorf("the file %s is empty", name)
	}
	return err
}
