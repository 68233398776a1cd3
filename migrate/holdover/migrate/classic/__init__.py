"""The way back: what old releases read, written from a store."""
