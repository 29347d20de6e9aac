package memory

import (
	"math"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// MinBudget is the smallest budget. It is enough for the largest body of a model request together with the largest
// answer, which counts twice because it is copied while it is converted.
const MinBudget = 96 << 20

// assumedMemory is the memory that is assumed if the system does not report it, in bytes.
const assumedMemory = 1 << 30

// Default returns a quarter of the memory that the process may use. That is the limit set for Go by GOMEMLIMIT or
// debug.SetMemoryLimit, or else that of the control group or the machine. The other quarters are for copies of bodies
// that are being processed, for garbage, and for everything else.
func Default() int64 {
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		limit = assumedMemory
		if n, err := memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)(); err == nil &&
			n > 0 && n < math.MaxInt64 {
			limit = int64(n)
		}
	}
	return max(limit/4, MinBudget)
}
