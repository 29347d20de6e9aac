// Package memory provides the counters of one node.
package memory

import (
	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/counters"
)

func init() {
	caddy.RegisterModule(Memory{})
}

// Memory keeps the counters of the app tollgate in the memory of this process. It is the default and suits a single
// node. Nothing is stored, so a restart (but not a reload) begins every window anew. Several nodes need
// tollgate.counters.redis; otherwise each node admits the whole budget. Memory has no options.
//
// It keeps at most 1,048,576 keys, about 200 MB. Beyond that, a new key replaces the key whose window ends first.
//
// In the Caddyfile, inside the tollgate option: counters memory
type Memory struct{}

// CaddyModule returns the Caddy module information.
func (Memory) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "tollgate.counters.memory",
		New: func() caddy.Module { return new(Memory) },
	}
}

// Open returns an empty store.
func (Memory) Open(*zap.Logger) (counters.Store, error) {
	return counters.NewMemory(nil), nil
}

// key is the type of Memory's key in the pool of counter stores, distinct from the keys of other modules.
type key struct{}

// Key returns the same key for every Memory, so that all configurations share the windows.
func (Memory) Key() any { return key{} }

// UnmarshalCaddyfile sets up the module from Caddyfile tokens:
//
//	memory
func (*Memory) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // memory
	if d.NextArg() {
		return d.ArgErr()
	}
	if d.NextBlock(0) {
		return d.Errf("memory has no options, got %q", d.Val())
	}
	return nil
}

// Interface guards
var (
	_ caddy.Module          = (*Memory)(nil)
	_ caddyfile.Unmarshaler = (*Memory)(nil)
)
