// Package knowledge is a knowledge base for agents: a folder of documents that is baked once, loaded when the process
// starts, and looked up in by a tool.
package knowledge
