package storetest

import (
	"flag"
	"os"
	"testing"
)

// Main runs the tests of a package in which most of the time is spent waiting for databases. It runs eight tests at a
// time whatever the number of CPUs, unless the flag -parallel is set.
func Main(m *testing.M) {
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err) // every test binary has this flag
	}
	os.Exit(m.Run())
}
