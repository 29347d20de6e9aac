package metrics

// Topic is the part of a report that a passage is of, as a number that a vector holds.
func Topic(section, headers, text string) byte { return 0 }
