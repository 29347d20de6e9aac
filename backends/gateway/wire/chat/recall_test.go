package chat

import (
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// TestReasoningRecorderCountsPieces checks that many small pieces of reasoning reach the limit too, because each takes
// memory.
func TestReasoningRecorderCountsPieces(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{100: 100, maxState / hub.RecallItem: 0} {
		count := 0
		m := reasoningRecorder{remember: func(_ string, reasoning []hub.Reasoning) { count = len(reasoning) }}
		for range n {
			m.add(&hub.Delta{Kind: hub.DeltaState, State: hub.State{Data: "x"}})
		}
		if len(m.list) >= maxState/hub.RecallItem {
			t.Errorf("%d are held", len(m.list))
		}
		if m.add(&hub.Delta{Kind: hub.DeltaCall, ID: "a"}); count != want {
			t.Errorf("%d of %d pieces are kept", count, n)
		}
	}
}
