// Package limits tests the limits that operators set on users, teams and the organisation, including members' attempts
// to evade them.
package limits

import (
	"os"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

func TestMain(m *testing.M) { os.Exit(e2e.Run(m)) }
