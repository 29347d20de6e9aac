package handler

import (
	"fmt"
	"maps"
	"sync"
)

// The classes that are compiled in. A class of a script with the same name takes precedence.
var (
	registryMu sync.RWMutex
	registry   = map[string]Class{}
)

// Register adds a class that is written in Go. The package that has the class calls it from init. It panics if the
// name is taken, if a name is not an identifier, or if a method is missing.
func Register(class Class) {
	if !Identifier(class.Name) || len(class.Methods) == 0 {
		panic(fmt.Sprintf("cms: class %q has no good name or no methods", class.Name))
	}
	for name, method := range class.Methods {
		if !Identifier(name) || method == nil {
			panic(fmt.Sprintf("cms: method %q of class %s has no good name or is nil", name, class.Name))
		}
	}
	registryMu.Lock()
	defer registryMu.Unlock()
	if _, taken := registry[class.Name]; taken {
		panic(fmt.Sprintf("cms: class %s is registered twice", class.Name))
	}
	class.Methods = maps.Clone(class.Methods)
	registry[class.Name] = class
}

// Registered returns the compiled-in class of that name.
func Registered(name string) (Class, bool) {
	registryMu.RLock()
	defer registryMu.RUnlock()
	class, ok := registry[name]
	return class, ok
}

// Identifier reports whether s is a valid name of a class or a method: letters, digits and underscores, at most
// 128, and no digit first.
func Identifier(s string) bool {
	for i, r := range s {
		letter := r == '_' || r|0x20 >= 'a' && r|0x20 <= 'z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != "" && len(s) <= 128
}
