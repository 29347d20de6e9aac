//go:build !unix

package worker

// awaitParent never returns on this system. A worker instead detects the end of its parent between two calls, by the
// end of its pipe. No call takes long.
func awaitParent() { select {} }
