package memory

import (
	"math"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// Least is the smallest budget: the largest body of a model request and the largest
// answer, which is counted twice for what is made of it, fit into it together.
const Least = 96 << 20

// unknown stands for the memory of a system that does not tell.
const unknown = 1 << 30

// Default is a quarter of the memory that the process may use: the limit that
// GOMEMLIMIT, or who runs the program, has set for Go, else that of its control
// group or of the machine. The other quarters are for what is made of a body on
// its way, for garbage, and for all else.
func Default() int64 {
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		limit = unknown
		if n, err := memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)(); err == nil && n > 0 && n < math.MaxInt64 {
			limit = int64(n)
		}
	}
	return max(limit/4, Least)
}
