module example.com/larder/serve

go 1.26.0

require (
	example.com/larder v0.0.0
	github.com/google/jsonschema-go v0.4.3
	golang.org/x/text v0.44.0
)

require (
	github.com/modelcontextprotocol/go-sdk v1.8.0 // indirect
)

replace example.com/larder => ../
