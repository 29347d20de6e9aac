package tollgate

import (
	"errors"
	"iter"

	"github.com/caddyserver/caddy/v2"
)

// The pools keep values that must survive a reload, by the settings that matter.
var (
	databases     = caddy.NewUsagePool()
	counterStores = caddy.NewUsagePool()
)

// lease releases one reference on a pooled value.
type lease func() error

// pooled is a value in a pool, with the function that ends it.
type pooled[T any] struct {
	value T
	end   func(T) error
}

// Destruct implements caddy.Destructor.
func (p *pooled[T]) Destruct() error { return p.end(p.value) }

// Share loads the value of key from a pool, or makes it, so that it survives reloads. The value ends after the last
// request of the last configuration that uses it, and before values that were shared earlier. A module calls Share
// while it is provisioned, or in OnStart.
func Share[T any](a *App, pool *caddy.UsagePool, key any, make func() (T, error), end func(T) error) (T, error) {
	loaded, _, err := pool.LoadOrNew(key, func() (caddy.Destructor, error) {
		value, err := make()
		if err != nil {
			return nil, err
		}
		return &pooled[T]{value, end}, nil
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

// Shared iterates over the values of a pool that were added by Share.
func Shared[T any](pool *caddy.UsagePool) iter.Seq[T] {
	return func(yield func(T) bool) {
		pool.Range(func(_, value any) bool {
			p, ok := value.(*pooled[T])
			return !ok || yield(p.value)
		})
	}
}
