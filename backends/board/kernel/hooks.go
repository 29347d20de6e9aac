package kernel

import (
	"time"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/webhook"
)

// The topics of webhooks: the events that webhooks can subscribe to.
const (
	TopicThreadCreated  = "thread.created"
	TopicPostCreated    = "post.created"
	TopicPostHeld       = "post.held"
	TopicPostApproved   = "post.approved"
	TopicPostRejected   = "post.rejected"
	TopicPostEdited     = "post.edited"
	TopicPostDeleted    = "post.deleted"
	TopicUserRegistered = "user.registered"
	TopicReportCreated  = "report.created"
)

// Topics lists all topics that a webhook can subscribe to.
var Topics = []string{
	TopicThreadCreated, TopicPostCreated, TopicPostHeld, TopicPostApproved, TopicPostRejected, TopicPostEdited,
	TopicPostDeleted,
	TopicUserRegistered, TopicReportCreated,
}

// MaxWebhooks is the maximum number of webhooks. It is limited because every change may have to write a delivery for
// each webhook.
const MaxWebhooks = 20

// newHooks returns the webhooks of a board.
func newHooks(s *Server) *webhook.Hooks {
	return webhook.New(webhook.Options{
		DB: s.DB, Prefix: "board", Headers: "X-Board", Agent: "Tollgate-Board", Topics: Topics, Max: MaxWebhooks,
		Keyring: func() (keyring.Keyring, error) { return s.keyring() }, Now: func() time.Time { return s.Now() },
	})
}

// keyring returns the keyring that encrypts secrets in the database, or nil if no keyring is configured. It returns an
// error with status 503 if the keyring cannot be loaded.
func (s *Server) keyring() (keyring.Keyring, error) {
	if s.Options.Keyring == nil {
		return nil, nil // a board need not have one
	}
	ring, err := s.Options.Keyring()
	if err != nil {
		return nil, apierror.Unavailable("the keyring", err)
	}
	return ring, nil
}
