"""What the entity memory is made of."""
