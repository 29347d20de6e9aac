package kernel

import (
	"time"

	"github.com/tollgate-gateway/tollgate/internal/instant"
)

// Moment is a time in the form in which it is stored.
type Moment = instant.Moment

// MomentOf converts a time to the form in which it is stored.
func MomentOf(t time.Time) Moment { return instant.Of(t) }
