package content

import (
	"strconv"
	"strings"
)

// SideMost is how wide and how high an image is made at most, in pixels.
const SideMost = 2560

// sizesMost is how many sizes of its images a field allows.
const sizesMost = 20

// Size is what an image is to fit into, or with Cover to fill, in pixels; 0: whatever it is.
type Size struct {
	Width, Height int
	Cover         bool
}

// String is 640x480, 640x, x480, or with Cover 640x480c.
func (s Size) String() string {
	var text string
	if s.Width > 0 {
		text = strconv.Itoa(s.Width)
	}
	if text += "x"; s.Height > 0 {
		text += strconv.Itoa(s.Height)
	}
	if s.Cover {
		text += "c"
	}
	return text
}

// ParseSize reads what String writes, and no other spelling of it.
func ParseSize(text string) (s Size, ok bool) {
	width, height, _ := strings.Cut(text, "x")
	height, s.Cover = strings.CutSuffix(height, "c")
	s.Width, _ = strconv.Atoi(width) // where it is none, String is another text
	s.Height, _ = strconv.Atoi(height)
	return s, s.String() == text && s.Valid()
}

// Valid tells whether an image can be made so large.
func (s Size) Valid() bool {
	within := func(side int) bool { return side >= 0 && side <= SideMost }
	return within(s.Width) && within(s.Height) && (s.Width > 0 || s.Height > 0) && (!s.Cover || s.Width > 0 && s.Height > 0)
}
