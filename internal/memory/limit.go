package memory

import (
	"math"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// MinBudget is the smallest budget: the largest body of a model request fits into it together with the largest answer,
// which counts twice because of what is made of it.
const MinBudget = 96 << 20

// unknown replaces the memory of a system that does not report it.
const unknown = 1 << 30

// Default returns a quarter of the memory that the process may use: the limit set for Go by GOMEMLIMIT or
// debug.SetMemoryLimit, or else that of the control group or the machine. The other quarters are for what is made of a
// body on its way, for garbage, and for everything else.
func Default() int64 {
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		limit = unknown
		if n, err := memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)(); err == nil &&
			n > 0 && n < math.MaxInt64 {
			limit = int64(n)
		}
	}
	return max(limit/4, MinBudget)
}
