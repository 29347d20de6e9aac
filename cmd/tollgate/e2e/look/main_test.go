// Package look tests the common properties of all pages in a headless Chromium.
package look

import (
	"os"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

func TestMain(m *testing.M) { os.Exit(e2e.Run(m)) }
