package board

import (
	_ "embed"
	"encoding/json"

	"github.com/tollgate-gateway/tollgate/backends/board"
	"github.com/tollgate-gateway/tollgate/backends/board/admin"
	"github.com/tollgate-gateway/tollgate/backends/board/api"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

//go:embed service.caddyfile
var form string

// The short form, besides the options of the directive:
//
//	tollgate [<matcher>] board {
//		guests off                # requests need a token, and pages a member
//		token_limit <units>       # of a token in 5 minutes; default 600
//		guest_limit <units>       # of an address in 5 minutes; default 120
//	}
func init() {
	tollgate.Register(tollgate.Service{
		Name: serviceName, Form: form, Block: optionNames, Costs: costs, Command: command,
		Schemas: []store.Schema{board.Schema()}, Sealed: admin.Sealed, Handlers: []string{"board"}, Folder: folder,
		Options: []tollgate.Option{
			{Name: "guests", Read: tollgate.ReadOff},
			{Name: "token_limit", Read: tollgate.ReadWord},
			{Name: "guest_limit", Read: tollgate.ReadWord},
		},
	})
}

// folder returns the folder in which a handler keeps attachments, or "" if they are in the database. handler is the
// handler's JSON configuration.
func folder(app *tollgate.App, handler json.RawMessage) (string, error) {
	var h Handler
	if err := json.Unmarshal(handler, &h); err != nil {
		return "", err
	}
	return attachmentsFolder(app, h.Attachments), nil
}

// costs returns the costs of the API's routes, for tokens and, where guests are admitted, for guests.
func costs() map[string][]tollgate.Cost {
	all := make(map[string][]tollgate.Cost)
	for _, r := range api.Routes() {
		if *r.Cost == 1 { // the cost of routes that are not listed
			continue
		}
		cost := tollgate.Cost{Units: *r.Cost, Method: r.Method, Path: kernel.Mount + r.Path}
		all["token"] = append(all["token"], cost)
		if r.Guest {
			all["guest"] = append(all["guest"], cost)
		}
	}
	return all
}
