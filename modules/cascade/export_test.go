package cascade

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/cascade"
	gatewayapp "github.com/tollgate-gateway/tollgate/modules/gateway"
)

// ChargeSome runs the job that charges batches once, for batches from before a time.
func ChargeSome(ctx context.Context, app *gatewayapp.App, before time.Time) {
	h := &Handler{app: app, options: cascade.Options{}.WithDefaults(), logger: zap.NewNop()}
	h.chargeSome(ctx, before)
}
