package kernel

import (
	"time"

	"github.com/tollgate-gateway/tollgate/internal/instant"
)

// Moment is a time in the form that the database stores.
type Moment = instant.Moment

// MomentOf converts a time to the form that the database stores.
func MomentOf(t time.Time) Moment { return instant.Of(t) }
