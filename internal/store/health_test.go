package store

import (
	"errors"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// TestHealthChangesBeforeItsLine checks that the state has changed before its log line is written, so that a reaction
// to the line does not see the old state.
func TestHealthChangesBeforeItsLine(t *testing.T) {
	var h *health
	var states []error
	core := zapcore.NewNopCore()
	h = newHealth(zap.New(zapcore.RegisterHooks(enabled{core}, func(zapcore.Entry) error {
		states = append(states, h.ready())
		return nil
	})))
	cause := errors.New("opening: gone")
	h.down(cause)
	h.up()
	if len(states) != 2 || !errors.Is(states[0], cause) || states[1] != nil {
		t.Errorf("states at the lines: %v", states)
	}
}

// enabled is a core that accepts each entry.
type enabled struct{ zapcore.Core }

func (enabled) Enabled(zapcore.Level) bool { return true }

func (e enabled) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	return checked.AddCore(entry, e)
}
