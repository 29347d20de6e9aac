// Package signin tests how people sign in at the authorization server, in a headless Chromium.
package signin

import (
	"os"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

func TestMain(m *testing.M) { os.Exit(e2e.Run(m)) }
