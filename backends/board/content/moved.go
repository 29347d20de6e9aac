package content

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

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

	// MovedPlace is a post by its thread and its number in it, as PlaceThere returns, if it has another number here.
	MovedPlace = "place"
	// MovedSum is a file by the sum of its content, as SumThere returns.
	MovedSum = "sum"
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

// PlaceThere returns the id of kind MovedPlace for a post, or 0 if there is none.
func PlaceThere(thread, number int64) int64 {
	const bits = 20
	if thread < 1 || thread >= 1<<(63-bits) || number < 1 || number >= 1<<bits {
		return 0
	}
	return thread<<bits | number
}

// SumThere returns the id of kind MovedSum for the name of a file that begins with its SHA-1 sum, or 0 for another
// name. The sum is in hexadecimal digits, or, if it is short, in digits of base 62.
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

// MovedAt returns the post that had a number in a thread of another program, or 0 if there is none.
func MovedAt(c store.Conn, program string, thread, number int64) (post int64, err error) {
	if post, err = Moved(c, program, MovedPlace, PlaceThere(thread, number)); err != nil || post != 0 {
		return post, err
	}
	err = c.Row("SELECT p.id FROM board_moved m JOIN board_posts p ON p.thread_id = m.new_id WHERE m.program = ?"+
		" AND m.kind = ? AND m.old_id = ? AND p.number = ?", program, MovedThread, thread, number).Scan(&post)
	return post, kernel.OrNone(err)
}
