package admin

// For the test of what the database makes of them.
var (
	MemberOrders    = memberOrders
	MembersByColumn = membersByColumn
)
