package figures

import "strings"

var (
	ones = places("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen", 0, 1)
	tens = places("twenty thirty forty fifty sixty seventy eighty ninety", 20, 10)
	// powers maps words to the factor by which they multiply a number.
	powers = map[string]float64{"hundred": 100, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
)

func places(words string, from, step float64) map[string]float64 {
	m := make(map[string]float64)
	for i, w := range strings.Fields(words) {
		m[w] = from + float64(i)*step
	}
	return m
}

// Spelled returns the numbers that are spelled out in a text, in order: "forty million", "nine hundred and
// ninety-nine", "a hundred".
func Spelled(text string) []Mention {
	var found []Mention
	for i := 0; i < len(text) && len(found) < maxMentions; {
		if !letter(text[i]) || i > 0 && letter(text[i-1]) {
			i++
			continue
		}
		m, ok := spelled(text, i)
		if !ok {
			_, i = word(text, i)
			continue
		}
		found = append(found, m)
		i = m.End
	}
	return found
}

// spelled parses the spelled-out number that begins at i.
func spelled(text string, i int) (m Mention, ok bool) {
	var whole, part float64 // the value of the powers from a thousand on, and the value below
	var last int            // 1 after a one, 10 after a ten, otherwise 0
	first, at := word(text, i)
	m.Start, m.Step = i, 1
	switch value, one := ones[first]; {
	case one:
		part, last = value, 1
	case tens[first] != 0:
		part, last = tens[first], 10
	case first == "a" || first == "an":
		if next, _ := word(text, over(text, at)); powers[next] == 0 {
			return m, false
		}
		part, last = 1, 1
	default:
		return m, false
	}
	for end := at; ; end = at {
		m.End = end
		next, behind := word(text, over(text, end))
		if next == "and" {
			next, behind = word(text, over(text, behind))
		}
		value, one := ones[next]
		power := powers[next]
		switch {
		case one && (last == 10 && value > 0 && value < 10 || last == 0):
			part, last = part+value, 1
			m.Step = 1
		case tens[next] != 0 && last == 0:
			part, last = part+tens[next], 10
			m.Step = 1
		case power == 100 && part < 100:
			part, last = part*100, 0
			m.Step = 100
		case power > 100:
			whole, part, last = whole+part*power, 0, 0
			m.Step = power
		default:
			m.Value = whole + part
			if m.Step == 100 { // "nine hundred" is as exact as 900
				m.Step = 1
			}
			m.End, _ = m.back(text, m.End)
			m.Text = text[m.Start:m.End]
			return m, true
		}
		at = behind
	}
}

// word returns the word that begins at i, in lower case, and where it ends.
func word(text string, i int) (string, int) {
	end := i
	for end < len(text) && end-i < 12 && letter(text[end]) {
		end++
	}
	return strings.ToLower(text[i:end]), end
}

// over returns where the next word of a spelled-out number may begin.
func over(text string, i int) int {
	if i < len(text) && (text[i] == '-' || text[i] == ' ') {
		i++
	}
	return i
}

func letter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }
