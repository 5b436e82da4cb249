//go:build heavy

package pipeline

import "testing"

func TestBakeFailingEverywhere(t *testing.T) { failBakes(t, 1) }
func TestBakeKilledEverywhere(t *testing.T)  { killBakes(t, 1) }
