package keychain

import (
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema/schematest"
)

// start is the time at which tests begin, a whole minute.
var start = schematest.Start

type clock = schematest.Clock

// cluster is a database that any number of nodes can share.
type cluster struct{ schematest.Place }

func onBoth(t *testing.T, test func(t *testing.T, p cluster)) {
	t.Helper()
	schematest.OnBoth(t, func(t *testing.T, p schematest.Place) { test(t, cluster{p}) })
}
