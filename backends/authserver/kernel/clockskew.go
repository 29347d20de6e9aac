package kernel

import "time"

// Skew is how far the clock of an assertion's signer may be ahead of this server's clock (FAPI 2.0 Security Profile
// section 5.3.2.1). Skew does not extend the life of an assertion.
const Skew = 10 * time.Second
