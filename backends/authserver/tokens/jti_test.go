package tokens

import (
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
)

// TestNewJTIKeepsNeighboursTogether checks that the ids of a family's tokens begin with the id of the family, by which
// they are revoked, and sort by time. Rows inserted one after another are thus neighbours in the index.
func TestNewJTIKeepsNeighboursTogether(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_790_000_000_000)
	for _, family := range []string{"", kernel.NewIDAt(now)} {
		seen := ""
		for i := range 1000 {
			id := newJTI(family, now.Add(time.Duration(i)*time.Millisecond))
			if family != "" && !strings.HasPrefix(id, family+".") {
				t.Fatalf("the id %q does not begin with its family %q", id, family)
			}
			if id <= seen {
				t.Fatalf("the id %q does not sort after the earlier %q", id, seen)
			}
			seen = id
		}
	}
}
