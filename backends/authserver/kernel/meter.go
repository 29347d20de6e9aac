package kernel

import "time"

// Meter counts what the rooms do. The names are those of the metrics without their
// prefix; a label is the value of the one that the metric has, or empty, or of those that
// it has, with blanks between.
type Meter interface {
	Count(name, label string)
	Observe(name, label string, took time.Duration)
}

// Count adds one to a counter, if anybody counts.
func (s *Server) Count(name, label string) {
	if s.Meter != nil {
		s.Meter.Count(name, label)
	}
}

// Took tells how long something took that began at a time, if anybody asks.
func (s *Server) Took(name, label string, began time.Time) {
	if s.Meter != nil {
		s.Meter.Observe(name, label, time.Since(began))
	}
}
