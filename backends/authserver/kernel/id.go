package kernel

import "crypto/rand"

// NewID makes the name of a row: 26 letters and digits, 130 random bits. It is no secret.
func NewID() string { return rand.Text() }
