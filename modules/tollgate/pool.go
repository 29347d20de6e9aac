package tollgate

import (
	"errors"
	"iter"

	"github.com/caddyserver/caddy/v2"
)

// These pools keep values across reloads. The key of a value contains the settings on which the value depends.
var (
	databases     = caddy.NewUsagePool()
	counterStores = caddy.NewUsagePool()
)

// lease releases one reference to a pooled value.
type lease func() error

// pooled is a value in a pool, with the function that closes it.
type pooled[T any] struct {
	value T
	end   func(T) error
}

// Destruct implements caddy.Destructor.
func (p *pooled[T]) Destruct() error { return p.end(p.value) }

// Share returns the value with a key from a pool, or adds the result of create to the pool. The value survives
// reloads. It is passed to destroy after the last request of the last configuration that uses it. Values that were
// shared later are destroyed before values that were shared earlier. A module calls Share while it is provisioned, or
// in OnStart.
func Share[T any](a *App, pool *caddy.UsagePool, key any, create func() (T, error), destroy func(T) error) (T, error) {
	loaded, _, err := pool.LoadOrNew(key, func() (caddy.Destructor, error) {
		value, err := create()
		if err != nil {
			return nil, err
		}
		return &pooled[T]{value, destroy}, nil
	})
	var zero T
	if err != nil {
		return zero, err
	}
	p, ok := loaded.(*pooled[T])
	if !ok {
		return zero, errors.New("the pooled value has another type")
	}
	a.leases = append(a.leases, func() error {
		_, err := pool.Delete(key)
		return err
	})
	return p.value, nil
}

// Shared iterates over the values in a pool that Share has added.
func Shared[T any](pool *caddy.UsagePool) iter.Seq[T] {
	return func(yield func(T) bool) {
		pool.Range(func(_, value any) bool {
			p, ok := value.(*pooled[T])
			return !ok || yield(p.value)
		})
	}
}
