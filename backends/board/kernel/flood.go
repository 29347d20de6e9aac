package kernel

import (
	"time"

	"github.com/tollgate-gateway/tollgate/internal/ratelimit"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// FloodState holds the state of the limits of a member's posts. Private messages count towards the same limits. The
// state of a limit is the time from which the limit is fully available again; see ratelimit.Limit.Take.
type FloodState struct {
	Flood   Moment // of the flood control
	Threads Moment // of the threads per hour
	Posts   Moment // of the posts per hour
}

// FloodColumns lists the columns of board_users that hold a FloodState, in the order of its fields.
const FloodColumns = "flood_posts, hourly_threads, hourly_posts"

// TakeHourly charges a post to the limits per hour. startsThread reports whether the post starts a thread. TakeHourly
// returns how long the member must wait, or 0 if the post is within the limits.
func (f *FloodState) TakeHourly(settings *Settings, startsThread bool, now Moment) time.Duration {
	var threadWait, postWait time.Duration
	if startsThread {
		f.Threads, threadWait = ratelimit.Every(settings.ThreadsPerHour, time.Hour).Take(f.Threads, now)
	}
	f.Posts, postWait = ratelimit.Every(settings.PostsPerHour, time.Hour).Take(f.Posts, now)
	return max(threadWait, postWait)
}

// Store writes the state to the row of a member, which the caller has locked.
func (f *FloodState) Store(c store.Conn, member int64) error {
	return c.Later("UPDATE board_users SET flood_posts = ?, hourly_threads = ?, hourly_posts = ? WHERE id = ?",
		f.Flood, f.Threads, f.Posts, member)
}
