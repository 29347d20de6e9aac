// Package look has the tests of what all pages have in common, in a headless Chromium.
package look

import (
	"os"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

func TestMain(m *testing.M) { os.Exit(e2e.Run(m)) }
