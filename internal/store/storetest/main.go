package storetest

import (
	"flag"
	"os"
	"testing"
)

// Main runs the tests of a package that wait for databases more than they work: eight
// at a time, on however few processors, where the command line has no -parallel.
func Main(m *testing.M) {
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err) // every test has this flag
	}
	os.Exit(m.Run())
}
