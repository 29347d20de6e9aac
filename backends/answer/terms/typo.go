package terms

// Slip reports whether two different words differ by one slip of spelling: a letter added, left out, changed or swapped
// with the next. It compares bytes, so that a letter that is not ASCII counts as several.
func Slip(a, b string) bool {
	if len(a) < len(b) {
		a, b = b, a
	}
	if len(a)-len(b) > 1 || a == b {
		return false
	}
	i := 0 // the index of the first difference
	for i < len(b) && a[i] == b[i] {
		i++
	}
	if len(a) > len(b) { // a has one letter more
		return a[i+1:] == b[i:]
	}
	isChanged := a[i+1:] == b[i+1:]
	isSwapped := i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
	return isChanged || isSwapped
}
