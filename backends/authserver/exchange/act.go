package exchange

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
)

// actor is an object of the claim act (RFC 8693 section 4.1). It names the party that acts, and its member act contains
// the actor before that party.
type actor struct {
	Subject string          `json:"sub"`
	Client  string          `json:"client_id,omitempty"`
	Type    string          `json:"actor_type,omitempty"`
	Act     json.RawMessage `json:"act,omitempty"`
}

const (
	// maxAgents is the maximum number of clients in the claim agent_chain. The oldest are omitted.
	maxAgents = 8
	// maxNested is the maximum number of nested objects that are read, including those that other servers added.
	maxNested = 64
)

// newActor returns the actor of the new token. It returns nil if the exchange is an impersonation.
func (r *Request) newActor() *actor {
	if r.self && r.actor == nil { // impersonation
		return nil
	}
	a := &actor{Subject: r.Client.ID, Client: r.Client.ID, Type: "service"}
	if r.actor != nil {
		a.Subject = r.actor.Subject
	}
	if r.Client.Agent {
		a.Type = "agent"
	}
	return a
}

// setActors sets the claims act and agent_chain.
func (x *Exchange) setActors(ctx context.Context, r *Request) (err error) {
	r.act = r.subject.Act
	if a := r.newActor(); a != nil {
		a.Act = r.subject.Act
		if r.actor != nil && len(r.actor.Act) > 0 { // its actors come before those of the subject token
			if a.Act, err = appendActors(r.actor.Act, r.subject.Act); err != nil {
				return err
			}
		}
		if r.act, err = json.Marshal(a); err != nil {
			return err
		}
	}
	if depth(r.act) > x.options.Depth {
		return errTooDeep
	}
	r.agentChain, err = x.agents(ctx, r.act)
	return err
}

// errTooDeep means that the chain of actors would be too long.
var errTooDeep = kernel.Refuse(kernel.InvalidRequest, "delegation chain too deep")

// IsTooDeep reports whether an exchange was refused because the chain of actors would be too long.
func IsTooDeep(err error) bool { return errors.Is(err, errTooDeep) }

// appendActors appends the chain of actors innerChain to the innermost actor of the chain outerChain, and returns the
// new chain. Other members are unchanged.
func appendActors(outerChain, innerChain json.RawMessage) (json.RawMessage, error) {
	if len(innerChain) == 0 {
		return outerChain, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(outerChain, &members); err != nil {
		return nil, err
	}
	nested := innerChain
	if len(members["act"]) > 0 {
		var err error
		if nested, err = appendActors(members["act"], innerChain); err != nil {
			return nil, err
		}
	}
	members["act"] = nested
	return json.Marshal(members)
}

// actors returns the objects of a chain, outermost first. The outermost object is the current actor.
func actors(act json.RawMessage) (list []actor) {
	for len(act) > 0 && len(list) < maxNested {
		var a actor
		if json.Unmarshal(act, &a) != nil {
			break
		}
		list, act = append(list, a), a.Act
	}
	return list
}

// depth returns the number of actors in a chain.
func depth(act json.RawMessage) int { return len(actors(act)) }

// agents returns the claim agent_chain: the clients in a chain that are registered here, oldest first.
func (x *Exchange) agents(ctx context.Context, act json.RawMessage) (ids []string, err error) {
	for _, a := range actors(act) {
		if a.Client == "" || len(ids) == maxAgents {
			continue
		}
		switch _, err := x.options.Clients.Find(ctx, a.Client); {
		case err == nil:
			ids = append(ids, a.Client)
		case !errors.Is(err, clients.ErrUnknown):
			return nil, err
		}
	}
	slices.Reverse(ids)
	return ids, nil
}
