"""What the vector store memories are made of."""
