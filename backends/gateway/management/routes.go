package management

import (
	"slices"

	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// The tags of the documentation.
const (
	tagPublic   = "Public"
	tagKeys     = "Gateway keys"
	tagProvider = "Provider keys"
	tagModels   = "Models and preferences"
	tagUsage    = "Health and usage"
	tagOperator = "Operators"
)

// Routes returns the routes of the management API and the public routes.
func (s *Service) Routes() []rest.Route {
	return slices.Concat(s.publicRoutes(), s.gatewayKeyRoutes(), s.providerKeyRoutes(), s.modelRoutes(), s.usageRoutes(),
		s.aliasRoutes(), s.operatorRoutes())
}

// publicRoutes returns the routes that need no token.
func (s *Service) publicRoutes() []rest.Route {
	return []rest.Route{
		{
			Method: "GET", Path: "/health", Tag: tagPublic, Guest: true, Serve: s.liveness, Answer: "Health", Also: []int{503},
			Summary: "Tell whether the gateway can work", Description: "200, or 503 while a part that it needs is down.",
		},
		{
			Method: "GET", Path: "/providers", Tag: tagPublic, Guest: true, Serve: s.providers, Answer: "ProviderList",
			Summary: "List the providers on offer",
		},
		{
			Method: "GET", Path: "/models", Tag: tagPublic, Guest: true, Serve: s.registry, Answer: "Registry",
			Summary:     "List every model of the providers on offer",
			Description: "With the tiers it serves, its limits and its list price.",
		},
		{
			Method: "GET", Path: "/openapi.json", Tag: tagPublic, Guest: true, Serve: rest.Publish(s.OpenAPI).Serve,
			Answer:  "OpenAPI",
			Summary: "Show this document",
		},
		{
			Method: "GET", Path: "/docs", Tag: tagPublic, Guest: true, Hidden: true, Serve: s.docs, Status: 200,
			Summary: "Show this document as a page to try requests on",
		},
		{
			Method: "GET", Path: "/redoc", Tag: tagPublic, Guest: true, Hidden: true, Serve: s.redoc, Status: 200,
			Summary: "Show this document as a page to read",
		},
		{
			Method: "GET", Path: "/docs/{file}", Tag: tagPublic, Guest: true, Hidden: true, Serve: s.docsAsset, Status: 200,
			Summary: "Fetch a part of these pages",
		},
	}
}

// gatewayKeyRoutes returns the routes by which users sign in and manage their gateway keys.
func (s *Service) gatewayKeyRoutes() []rest.Route {
	return []rest.Route{
		{
			Method: "POST", Path: "/users/init", Tag: tagKeys, Serve: s.forSignedIn(s.initUser), Answer: "InitResult",
			Also: []int{201}, Errors: []int{403},
			Summary:     "Make the signed-in user known",
			Description: "The answer is 201 with a first gateway key, whose text is shown only once, or 200 without a key if the user is known already. It is 403 if the operator does not admit new users.",
		},
		{
			Method: "GET", Path: "/users/{user_id}/keychain-keys", Tag: tagKeys, Serve: s.forUser(s.listKeys),
			Answer: "GatewayKeyList", Errors: []int{403},
			Summary:     "List the gateway keys",
			Description: "Oldest first, with the latest 1,000 of those that are revoked. Their text is never shown again.",
		},
		{
			Method: "POST", Path: "/users/{user_id}/keychain-keys", Tag: tagKeys, Serve: s.forUser(s.createKey),
			Body: "GatewayKeyInput", OptionalBody: true, Answer: "NewGatewayKey", Status: 201, Errors: []int{403, 404, 409},
			Summary:     "Make a gateway key",
			Description: "The key's text is shown only once. A user can have 1,000 keys that are not revoked. If the operator has set limits on all keys of the user, the new key shares the limits of one of them.",
		},
		{
			Method: "POST", Path: "/users/{user_id}/regenerate-key", Tag: tagKeys, Serve: s.forUser(s.regenerateKey),
			Answer: "NewGatewayKey", Status: 201, Errors: []int{403, 404, 409},
			Summary:     "Replace the primary gateway key",
			Description: "The old key is revoked in the same step. The new key has its label, limits and budgets.",
		},
		{
			Method: "PUT", Path: "/keychain-keys/{key_id}", Tag: tagKeys, Serve: s.forCaller(s.updateKey), Body: "GatewayKeyChange",
			Answer: "GatewayKey", Errors: []int{403, 404, 409},
			Summary:     "Change a gateway key",
			Description: "Omitted limits stay unchanged; null removes a limit that the user has set. Limits that the operator has set stay.",
		},
		{
			Method: "DELETE", Path: "/keychain-keys/{key_id}", Tag: tagKeys, Serve: s.forCaller(s.revokeKey),
			Errors:      []int{403, 404},
			Summary:     "Revoke a gateway key",
			Description: "For good. Requests with it are refused at once, on other nodes within 5 seconds.",
		},
	}
}

// providerKeyRoutes returns the routes for users' own provider keys.
func (s *Service) providerKeyRoutes() []rest.Route {
	return []rest.Route{
		{
			Method: "GET", Path: "/users/{user_id}/keys", Tag: tagProvider, Serve: s.forUser(s.listProviderKeys),
			Answer: "ProviderKeyList", Errors: []int{403},
			Summary: "List the provider keys", Description: "Oldest first. Their text is never shown.",
		},
		{
			Method: "POST", Path: "/users/{user_id}/keys", Tag: tagProvider, Serve: s.forUser(s.addProviderKey),
			Body: "ProviderKeyInput", Answer: "ProviderKey", Status: 201, Errors: []int{403, 404, 409},
			Summary: "Store a provider key", Description: "It is encrypted before it is stored.",
		},
		{
			Method: "DELETE", Path: "/users/{user_id}/keys/{key_id}", Tag: tagProvider, Serve: s.forUser(s.removeProviderKey),
			Errors:  []int{403, 404},
			Summary: "Remove a provider key",
		},
		{
			Method: "POST", Path: "/users/{user_id}/keys/{key_id}/test", Tag: tagProvider, Serve: s.forUser(s.testKey),
			Answer: "ProbeResult", Errors: []int{403, 404},
			Summary:     "Try a provider key",
			Description: "Sends one small request (a few tokens) to the provider's cheapest model. The outcome counts for the health of the key: a key that works again is used again at once.",
		},
	}
}

// modelRoutes returns the routes for users' models and preferences.
func (s *Service) modelRoutes() []rest.Route {
	return []rest.Route{
		{
			Method: "GET", Path: "/users/{user_id}/models", Tag: tagModels, Serve: s.forUser(s.listModels),
			Answer: "ModelEntryList", Errors: []int{403},
			Summary:     "Show the effective model table",
			Description: "In the order of trial: the high tier first, inside a tier preferred providers, then priority, then the order of the catalog. Models of no tier are last.",
		},
		{
			Method: "POST", Path: "/users/{user_id}/models", Tag: tagModels, Serve: s.forUser(s.addModel),
			Body: "CustomModelInput", Answer: "ModelEntry", Status: 201, Errors: []int{403, 404, 409},
			Summary:     "Add a custom model",
			Description: "Any server that speaks chat completions. A base_url that leads to a private address is refused unless the operator has allowed its network (allow_networks).",
		},
		{
			Method: "PUT", Path: "/users/{user_id}/models/{model_id...}", Tag: tagModels, Serve: s.forUser(s.changeModel),
			Body: "ModelChange", Answer: "ModelEntry", Errors: []int{403, 404, 409},
			Summary:     "Enable, disable or order a model",
			Description: "model_id is the id of an entry or its name, provider/model.",
		},
		{
			Method: "DELETE", Path: "/users/{user_id}/models/{model_id...}", Tag: tagModels, Serve: s.forUser(s.removeModel),
			Errors:      []int{403, 404},
			Summary:     "Remove a custom model or a change",
			Description: "A custom model is removed; a changed model of the catalog gets the catalog's settings again.",
		},
		{
			Method: "GET", Path: "/users/{user_id}/preferences", Tag: tagModels, Serve: s.forUser(s.preferences),
			Answer: "Preferences", Errors: []int{403},
			Summary: "Show the routing preferences",
		},
		{
			Method: "PUT", Path: "/users/{user_id}/preferences", Tag: tagModels, Serve: s.forUser(s.setPreferences),
			Body: "Preferences", Answer: "Preferences", Errors: []int{403, 404},
			Summary:     "Replace the routing preferences",
			Description: "An omitted list becomes empty. Unknown names are refused.",
		},
		{
			Method: "POST", Path: "/users/{user_id}/route", Tag: tagModels, Serve: s.forUser(s.dryRun), Body: "RouteInput",
			Answer: "RouteResult", Errors: []int{403, 404},
			Summary:     "Tell where a request would go",
			Description: "The candidates in the order of trial, and why the others are left out. Nothing is sent to a provider.",
		},
	}
}

// usageRoutes returns the routes for the health of providers and users' own usage.
func (s *Service) usageRoutes() []rest.Route {
	return []rest.Route{
		{
			Method: "GET", Path: "/users/{user_id}/providers/health", Tag: tagUsage, Serve: s.forUser(s.health),
			Answer: "ProviderHealthList", Errors: []int{403},
			Summary:     "Show the health of the connected providers",
			Description: "As the answering node knows it: every node learns from its own requests.",
		},
		{
			Method: "GET", Path: "/users/{user_id}/usage", Tag: tagUsage, Serve: s.forUser(s.usage), Answer: "UsageReport",
			Media: "text/csv", Errors: []int{403},
			Summary: "Add up the usage", Description: "Usage of the last second may be missing.",
			Query: []rest.Param{
				{Name: "from", Description: "Beginning of the period, a date or a time. It is rounded down to a full hour, or to a full day if it is more than 90 days ago. Default: 30 days before the end.", Schema: `{"type":"string"}`},
				{
					Name: "to", Description: "End of the period. It is rounded up to a full hour, or to a full day if it is more than 90 days ago. Default: now.",
					Schema: `{"type":"string"}`,
				},
				{
					Name: "group", Description: "The groups to sum by, separated by commas: provider, model, day, hour, key, tier. Sums by hour are kept for 90 days.",
					Schema: `{"type":"string","examples":["provider,model,day"],"default":"provider,model,day"}`,
				},
				{
					Name: "format", Description: "json or csv. A CSV file has exactly one group; its default is day.",
					Schema: `{"type":"string","enum":["json","csv"],"default":"json"}`,
				},
			},
		},
		{
			Method: "GET", Path: "/users/{user_id}/usage/recent", Tag: tagUsage, Serve: s.forUser(s.recent), Answer: "RequestList",
			Media: "text/csv", Errors: []int{403},
			Summary: "List the latest requests", Description: "Newest first, each with its attempts.",
			Query: []rest.Param{
				{Name: "limit", Description: "How many.", Schema: `{"type":"integer","minimum":1,"maximum":500,"default":20}`},
				{Name: "cursor", Description: "next_cursor from the previous page.", Schema: `{"type":"string"}`},
				{Name: "format", Description: "json or csv.", Schema: `{"type":"string","enum":["json","csv"],"default":"json"}`},
			},
		},
	}
}
