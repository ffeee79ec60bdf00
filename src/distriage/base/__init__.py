"""What every room may use: errors, values, files, terminal."""
