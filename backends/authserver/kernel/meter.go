package kernel

import "time"

// Meter records metrics. The methods take the name of a metric without its prefix, and its label values separated by
// spaces. For a metric without labels, the label is empty.
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

// Took records the time since began as a duration, if there is a Meter.
func (s *Server) Took(name, label string, began time.Time) {
	if s.Meter != nil {
		s.Meter.Observe(name, label, time.Since(began))
	}
}
