// Package console tests the console of the gateway, mostly in a headless Chromium.
package console

import (
	"os"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

func TestMain(m *testing.M) { os.Exit(e2e.Run(m)) }
