// Package limits has the tests of the limits that operators set on users, teams and the
// organisation, as members meet them who would like to have more.
package limits

import (
	"os"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

func TestMain(m *testing.M) { os.Exit(e2e.Run(m)) }
