package kernel

import "time"

// Skew is how far the clock of the signer of an assertion may be ahead of ours (FAPI 2.0 Security Profile section
// 5.3.2.1). It does not extend the life of an assertion.
const Skew = 10 * time.Second
