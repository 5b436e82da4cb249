package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/joho/godotenv"
)

const dotenvFile = ".env"

// secrets looks up environment variables, and those that are not set in the file .env of the current folder. That file
// is read when it is needed, and nothing else of it is used: it may be another program's.
type secrets struct {
	read   bool
	values map[string]string
	err    error // why the file can't be read
}

// lookup is like [os.LookupEnv].
func (s *secrets) lookup(name string) (string, bool) {
	if value, ok := os.LookupEnv(name); ok {
		return value, true
	}
	if !s.read {
		s.read = true
		s.values, s.err = readDotenv()
	}
	value, ok := s.values[name]
	return value, ok
}

// readDotenv reads the file, if there is one. An error quotes nothing of it: it holds passwords.
func readDotenv() (map[string]string, error) {
	values, err := godotenv.Read(dotenvFile)
	path := (*fs.PathError)(nil)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.As(err, &path):
		return nil, usageError{err}
	case err != nil:
		return nil, hinted{usageError{fmt.Errorf("%s: not lines of NAME=value", dotenvFile)}, "a value with blanks, $ or # stands in single quotes"}
	}
	return values, nil
}
