package blocks

import (
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// TestReusedBlock checks that the arguments of an upstream that gives all calls the same block belong to the latest
// call.
func TestReusedBlock(t *testing.T) {
	t.Parallel()
	var d Deltas
	for _, name := range []string{"first", "second"} {
		if err := d.Call(0, "call_"+name, name, nil); err != nil {
			t.Fatal(err)
		}
		d.Arguments(0, []byte(`{"of":"`+name+`"}`))
	}
	d.CloseAll()
	arguments := make(map[int]string)
	for _, delta := range d.List {
		if delta.Kind == hub.DeltaArguments {
			arguments[delta.Call] += string(delta.Text)
		}
	}
	if arguments[0] != `{"of":"first"}` || arguments[1] != `{"of":"second"}` {
		t.Errorf("the arguments are %v", arguments)
	}
}
