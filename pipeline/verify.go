package pipeline

import (
	"context"
	"fmt"
	"path/filepath"

	"example.com/larder/artifact"
	"example.com/larder/reader"
)

// verify reads the artifact back as a runtime would, and checks all that can be checked.
func (b *bake) verify(context.Context) error {
	base, err := reader.Verify(b.folder, reader.Options{})
	if err != nil {
		return fmt.Errorf("what was written can't be read: %w; move %s away and bake again", err, b.folder)
	}
	defer base.Close()
	if found := base.Artifact().Digest; found != b.files.Digest {
		return fmt.Errorf("%s holds the version %s, not %s", b.folder, found, b.files.Digest)
	}
	return nil
}

// publish makes the artifact the latest version of its base.
func (b *bake) publish(context.Context) error {
	return artifact.SetLatest(filepath.Dir(b.folder), b.files.Digest)
}
