package config

import (
	"reflect"
	"slices"
	"strings"
)

// Key is an entry of the table: one leaf of the YAML file.
type Key struct {
	// Name is the path of the key, such as server.address.
	Name string
	// Default is the value if neither the file nor the environment sets it, as it would be written in the environment.
	// The empty string means false, 0 or an empty list.
	Default string
	// Env is the environment variable. If it is empty, that is AUTHSERVER_ followed by the name in capitals, with _ in
	// place of each dot. The value "none" means that there is no variable.
	Env string
	// Secret is set if the value must never be shown.
	Secret bool
	// Own is set for a key that is an addition to the contract.
	Own bool
	// Rule describes the meaning of the key and its permitted values.
	Rule string

	check check
	field []int // where the value is in a Config
}

const none = "none"

// Variable returns the name of the environment variable, or "" if there is none.
func (k *Key) Variable() string {
	switch k.Env {
	case "":
		return "AUTHSERVER_" + strings.ToUpper(strings.ReplaceAll(k.Name, ".", "_"))
	case none:
		return ""
	}
	return k.Env
}

// at returns a pointer to the value of the key in a configuration, which determines its type.
func (k *Key) at(c *Config) any {
	return reflect.ValueOf(c).Elem().FieldByIndex(k.field).Addr().Interface()
}

// located sets where the value of each key is in a Config: it is the field whose name is that of the key, without
// underscores and in upper or lower case, such as SQLite.Path for sqlite.path. It panics if there is none.
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
