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
	// Own is set for a key that is not in the list of keys in testdata. The tests check that all other keys match that
	// list.
	Own bool
	// Rule describes the meaning of the key and its permitted values, for the documentation.
	Rule string

	check check // checks the value; nil permits all values
	field []int // the index of the field in a Config, for reflect.Value.FieldByIndex
}

// none is the value of Key.Env for a key that no environment variable sets.
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

// pointer returns a pointer to the field of c that holds the key's value. The type of the field determines how the
// value is parsed.
func (k *Key) pointer(c *Config) any {
	return reflect.ValueOf(c).Elem().FieldByIndex(k.field).Addr().Interface()
}

// located sets the index of the Config field for each key and returns the keys. A field has the name of its key
// without underscores; letter case does not matter. For example, the field of sqlite.path is SQLite.Path. located
// panics if a key has no field.
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

// Keys returns the table. The caller must not modify it.
func Keys() []Key { return keys }

// keys is the table of all keys.
var keys = located(slices.Concat(
	serverKeys, storageKeys, signingKeys, dcrKeys, cimdKeys, sessionKeys, rateLimitKeys, adminKeys,
	oauthKeys, oidcKeys, observabilityKeys, dataEncryptionKeys, clientCredentialsKeys, dpopKeys,
	tokenExchangeKeys, agentsKeys, connectKeys, xaaKeys, clientSecretPepperKeys, pagesKeys, mailKeys,
	accountsKeys, countersKeys,
))
