package content

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// The kinds of imported things, whose ids in the old program the table board_moved keeps.
const (
	MovedMember = "member"
	MovedForum  = "forum"
	MovedThread = "thread"
	MovedPost   = "post"
	MovedFile   = "file"

	MovedConversation = "conversation"

	// MovedPlace identifies a post by its thread and number in the old program; see PlaceThere. It is stored only for a
	// post that has another number here.
	MovedPlace = "place"
	// MovedSum identifies a file by the SHA-1 sum of its content; see SumThere.
	MovedSum = "sum"
)

// InsertMoved begins the statement that records ids of the old program. InsertMovedRow holds the placeholders of one
// row: the program, the kind, the old id and the new id.
const (
	InsertMoved    = "INSERT INTO board_moved (program, kind, old_id, new_id) VALUES "
	InsertMovedRow = "(?, ?, ?, ?)"
)

// NoteMoved records that the thing of a kind with the id oldID in another program has the id newID here.
func NoteMoved(c store.Conn, program, kind string, there, here int64) error {
	_, err := c.Exec(InsertMoved+InsertMovedRow, program, kind, there, here)
	return err
}

// Moved returns the new id of the imported thing that had the id oldID in another program. It returns 0 if no such
// thing was imported.
func Moved(c store.Conn, program, kind string, there int64) (here int64, err error) {
	err = c.Row("SELECT new_id FROM board_moved WHERE program = ? AND kind = ? AND old_id = ?", program, kind,
		there).Scan(&here)
	return here, kernel.OrNone(err)
}

// PlaceThere combines a post's thread and number in the old program into an id of kind MovedPlace. It returns 0 if they
// are out of range.
func PlaceThere(thread, number int64) int64 {
	const bits = 20
	if thread < 1 || thread >= 1<<(63-bits) || number < 1 || number >= 1<<bits {
		return 0
	}
	return thread<<bits | number
}

// SumThere returns the id of kind MovedSum for a file name that begins with the SHA-1 sum of the file's content, and 0
// for any other name. The sum is hexadecimal or, if short is set, in digits of base 62.
func SumThere(name string, short bool) int64 {
	if short {
		name, _, _ = strings.Cut(name[:min(len(name), 40)], ".")
		n, _ := new(big.Int).SetString(name, 62)
		if n == nil {
			return 0
		}
		name = fmt.Sprintf("%040x", n)
	}
	id, err := strconv.ParseUint(name[:min(len(name), 15)], 16, 63)
	if err != nil || len(name) < 40 {
		return 0
	}
	return int64(id)
}

// MovedAt returns the post that had this thread and number in another program, or 0 if there is no such post.
func MovedAt(c store.Conn, program string, thread, number int64) (post int64, err error) {
	if post, err = Moved(c, program, MovedPlace, PlaceThere(thread, number)); err != nil || post != 0 {
		return post, err
	}
	err = c.Row("SELECT p.id FROM board_moved m JOIN board_posts p ON p.thread_id = m.new_id WHERE m.program = ?"+
		" AND m.kind = ? AND m.old_id = ? AND p.number = ?", program, MovedThread, thread, number).Scan(&post)
	return post, kernel.OrNone(err)
}
