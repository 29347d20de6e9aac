package kernel

import "time"

// Meter records metrics. The names are those of the metrics without their prefix. The label holds the label values of
// the metric, separated by spaces; it is empty for a metric without labels.
type Meter interface {
	Count(name, label string)
	Observe(name, label string, took time.Duration)
}

// Count increments a counter, if there is a Meter.
func (s *Server) Count(name, label string) {
	if s.Meter != nil {
		s.Meter.Count(name, label)
	}
}

// Took records how long something took that began at the given time, if there is a Meter.
func (s *Server) Took(name, label string, began time.Time) {
	if s.Meter != nil {
		s.Meter.Observe(name, label, time.Since(began))
	}
}
