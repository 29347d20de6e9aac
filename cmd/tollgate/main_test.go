package main

import (
	"flag"
	"os"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

var update = flag.Bool("update", false, "write what the adapter says now into testdata/adapt")

func TestMain(m *testing.M) { os.Exit(e2e.Run(m)) }
