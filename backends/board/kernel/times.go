package kernel

import (
	"time"

	"github.com/tollgate-gateway/tollgate/internal/instant"
)

// Moment is an instant as it is stored.
type Moment = instant.Moment

// MomentOf returns a time as it is stored.
func MomentOf(t time.Time) Moment { return instant.Of(t) }
