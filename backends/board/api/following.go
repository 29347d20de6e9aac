package api

import (
	"github.com/tollgate-gateway/tollgate/backends/board/following"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// SubscriptionInfo is the view of a followed thread for clients.
type SubscriptionInfo struct {
	ThreadID  int64          `json:"threadId"`
	Mode      string         `json:"mode"`
	Title     *string        `json:"title"`
	CreatedAt *kernel.Moment `json:"createdAt"`
}

// putSubscription serves PUT /threads/{threadId}/subscription.
func (s *service) putSubscription(c *rest.Call, a *rights.Actor) (any, error) {
	in := bodyIfAny(c)
	mode, id := "instant", in.id("threadId")
	if m := in.OptionalText("mode"); m != nil {
		mode = *m
	}
	if err := in.finish(); err != nil {
		return nil, err
	}
	return envelope{SubscriptionInfo{ThreadID: id, Mode: mode}}, s.Following.Subscribe(c.R.Context(), a, id, mode)
}

// deleteSubscription serves DELETE /threads/{threadId}/subscription.
func (s *service) deleteSubscription(c *rest.Call, a *rights.Actor, id int64) (any, error) {
	return envelope{SubscriptionInfo{ThreadID: id, Mode: "none"}}, s.Following.Unsubscribe(c.R.Context(), a, id)
}

// ViewSubscription returns the view of a subscription for clients.
func ViewSubscription(sub following.Subscription) SubscriptionInfo {
	return SubscriptionInfo{sub.Thread.ID, sub.Mode, &sub.Thread.Title, kernel.NilIfZero(sub.CreatedAt)}
}

// getSubscriptions serves GET /subscriptions.
func (s *service) getSubscriptions(c *rest.Call, a *rights.Actor) (any, error) {
	list, err := s.Following.Subscriptions(c.R.Context(), a)
	return envelope{each(list, ViewSubscription)}, err
}

// NotificationInfo is the view of a notification about a post for clients.
type NotificationInfo struct {
	ID            int64          `json:"id"`
	Kind          string         `json:"kind"`
	ThreadID      int64          `json:"threadId"`
	ThreadTitle   string         `json:"threadTitle"`
	PostID        int64          `json:"postId"`
	ActorUsername string         `json:"actorUsername"`
	CreatedAt     kernel.Moment  `json:"createdAt"`
	ReadAt        *kernel.Moment `json:"readAt"`
}

// ViewNotification returns the view of a notification for clients.
func ViewNotification(n following.Notification) NotificationInfo {
	return NotificationInfo{n.ID, n.Kind, n.Thread, n.Title, n.Post, n.Actor, n.Created, kernel.NilIfZero(n.Read)}
}

// getNotifications serves GET /notifications.
func (s *service) getNotifications(c *rest.Call, a *rights.Actor) (any, error) {
	in := noBody(c)
	cursor, limit := in.page()
	if err := in.finish(); err != nil {
		return nil, err
	}
	list, next, err := s.Following.Notifications(c.R.Context(), a, cursor, limit)
	return page{each(list, ViewNotification), kernel.NilIfZero(next)}, err
}

// readNotifications serves POST /notifications/read.
func (s *service) readNotifications(c *rest.Call, a *rights.Actor) (any, error) {
	in := withBody(c)
	upTo := in.Required("upTo")
	if err := in.finish(); err != nil {
		return nil, err
	}
	n, err := s.Following.ReadNotifications(c.R.Context(), a, upTo)
	return envelope{map[string]int64{"read": n}}, err
}

// readThread serves POST /threads/{threadId}/read.
func (s *service) readThread(c *rest.Call, a *rights.Actor) (any, error) {
	in := withBody(c)
	post, id := in.Required("postId"), in.id("threadId")
	if err := in.finish(); err != nil {
		return nil, err
	}
	return envelope{map[string]int64{"threadId": id, "postId": post}}, s.Following.MarkRead(c.R.Context(), a, id, post)
}
