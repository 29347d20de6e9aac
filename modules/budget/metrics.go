package budget

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// refusals lives as long as the process and is registered with each configuration.
var refusals = prometheus.NewCounterVec(prometheus.CounterOpts{
	Namespace: "tollgate",
	Subsystem: "budget",
	Name:      "refused_total",
	Help:      "Requests refused because they did not fit their budget.",
}, []string{"name"})

// countRefusals returns the counter of a budget and makes it visible in the registry.
func countRefusals(registry *prometheus.Registry, name string) (prometheus.Counter, error) {
	if registry != nil {
		err := registry.Register(refusals)
		if already := (prometheus.AlreadyRegisteredError{}); err != nil && !errors.As(err, &already) {
			return nil, fmt.Errorf("registering metrics: %w", err)
		}
	}
	return refusals.WithLabelValues(name), nil
}
