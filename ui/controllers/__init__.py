"""What the commands do: between models and views."""
