package testenv

// StartPostgres runs a durable PostgreSQL server for a program that is not a test, such as a benchmark. The server
// stops when stop is called, or with the process.
func StartPostgres() (dsn string, stop func() error, err error) {
	s, err := startPostgres(true)
	if err != nil {
		return "", nil, err
	}
	return postgresDSN(s, "postgres"), func() error { return s.stop(false) }, nil
}
