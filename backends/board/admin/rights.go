package admin

import (
	"math/bits"

	"github.com/tollgate-gateway/tollgate/backends/board/rights"
)

// Right describes one bit of a mask of rights or restrictions for the forms of administrators.
type Right struct {
	Bit     int    // its number in the mask; the lowest bit is 0
	Name    string // in fixtures and in the moderation log
	Label   string
	Section string // the heading above the right in forms
	// InForums reports whether a forum may allow or deny the right. If not, the right applies to the whole board.
	InForums bool
}

// Mask returns the mask of this right alone.
func (r Right) Mask() rights.Mask { return 1 << r.Bit }

// Rights describes all rights, in the order in which forms show them.
func Rights() []Right {
	const reading, writing, own, moderating, limits, board = "Reading", "Writing", "Own posts", "Moderating",
		"Exempt from limits", "Board"
	right := func(section, label, name string) Right {
		bit := bits.TrailingZeros64(uint64(rights.MaskNames[name]))
		return Right{bit, name, label, section, forumMask.Has(rights.MaskNames[name])}
	}
	return []Right{
		right(reading, "See the forum", "forum.view"),
		right(reading, "Read threads", "thread.view"),
		right(reading, "Read threads of others", "thread.viewOthers"),
		right(reading, "Search", "forum.search"),
		right(reading, "Open attachments", "attachment.download"),
		right(writing, "Start threads", "thread.post"),
		right(writing, "Reply", "reply.post"),
		right(writing, "Attach files", "attachment.upload"),
		right(writing, "Subscribe", "forum.subscribe"),
		right(own, "Edit own posts", "post.editOwn"),
		right(own, "Delete own posts", "post.deleteOwn"),
		right(moderating, "Edit all posts", "post.editOthers"),
		right(moderating, "Delete all posts", "post.deleteOthers"),
		right(moderating, "Restore deleted posts", "post.restore"),
		right(moderating, "See held posts", "content.viewUnapproved"),
		right(moderating, "See deleted posts", "content.viewDeleted"),
		right(moderating, "Approve and reject", "content.approve"),
		right(moderating, "Lock threads", "thread.lock"),
		right(moderating, "Make threads sticky", "thread.stick"),
		right(moderating, "Move threads", "thread.move"),
		right(moderating, "Edit titles", "thread.editTitle"),
		right(limits, "Flood control", "flood.bypass"),
		right(limits, "Approval", "moderation.bypass"),
		right(limits, "Edit window", "editWindow.bypass"),
		right(limits, "Locks and closed forums", "lock.bypass"),
		right(board, "See profiles", "profile.view"),
		right(board, "See the list of members", "memberlist.view"),
		right(board, "Report posts", "report.create"),
		right(board, "Make API tokens", "token.issue"),
		right(board, "See the board while offline", "board.viewOffline"),
		right(board, "Administer the board", "admin.access"),
	}
}

// forumMask holds the rights that forums may allow or deny.
const forumMask = rights.ForumSubscribe<<1 - 1 | rights.FloodBypass | rights.ModerationBypass |
	rights.EditWindowBypass | rights.LockBypass

// Restrictions describes the restrictions of groups, in the order of their bits.
func Restrictions() []Right {
	return []Right{
		{Bit: 0, Name: "thread.needsApproval", Label: "New threads wait for approval"},
		{Bit: 1, Name: "reply.needsApproval", Label: "Replies wait for approval"},
		{Bit: 2, Name: "edit.needsApproval", Label: "Edits wait for approval"},
	}
}

// restrictions is the mask of all restrictions.
const restrictions = rights.ThreadNeedsApproval | rights.ReplyNeedsApproval | rights.EditNeedsApproval
