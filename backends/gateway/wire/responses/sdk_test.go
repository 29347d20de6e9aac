package responses

import (
	"encoding/json"
	"testing"

	sdk "github.com/openai/openai-go/v3/responses"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// TestSDK checks that a client library can assemble a stream.
func TestSDK(t *testing.T) {
	t.Parallel()
	deltas := []hub.Delta{newReasoning("Hm."), newText("Hello"), newCall(0, "f"), newArguments(0, `{"a":1}`), newCall(1, "patch"), newArguments(1, `{"input":"x\ny"}`), newCall(2, "shell"), newArguments(2, `{"commands":["ls"]}`), newEnd(hub.FinishCalls)}
	stream := newWriter(request(t, wantState)).Stream(nil, deltas)
	var all sdk.ResponseAccumulator
	for _, e := range readEvents(t, stream) {
		var got sdk.ResponsesServerEventUnion
		if err := json.Unmarshal([]byte(e.Raw), &got); err != nil {
			t.Fatalf("%v: %s", err, e.Raw)
		}
		if err := all.AddEvent(got); err != nil {
			t.Fatalf("%v: %s", err, e.Raw)
		}
	}
	got, err := all.ReconstructedResponse()
	if err != nil {
		t.Fatal(err)
	}
	if got.OutputText() != "Hello" || len(got.Output) != 5 || got.Status != "completed" || got.Usage.TotalTokens != 120 {
		t.Errorf("got %+v", got)
	}
	if got.Output[0].EncryptedContent != "kcs1.content:" || got.Output[2].Arguments.OfString != `{"a":1}` || got.Output[3].Input != "x\ny" || got.Output[4].Action.Commands[0] != "ls" {
		t.Errorf("got %s", got.RawJSON())
	}
}
