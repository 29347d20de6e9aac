package transit

// Settle waits for the login that is under way.
func (c *Client) Settle() {
	c.mu.Lock()
	l := c.underWay
	c.mu.Unlock()
	if l != nil {
		<-l.done
	}
}
