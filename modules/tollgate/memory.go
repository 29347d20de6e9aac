package tollgate

import (
	"fmt"

	"github.com/caddyserver/caddy/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tollgate-gateway/tollgate/internal/memory"
)

// budgets holds the process's memory budget for bodies and answers. All running configurations share this one budget.
var budgets = caddy.NewUsagePool()

// budgetKey is the key of the only entry of budgets.
const budgetKey = "memory"

// The metrics live for the process and are registered with each configuration.
var (
	memoryTaken = NewGaugeFunc("memory", "taken_bytes",
		"Memory that bodies of requests and whole answers of upstreams have taken.", budgetValue((*memory.Budget).Taken))
	memorySize = NewGaugeFunc("memory", "size_bytes",
		"Memory that bodies of requests and whole answers of upstreams may take together.",
		budgetValue((*memory.Budget).Size))
	memoryRefused = prometheus.NewCounterFunc(prometheus.CounterOpts{
		Namespace: "tollgate", Subsystem: "memory", Name: "refused_total",
		Help: "Bodies and answers that were refused because no memory became free in time.",
	}, budgetValue((*memory.Budget).Refused))
)

// budgetValue returns a function that applies number to the budget of the process, or returns 0 if no budget exists.
func budgetValue(number func(*memory.Budget) int64) func() float64 {
	return func() float64 {
		var n int64
		budgets.Range(func(_, value any) bool {
			if p, ok := value.(*pooled[*memory.Budget]); ok {
				n = number(p.value)
			}
			return true
		})
		return float64(n)
	}
}

// provisionMemory takes the budget. Start sets its size, because a configuration that is only validated must not change
// the size.
func (a *App) provisionMemory(ctx caddy.Context) error {
	if a.Memory != 0 && a.Memory < memory.MinBudget {
		return fmt.Errorf("memory: must be at least %d MiB, which one large request and its answer may take",
			memory.MinBudget>>20)
	}
	if err := a.takeMemory(a.MemorySize()); err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	return RegisterMetrics(ctx, memoryTaken, memorySize, memoryRefused)
}

// TakeMemory returns the memory budget for a module that needs no other part of the app. The module must call release.
func TakeMemory() (budget *memory.Budget, release func() error, err error) {
	var holder App
	if err := holder.takeMemory(memory.Default()); err != nil {
		return nil, nil, err
	}
	return holder.memory, holder.release, nil
}

// takeMemory sets a.memory to the budget of the process, which it creates with a size in bytes if there is none.
func (a *App) takeMemory(size int64) (err error) {
	a.memory, err = Share(a, budgets, budgetKey, func() (*memory.Budget, error) { return memory.New(size), nil },
		func(*memory.Budget) error { return nil })
	return err
}

// MemorySize returns the budget's size in bytes according to this configuration.
func (a *App) MemorySize() int64 {
	if a.Memory == 0 {
		return memory.Default()
	}
	return a.Memory
}

// MemoryBudget returns the memory budget for the bodies of requests and the answers of upstreams. A handler takes bytes
// from it before it allocates memory, and gives them back afterwards. All configurations share the budget.
func (a *App) MemoryBudget() *memory.Budget { return a.memory }
