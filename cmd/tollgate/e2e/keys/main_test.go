// Package keys flips the settings of the authorization server that act outside its rooms, with the built binary: its
// listeners, its database, and its telemetry.
package keys

import (
	"os"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

func TestMain(m *testing.M) { os.Exit(e2e.Run(m)) }
