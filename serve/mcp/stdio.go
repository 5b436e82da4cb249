package mcp

import (
	"context"
	"errors"
	"io"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxMessage is the largest message that a client may send, in bytes.
const maxMessage = 4 << 20

// Serve answers the messages on in, one a line, on out, until in ends or ctx does, which are no errors.
func Serve(ctx context.Context, server *sdk.Server, in io.ReadCloser, out io.WriteCloser) error {
	err := server.Run(ctx, &sdk.IOTransport{Reader: in, Writer: out, MaxLineLength: maxMessage})
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		return nil
	}
	return err
}
