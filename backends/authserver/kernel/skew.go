package kernel

import "time"

// Skew is how far the clock of whoever signed an assertion may be ahead of ours (FAPI 2.0 Security Profile section
// 5.3.2.1). It makes none good for longer.
const Skew = 10 * time.Second
