package handler

import (
	"fmt"
	"maps"
	"sync"
)

// The registered classes by name. If a script has a class with the same name, the script's class takes precedence.
var (
	registryMu sync.RWMutex
	registry   = map[string]Class{}
)

// Register registers a class that is written in Go. Packages call it from init. It panics if the name is already
// registered, if a name is not an identifier, or if a method is nil.
func Register(class Class) {
	if !Identifier(class.Name) || len(class.Methods) == 0 {
		panic(fmt.Sprintf("cms: class %q has an invalid name or no methods", class.Name))
	}
	for name, method := range class.Methods {
		if !Identifier(name) || method == nil {
			panic(fmt.Sprintf("cms: method %q of class %s has an invalid name or is nil", name, class.Name))
		}
	}
	registryMu.Lock()
	defer registryMu.Unlock()
	if _, exists := registry[class.Name]; exists {
		panic(fmt.Sprintf("cms: class %s is registered twice", class.Name))
	}
	class.Methods = maps.Clone(class.Methods)
	registry[class.Name] = class
}

// Registered returns the class that was registered with the given name. ok is false if there is none.
func Registered(name string) (class Class, ok bool) {
	registryMu.RLock()
	defer registryMu.RUnlock()
	class, ok = registry[name]
	return class, ok
}

// Identifier reports whether s is a valid name for a class or a method: 1 to 128 ASCII letters, digits and underscores,
// of which the first is not a digit.
func Identifier(s string) bool {
	for i, r := range s {
		letter := r == '_' || r|0x20 >= 'a' && r|0x20 <= 'z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != "" && len(s) <= 128
}
