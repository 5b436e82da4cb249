package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/joho/godotenv"
)

const dotenvFile = ".env"

// loadDotenv reads the file .env of the current folder, if there is one, into the environment, which wins. An error
// quotes nothing of the file: it holds passwords.
func loadDotenv() error {
	values, err := godotenv.Read(dotenvFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return usageError{err}
	}
	if err != nil {
		return usageError{fmt.Errorf("%s: not lines of NAME=value", dotenvFile)}
	}
	for name, value := range values {
		if _, ok := os.LookupEnv(name); ok {
			continue
		}
		if err := os.Setenv(name, value); err != nil {
			return usageError{fmt.Errorf("%s: a name or value can't be one of an environment variable", dotenvFile)}
		}
	}
	return nil
}
