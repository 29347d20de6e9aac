package js

import (
	"maps"
	"slices"

	"github.com/dop251/goja"
)

// member is a member of a global object: a method or a value. Only one of its functions is set.
type member struct {
	call  func(*Runtime, goja.FunctionCall) goja.Value
	value func(*Runtime) goja.Value
}

// namespace describes the members of a global object. All runtimes share it.
type namespace struct {
	names   []string // in the order in which a script lists them
	members map[string]member
}

// newNamespace returns a namespace with the given members. When a script lists the members, the list begins with the
// members named in first. The others follow in alphabetical order.
func newNamespace(members map[string]member, first ...string) *namespace {
	names := first
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.Contains(first, name) {
			names = append(names, name)
		}
	}
	return &namespace{names, members}
}

// lazy returns an object that creates its members when a script uses them. Most calls need few members, and creating
// all of them would take longer than the call itself.
func (rt *Runtime) lazy(n *namespace) *goja.Object {
	return rt.vm.NewDynamicObject(&lazy{rt: rt, namespace: n, names: n.names})
}

// lazy is an object created by Runtime.lazy.
type lazy struct {
	rt        *Runtime
	namespace *namespace
	names     []string // of the current members
	created   map[string]goja.Value
}

var _ goja.DynamicObject = (*lazy)(nil)

// Get implements goja.DynamicObject.
func (l *lazy) Get(name string) goja.Value {
	if value, ok := l.created[name]; ok {
		return value
	}
	m, ok := l.namespace.members[name]
	if !ok || !l.Has(name) {
		return nil
	}
	var value goja.Value
	if m.call != nil {
		value = l.rt.vm.ToValue(func(c goja.FunctionCall) goja.Value { return m.call(l.rt, c) })
	} else {
		value = m.value(l.rt)
	}
	l.Set(name, value)
	return value
}

// Set implements goja.DynamicObject.
func (l *lazy) Set(name string, value goja.Value) bool {
	if !l.Has(name) {
		l.names = append(slices.Clip(l.names), name)
	}
	if l.created == nil {
		l.created = make(map[string]goja.Value)
	}
	l.created[name] = value
	return true
}

// Has implements goja.DynamicObject.
func (l *lazy) Has(name string) bool { return slices.Contains(l.names, name) }

// Delete implements goja.DynamicObject.
func (l *lazy) Delete(name string) bool {
	if l.Has(name) {
		l.names = slices.DeleteFunc(slices.Clone(l.names), func(n string) bool { return n == name })
		delete(l.created, name)
	}
	return true
}

// Keys implements goja.DynamicObject.
func (l *lazy) Keys() []string { return l.names }
