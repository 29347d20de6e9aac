package look

import (
	"encoding/hex"
	"fmt"
	"math"
	"strings"
)

// minContrast is the contrast that WCAG 2.2 AA requires for text.
const minContrast = 4.5

// colour is an sRGB colour.
type colour [3]uint8

// parseColour parses #rgb or #rrggbb.
func parseColour(text string) (c colour, err error) {
	digits, ok := strings.CutPrefix(text, "#")
	if len(digits) == 3 {
		digits = string([]byte{digits[0], digits[0], digits[1], digits[1], digits[2], digits[2]})
	}
	if bytes, err := hex.DecodeString(digits); ok && err == nil && len(bytes) == 3 {
		return colour(bytes), nil
	}
	return c, fmt.Errorf("%q is not a colour such as #0b6159", text)
}

// String returns the colour in the notation of CSS.
func (c colour) String() string { return "#" + hex.EncodeToString(c[:]) }

// mix returns a mixture of the colours c and d. The share of d is from 0 to 1.
func (c colour) mix(d colour, share float64) (mixed colour) {
	for i := range c {
		mixed[i] = uint8(math.Round(float64(c[i])*(1-share) + float64(d[i])*share))
	}
	return mixed
}

// luminance returns the relative luminance as WCAG defines it.
func (c colour) luminance() float64 {
	var linear [3]float64
	for i, part := range c {
		if v := float64(part) / 255; v <= 0.04045 {
			linear[i] = v / 12.92
		} else {
			linear[i] = math.Pow((v+0.055)/1.055, 2.4)
		}
	}
	return 0.2126*linear[0] + 0.7152*linear[1] + 0.0722*linear[2]
}

// contrast returns the contrast ratio of two colours, from 1 to 21.
func contrast(a, b colour) float64 {
	x, y := a.luminance(), b.luminance()
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// textColour returns the colour for text on this colour: white or nearly black.
func (c colour) textColour() colour {
	white, black := colour{255, 255, 255}, colour{6, 16, 15}
	if contrast(c, white) >= contrast(c, black) {
		return white
	}
	return black
}

// theme has the background colours on which the style sheet uses accents.
type theme struct{ ground, surface, sunk colour }

var (
	light = theme{colour{0xf6, 0xf7, 0xf6}, colour{0xff, 0xff, 0xff}, colour{0xf0, 0xf2, 0xf1}}
	dark  = theme{colour{0x12, 0x15, 0x16}, colour{0x1a, 0x1e, 0x20}, colour{0x14, 0x18, 0x1a}}
)

// softShare is the share of the accent in its soft shade.
const softShare = 0.12

// lowestContrast returns the lowest contrast of an accent with the backgrounds of the theme, and of text on the accent.
func (t theme) lowestContrast(c colour) float64 {
	lowest := contrast(c, c.textColour())
	for _, ground := range []colour{t.ground, t.surface, t.sunk, t.surface.mix(c, softShare)} {
		lowest = min(lowest, contrast(c, ground))
	}
	return lowest
}

// lighten returns the darkest shade of a colour that has enough contrast with the backgrounds of the theme.
func (t theme) lighten(c colour) colour {
	for share := 0.0; share < 1; share += 0.02 {
		if shade := c.mix(colour{255, 255, 255}, share); t.lowestContrast(shade) >= minContrast {
			return shade
		}
	}
	return colour{255, 255, 255}
}
