package pipeline

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// A vectorCache keeps vectors under the SHA-256 of what they depend on: the embedder's identity (model, tokenizer,
// prefix, windows, versions) and the passage. It is a bbolt database, so a killed bake leaves it whole; it is open
// only while it is used, so bakes at the same time share it. A nil cache keeps nothing.
type vectorCache struct{ file string }

var vectorBucket = []byte("vectors-1")

// cacheWait is how long to wait for another bake to let go of the cache.
const cacheWait = time.Minute

func openVectorCache(dir string) (*vectorCache, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("vector cache: %w", err)
	}
	return &vectorCache{filepath.Join(dir, "vectors.db")}, nil
}

func (c *vectorCache) open() (*bbolt.DB, error) {
	db, err := bbolt.Open(c.file, 0o644, &bbolt.Options{Timeout: cacheWait})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, fmt.Errorf("vector cache %s: another bake has held it for over %v", c.file, cacheWait)
	}
	if err != nil {
		return nil, fmt.Errorf("vector cache %s: %w; it holds nothing that can't be computed again: remove it", c.file, err)
	}
	return db, nil
}

func vectorKey(identity, passage string) []byte {
	h := sha256.New()
	h.Write([]byte(identity))
	h.Write([]byte{0})
	h.Write([]byte(passage))
	return h.Sum(nil)
}

// get copies the vectors that the cache has into rows of d floats and returns the numbers of the other passages.
func (c *vectorCache) get(identity string, passages []string, d int, vectors []float32) (missing []int, err error) {
	if c == nil {
		for i := range passages {
			missing = append(missing, i)
		}
		return missing, nil
	}
	db, err := c.open()
	if err != nil {
		return nil, err
	}
	defer db.Close()
	err = db.View(func(tx *bbolt.Tx) error {
		bucket := tx.Bucket(vectorBucket)
		for i, p := range passages {
			var data []byte
			if bucket != nil {
				data = bucket.Get(vectorKey(identity, p))
			}
			if len(data) != 4*d {
				missing = append(missing, i)
				continue
			}
			for k := range d {
				vectors[i*d+k] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*k:]))
			}
		}
		return nil
	})
	return missing, err
}

func (c *vectorCache) put(identity string, passages []string, vectors [][]float32) error {
	if c == nil {
		return nil
	}
	db, err := c.open()
	if err != nil {
		return err
	}
	defer db.Close()
	return db.Update(func(tx *bbolt.Tx) error {
		bucket, err := tx.CreateBucketIfNotExists(vectorBucket)
		if err != nil {
			return err
		}
		for i, p := range passages {
			data := make([]byte, 0, 4*len(vectors[i]))
			for _, x := range vectors[i] {
				data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
			}
			if err := bucket.Put(vectorKey(identity, p), data); err != nil {
				return err
			}
		}
		return nil
	})
}
