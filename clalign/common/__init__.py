"""What every other room may use: amounts as text, and escapes of control characters."""
