package figures

import "strings"

var (
	// ones and tens map words to the numbers that they add.
	ones = numbersFrom("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen", 0, 1)
	tens = numbersFrom("twenty thirty forty fifty sixty seventy eighty ninety", 20, 10)
	// powers maps words to the factor by which they multiply a number.
	powers = map[string]float64{"hundred": 100, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
)

// numbersFrom maps each word to its number: first for the first word, and step more for each further word.
func numbersFrom(words string, first, step float64) map[string]float64 {
	m := make(map[string]float64)
	for i, word := range strings.Fields(words) {
		m[word] = first + float64(i)*step
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

// spelled parses the spelled-out number that begins at i. ok is false if no number begins there.
func spelled(text string, i int) (m Mention, ok bool) {
	// In "two million three hundred and five", high is 2000000 when "million" was read, and low grows from 3 to 305.
	var high, low float64 // the part from a thousand on, and the part below a thousand
	var last int          // 1 if the last word is in ones, 10 if it is in tens, else 0; decides which words may follow
	first, wordEnd := word(text, i)
	m.Start, m.Step = i, 1
	switch value, isOne := ones[first]; {
	case isOne:
		low, last = value, 1
	case tens[first] != 0:
		low, last = tens[first], 10
	case first == "a" || first == "an": // a number only before a power, as in "a hundred"
		if next, _ := word(text, skipSeparator(text, wordEnd)); powers[next] == 0 {
			return m, false
		}
		low, last = 1, 1
	default:
		return m, false
	}
	for end := wordEnd; ; end = wordEnd {
		m.End = end
		following, followingEnd := word(text, skipSeparator(text, end))
		if following == "and" {
			following, followingEnd = word(text, skipSeparator(text, followingEnd))
		}
		value, isOne := ones[following]
		power := powers[following]
		switch {
		case isOne && (last == 10 && value > 0 && value < 10 || last == 0): // "twenty two", "hundred two"
			low, last = low+value, 1
			m.Step = 1
		case tens[following] != 0 && last == 0: // "hundred twenty"
			low, last = low+tens[following], 10
			m.Step = 1
		case power == 100 && low < 100: // "two hundred"
			low, last = low*100, 0
			m.Step = 100
		case power > 100: // "two million"
			high, low, last = high+low*power, 0, 0
			m.Step = power
		default: // the following word is not part of the number
			m.Value = high + low
			if m.Step == 100 { // "nine hundred" is as exact as 900
				m.Step = 1
			}
			m.End, _ = m.parseAfter(text, m.End)
			m.Text = text[m.Start:m.End]
			return m, true
		}
		wordEnd = followingEnd
	}
}

// word returns the word that begins at i, in lower case, and the index of its end. It reads at most twelve letters.
func word(text string, i int) (string, int) {
	end := i
	for end < len(text) && end-i < 12 && letter(text[end]) {
		end++
	}
	return strings.ToLower(text[i:end]), end
}

// skipSeparator returns the index after a hyphen or a space at i, where the next word of a spelled-out number may
// begin.
func skipSeparator(text string, i int) int {
	if i < len(text) && (text[i] == '-' || text[i] == ' ') {
		i++
	}
	return i
}

// letter reports whether a byte is an ASCII letter.
func letter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }
