package content

import (
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// The kinds of what is imported from another program.
const (
	MovedMember = "member"
	MovedForum  = "forum"
	MovedThread = "thread"
	MovedPost   = "post"
	MovedFile   = "file"

	MovedConversation = "conversation"
)

// InsertMoved begins the statement that records ids of another program; InsertMovedRow are the placeholders of a row:
// the program, the kind, the id there and the id here.
const (
	InsertMoved    = "INSERT INTO board_moved (program, kind, old_id, new_id) VALUES "
	InsertMovedRow = "(?, ?, ?, ?)"
)

// NoteMoved records the id that something had in another program.
func NoteMoved(c store.Conn, program, kind string, there, here int64) error {
	_, err := c.Exec(InsertMoved+InsertMovedRow, program, kind, there, here)
	return err
}

// Moved returns the id of what was imported from another program, by its id there, or 0 if there is none.
func Moved(c store.Conn, program, kind string, there int64) (here int64, err error) {
	err = c.Row("SELECT new_id FROM board_moved WHERE program = ? AND kind = ? AND old_id = ?", program, kind,
		there).Scan(&here)
	return here, kernel.OrNone(err)
}
