package testenv

// StartPostgres runs a PostgreSQL server for a program that is no test, such as
// a benchmark: what it has acknowledged is on the disk. It ends with stop, or with the
// process.
func StartPostgres() (dsn string, stop func() error, err error) {
	s, err := startPostgres(true)
	if err != nil {
		return "", nil, err
	}
	return postgresDSN(s, "postgres"), func() error { return s.stop(false) }, nil
}
