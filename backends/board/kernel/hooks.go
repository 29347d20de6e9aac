package kernel

import (
	"time"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/webhook"
)

// The topics of webhooks.
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

// Topics are all that a webhook can be told of.
var Topics = []string{
	TopicThreadCreated, TopicPostCreated, TopicPostHeld, TopicPostApproved, TopicPostRejected, TopicPostEdited,
	TopicPostDeleted,
	TopicUserRegistered, TopicReportCreated,
}

// MaxWebhooks bounds what every change may have to write.
const MaxWebhooks = 20

func newHooks(s *Server) *webhook.Hooks {
	return webhook.New(webhook.Options{
		DB: s.DB, Prefix: "board", Headers: "X-Board", Agent: "Tollgate-Board", Topics: Topics, Most: MaxWebhooks,
		Keyring: func() (keyring.Keyring, error) { return s.keyring() }, Now: func() time.Time { return s.Now() },
	})
}

// keyring returns what encrypts secrets. It is nil where there is none.
func (s *Server) keyring() (keyring.Keyring, error) {
	if s.Options.Keyring == nil {
		return nil, nil //nolint:nilnil // a board need not have one
	}
	ring, err := s.Options.Keyring()
	if err != nil {
		return nil, apierror.Unavailable("the keyring", err)
	}
	return ring, nil
}
