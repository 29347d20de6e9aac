package content

import (
	"strconv"
	"strings"
)

// MaxSide limits the width and the height of a resized image, in pixels.
const MaxSide = 2560

// maxSizes limits how many image sizes a field may have.
const maxSizes = 20

// Size is a box, in pixels. An image is scaled to fit into the box or, with Cover, to fill it. If Width or Height is 0,
// the image is not limited in this direction.
type Size struct {
	Width, Height int
	Cover         bool
}

// String returns the size in the form 640x480, 640x or x480, or, with Cover, 640x480c.
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

// ParseSize parses a size in exactly the form that String returns.
func ParseSize(text string) (s Size, ok bool) {
	width, height, _ := strings.Cut(text, "x")
	height, s.Cover = strings.CutSuffix(height, "c")
	s.Width, _ = strconv.Atoi(width) // on an error, String differs from text
	s.Height, _ = strconv.Atoi(height)
	return s, s.String() == text && s.Valid()
}

// Valid reports whether an image can be scaled to this size.
func (s Size) Valid() bool {
	inRange := func(side int) bool { return side >= 0 && side <= MaxSide }
	return inRange(s.Width) && inRange(s.Height) && (s.Width > 0 || s.Height > 0) &&
		(!s.Cover || s.Width > 0 && s.Height > 0)
}
