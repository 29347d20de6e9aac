package rights

import "database/sql/driver"

// Mask is a set of rights, or of restrictions.
type Mask uint64

// These rights apply in forums.
const (
	ForumView Mask = 1 << iota
	ThreadView
	ThreadViewOthers
	ThreadPost
	ReplyPost
	PostEditOwn
	PostEditOthers
	PostDeleteOwn
	PostDeleteOthers
	PostRestore
	ContentViewUnapproved
	ContentViewDeleted
	ContentApprove
	ThreadLock
	ThreadStick
	ThreadMove
	ThreadEditTitle
	AttachmentUpload
	AttachmentDownload
	ForumSearch
	ForumSubscribe
)

// These rights apply to the whole board.
const (
	BoardViewOffline Mask = 1 << (32 + iota)
	FloodBypass
	ModerationBypass
	EditWindowBypass
	MemberlistView
	ProfileView
	TokenIssue
	ReportCreate
	AdminAccess
	LockBypass
)

// Everything is the set of all rights, which administrators have: bits 0 to 20 and 32 to 41.
const Everything = 1<<21 - 1 | 1<<42 - 1<<32

// These are restrictions. A restriction applies only if every group of the actor has it.
const (
	ThreadNeedsApproval Mask = 1 << iota
	ReplyNeedsApproval
	EditNeedsApproval
)

// These are the rights of the groups that a new board starts with.
const (
	GuestMask      = ForumView | ThreadView | ThreadViewOthers | ForumSearch | AttachmentDownload | ProfileView
	RegisteredMask = GuestMask | ThreadPost | ReplyPost | PostEditOwn | PostDeleteOwn | AttachmentUpload | ForumSubscribe |
		MemberlistView | TokenIssue | ReportCreate
	ModeratorMask = RegisteredMask | PostEditOthers | PostDeleteOthers | PostRestore | ContentViewUnapproved |
		ContentViewDeleted |
		ContentApprove | ThreadLock | ThreadStick | ThreadMove | ThreadEditTitle |
		FloodBypass | ModerationBypass | EditWindowBypass | BoardViewOffline | LockBypass
)

// Int64 returns the mask in the form that the database stores.
func (m Mask) Int64() int64 { return int64(m) } //nolint:gosec // 42 bits are in use

// Value implements driver.Valuer.
func (m Mask) Value() (driver.Value, error) { return m.Int64(), nil }

// Has reports whether the mask contains all of rights.
func (m Mask) Has(rights Mask) bool { return m&rights == rights }

// MaskNames maps the names that fixtures and forms use to rights.
var MaskNames = map[string]Mask{
	"forum.view": ForumView, "thread.view": ThreadView, "thread.viewOthers": ThreadViewOthers, "thread.post": ThreadPost,
	"reply.post": ReplyPost, "post.editOwn": PostEditOwn, "post.editOthers": PostEditOthers,
	"post.deleteOwn":    PostDeleteOwn,
	"post.deleteOthers": PostDeleteOthers, "post.restore": PostRestore, "content.viewUnapproved": ContentViewUnapproved,
	"content.viewDeleted": ContentViewDeleted, "content.approve": ContentApprove, "thread.lock": ThreadLock,
	"thread.stick": ThreadStick,
	"thread.move":  ThreadMove, "thread.editTitle": ThreadEditTitle, "attachment.upload": AttachmentUpload,
	"attachment.download": AttachmentDownload, "forum.search": ForumSearch, "forum.subscribe": ForumSubscribe,
	"board.viewOffline": BoardViewOffline, "flood.bypass": FloodBypass, "moderation.bypass": ModerationBypass,
	"editWindow.bypass": EditWindowBypass, "memberlist.view": MemberlistView, "profile.view": ProfileView,
	"token.issue":   TokenIssue,
	"report.create": ReportCreate, "admin.access": AdminAccess, "lock.bypass": LockBypass,
}

// RestrictNames maps the names that fixtures and forms use to restrictions.
var RestrictNames = map[string]Mask{
	"thread.needsApproval": ThreadNeedsApproval, "reply.needsApproval": ReplyNeedsApproval,
	"edit.needsApproval": EditNeedsApproval,
}
