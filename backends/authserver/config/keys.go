package config

import (
	"reflect"
	"slices"
	"strings"
)

// Key is an entry of the table: a key of the YAML file that has a value, not other keys.
type Key struct {
	// Name is the path of the key in the file, such as server.address.
	Name string
	// Default is the value if neither the file nor the environment sets the key, in the syntax of environment
	// variables. The empty string means false, 0 or an empty list.
	Default string
	// Env is the name of the environment variable. Default: AUTHSERVER_ followed by the name of the key in capitals,
	// with _ in place of each dot. The value "none" means that no variable sets the key.
	Env string
	// Secret is set if the value must never be shown.
	Secret bool
	// Own is set for a key that was added to the original list of keys, which the tests compare.
	Own bool
	// Rule describes the meaning of the key and its permitted values.
	Rule string

	check check
	field []int // where the value is in a Config
}

const none = "none"

// Variable returns the name of the environment variable, or "" if no variable sets the key.
func (k *Key) Variable() string {
	switch k.Env {
	case "":
		return "AUTHSERVER_" + strings.ToUpper(strings.ReplaceAll(k.Name, ".", "_"))
	case none:
		return ""
	}
	return k.Env
}

// at returns a pointer to the field of c that holds the key's value. The type of the field determines how the value is
// parsed.
func (k *Key) at(c *Config) any {
	return reflect.ValueOf(c).Elem().FieldByIndex(k.field).Addr().Interface()
}

// located sets the index of the Config field for each key and returns the keys. A field's name is the name of its key
// without underscores, in any case, such as SQLite.Path for sqlite.path. It panics if a key has no field.
func located(keys []Key) []Key {
	for i := range keys {
		k, kind := &keys[i], reflect.TypeFor[Config]()
		for part := range strings.SplitSeq(strings.ReplaceAll(k.Name, "_", ""), ".") {
			field, ok := kind.FieldByNameFunc(func(name string) bool { return strings.EqualFold(name, part) })
			if !ok {
				panic(k.Name + " has no field " + part)
			}
			k.field, kind = append(k.field, field.Index...), field.Type
		}
	}
	return keys
}

// Keys returns the table.
func Keys() []Key { return keys }

var keys = located(slices.Concat(
	serverKeys, storageKeys, signingKeys, dcrKeys, cimdKeys, sessionKeys, rateLimitKeys, adminKeys,
	oauthKeys, oidcKeys, observabilityKeys, dataEncryptionKeys, clientCredentialsKeys, dpopKeys,
	tokenExchangeKeys, agentsKeys, connectKeys, xaaKeys, clientSecretPepperKeys, pagesKeys, mailKeys,
	accountsKeys, countersKeys,
))
