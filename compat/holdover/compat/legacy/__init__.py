"""What the classic classes left behind, as it is read: never changed."""
