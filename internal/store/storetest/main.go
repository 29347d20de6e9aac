package storetest

import (
	"flag"
	"os"
	"testing"
)

// Main runs the tests of a package that mostly wait for databases. It runs eight of them at a time whatever the number
// of CPUs, and does not override an explicit -parallel flag.
func Main(m *testing.M) {
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err) // every test binary has this flag
	}
	os.Exit(m.Run())
}
