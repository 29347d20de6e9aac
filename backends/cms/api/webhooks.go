package api

import (
	"context"
	"net/http"

	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
)

// webhooks lists the webhooks without their secrets.
func (c Content) webhooks(ctx context.Context, call *handler.Call) (any, error) {
	list, err := c.Webhooks.List(ctx, &call.User)
	return map[string]any{"webhooks": nonNil(list)}, err
}

// addWebhook creates a webhook and answers with its secret.
func (c Content) addWebhook(ctx context.Context, call *handler.Call) (any, error) {
	var request struct {
		URL    string   `json:"url"`
		Topics []string `json:"topics"`
	}
	if err := members(call, &request, "url", "topics"); err != nil {
		return nil, err
	}
	created, err := c.Webhooks.Add(ctx, &call.User, request.URL, request.Topics)
	if err != nil {
		return nil, err
	}
	return created, call.SetStatus(http.StatusCreated)
}

// setWebhook enables or disables a webhook.
func (c Content) setWebhook(ctx context.Context, call *handler.Call) (any, error) {
	var request struct {
		Enabled *bool `json:"enabled"`
	}
	if err := members(call, &request, "enabled"); err != nil {
		return nil, err
	}
	if request.Enabled == nil {
		return nil, handler.Errorf(http.StatusBadRequest, "Required parameter 'enabled' is missing")
	}
	return nil, c.Webhooks.Enable(ctx, &call.User, id(call), *request.Enabled)
}

// dropWebhook deletes a webhook.
func (c Content) dropWebhook(ctx context.Context, call *handler.Call) (any, error) {
	return nil, c.Webhooks.Delete(ctx, &call.User, id(call))
}

// rotateWebhook replaces the secret of a webhook and answers with the new secret.
func (c Content) rotateWebhook(ctx context.Context, call *handler.Call) (any, error) {
	secret, err := c.Webhooks.Rotate(ctx, &call.User, id(call))
	return map[string]string{"secret": secret}, err
}

// testWebhook sends a test event to a webhook.
func (c Content) testWebhook(ctx context.Context, call *handler.Call) (any, error) {
	return nil, c.Webhooks.Test(ctx, &call.User, id(call))
}

// deliveries lists the latest deliveries to a webhook.
func (c Content) deliveries(ctx context.Context, call *handler.Call) (any, error) {
	list, err := c.Webhooks.Deliveries(ctx, &call.User, id(call))
	return map[string]any{"deliveries": nonNil(list)}, err
}
