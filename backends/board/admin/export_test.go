package admin

// For the test of the query plans of these statements.
var (
	MemberOrders    = memberOrders
	MembersByColumn = membersByColumn
)
